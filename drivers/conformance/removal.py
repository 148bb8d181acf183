"""How deployments are removed: torn down, half built, at the end of a run, beside another run."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn

import pytest

from sfcperf import plugins, retry
from sfcperf.drivers.conformance import traffic
from sfcperf.drivers.conformance.driver_run import DriverRun
from sfcperf.drivers.conformance.driver_under_test import COMMAND_TIMEOUT_S, DriverUnderTest
from sfcperf.errors import DeploymentError, InterruptedRun, MeasurementError, SfcperfError
from sfcperf.hosts.base import Process

_END_TIMEOUT_S = 10.0


class Removal(DriverUnderTest):
    """Tests of `teardown`, of a deployment that fails, of `close`, and of two runs at once."""

    def test_teardown_ends_processes_and_can_be_repeated(self) -> None:
        """Teardown ends processes and removes files; repeating it is harmless, also while another
        chain exists."""
        run = self.run
        first = self.deployed(1)
        host = first.functions[0].host
        mark = host.workdir / "left-behind"
        host.run(["sh", "-c", f"echo mark >{mark}"], timeout_s=COMMAND_TIMEOUT_S)
        process = host.spawn(["sleep", "600"])
        run.teardown()
        ended = retry.until(lambda: _ended(process), timeout_s=_END_TIMEOUT_S, period_s=0.05)
        assert ended, "a spawned process still runs"
        run.driver.teardown(first)
        again = self.deployed(1)
        assert run.driver.prove_traversal(again, self.chain(1)).proven
        run.driver.teardown(first)
        assert traffic.ping(again.client, again.server, self.pings) == self.pings
        with pytest.raises(MeasurementError):
            again.functions[0].host.read_text(str(mark))

    @pytest.mark.parametrize("kind", [DeploymentError, InterruptedRun])
    def test_a_deployment_that_fails_is_reported_and_removed(
        self, kind: type[SfcperfError], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A function does not start, or the user stops the run meanwhile: the error is passed on
        unchanged, and the same driver builds the next chain."""

        def fail(*_: Any, **__: Any) -> NoReturn:
            raise kind("stopped on purpose")

        self.run.teardown()
        with monkeypatch.context() as patch:
            patch.setattr(plugins.load("vnf", self.vnf), "start", fail)
            with pytest.raises(kind, match="stopped on purpose"):
                self.run.deploy(self.chain(1))
        scenario = self.chain(1)
        deployment = self.run.deployed(scenario)
        assert self.run.driver.prove_traversal(deployment, scenario).proven
        self.run.teardown()

    def test_resources_are_in_the_journal_before_they_exist(self) -> None:
        """No resource existed when it was intended: the journal of the tests had `undo` look for
        each."""
        self.deployed(1)
        assert self.run.journal.ever != []
        assert self.run.journal.too_late == []

    def test_resources_carry_the_tag(self) -> None:
        """Name or detail of each resource has the run's tag, so that two runs do not collide, and
        people see which run a resource belongs to."""
        self.deployed(1)
        tag = self.run.tag
        foreign = [
            each
            for each in self.run.journal.ever
            if tag not in each.name and tag not in str(dict(each.detail or {}))
        ]
        assert foreign == []

    def test_deployment_ids_are_unique(self) -> None:
        """No two deployments of a run have the same id: results identify deployments by it."""
        self.deployed(1)
        assert len(set(self.run.ids)) == len(self.run.ids)

    def test_close_removes_everything(self) -> None:
        """`close` removes also what is deployed, kept between scenarios, or broken. Here the
        server's interface is down, which health notices and the proof must not miss."""
        run, scenario = self.run, self.chain(1)
        deployment = run.deployed(scenario)
        server = deployment.server
        down = ["ip", "link", "set", "dev", server.interface, "down"]
        server.host.run(down, timeout_s=COMMAND_TIMEOUT_S)
        assert run.driver.problems(deployment)
        # In place of a negative proof, the driver may raise an error that says that nothing can be
        # observed.
        with suppress(SfcperfError):
            assert not run.driver.prove_traversal(deployment, scenario).proven
        run.close()
        self._check_gone(run)
        # The next test gets a new driver.
        type(self).teardown_class()

    def test_two_runs_do_not_affect_each_other(self) -> None:
        """Packets of one chain do not cross the other, and closing one driver leaves the other
        working; in one process, as in a run whose variants configure the driver differently."""
        scenario = self.chain(1)
        first = self.run
        deployment = first.deployed(scenario)
        second = DriverRun(self.driver_class(), self.full_config(self.second_config))
        try:
            two = second.deployed(scenario)
            assert first.driver.prove_traversal(deployment, scenario).proven
            assert second.driver.prove_traversal(two, scenario).proven
            before = traffic.forwarded(two)
            assert traffic.ping(deployment.client, deployment.server, self.pings) == self.pings
            assert traffic.rise(before, two)[two.functions[0].name] < self.pings
            first.close()
            assert self.traces(first.tag) == []
            assert second.driver.problems(two) == []
            assert second.driver.prove_traversal(two, scenario).proven
            second.close()
            self._check_gone(first)
            self._check_gone(second)
        finally:
            second.remove()
            type(self).teardown_class()

    def _check_gone(self, run: DriverRun) -> None:
        assert run.journal.outstanding() == []
        assert run.remaining() == []
        assert self.traces(run.tag) == []


def _ended(process: Process) -> bool:
    try:
        return process.poll() is not None
    except MeasurementError:
        # Its host is gone.
        return True
