"""How deployments end: torn down, half built, and at the end of a run."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from sfcperf import plugins
from sfcperf.drivers.conformance import traffic
from sfcperf.drivers.conformance.subject import COMMAND_TIMEOUT_S, Subject
from sfcperf.errors import DeploymentError, InterruptedRun, MeasurementError, SfcperfError
from sfcperf.hosts.base import Process

_PATIENCE_S = 10.0


class Endings(Subject):
    """Tests of `teardown`, of a deployment that fails, and of `close`."""

    def test_teardown_ends_what_was_started_and_can_be_repeated(self) -> None:
        """Processes end, files go; a second tear-down, also while another chain stands, harms
        nothing."""
        bench = self.bench
        first = self.standing(1)
        host = first.functions[0].host
        mark = host.workdir / "left-behind"
        host.run(["sh", "-c", f"echo mark >{mark}"], timeout_s=COMMAND_TIMEOUT_S)
        process = host.spawn(["sleep", "600"])
        bench.fall()
        assert _ends(process), "what was spawned still runs"
        bench.driver.teardown(first)
        again = self.standing(1)
        assert bench.driver.prove_traversal(again, self.chain(1)).proven
        bench.driver.teardown(first)
        assert traffic.ping(again.client, again.server, self.pings) == self.pings
        with pytest.raises(MeasurementError):
            again.functions[0].host.read_text(str(mark))

    @pytest.mark.parametrize("kind", [DeploymentError, InterruptedRun])
    def test_a_deployment_that_fails_is_told_and_undone(
        self, kind: type[SfcperfError], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A function that does not start, or a user who stops the run meanwhile: the error comes
        through in its own words, and the same driver builds the next chain."""

        def fail(*_: Any, **__: Any) -> NoReturn:
            raise kind("stopped on purpose")

        self.bench.fall()
        with monkeypatch.context() as patch:
            patch.setattr(plugins.load("vnf", self.vnf), "start", fail)
            with pytest.raises(kind, match="stopped on purpose"):
                self.bench.deploy(self.chain(1))
        scenario = self.chain(1)
        one = self.bench.standing(scenario)
        assert self.bench.driver.prove_traversal(one, scenario).proven
        self.bench.fall()

    def test_everything_was_written_down_before_it_was_made(self) -> None:
        """Looked at by `undo`, each time that a resource was intended."""
        self.standing(1)
        assert self.bench.journal.ever != []
        assert self.bench.journal.too_late == []

    def test_resources_carry_the_tag(self) -> None:
        """So that two runs never meet, and a person sees whose they are."""
        self.standing(1)
        tag = self.bench.tag
        foreign = [
            each
            for each in self.bench.journal.ever
            if tag not in each.name and tag not in str(dict(each.detail or {}))
        ]
        assert foreign == []

    def test_deployments_have_ids_of_their_own(self) -> None:
        """Results tell them apart."""
        self.standing(1)
        assert len(set(self.bench.ids)) == len(self.bench.ids)

    def test_close_removes_everything(self) -> None:
        """Also what stands, what is kept between scenarios, and what is broken: the server's
        interface is down, which health notices, and no proof takes for a chain."""
        bench, scenario = self.bench, self.chain(1)
        one = bench.standing(scenario)
        server = one.server
        down = ["ip", "link", "set", "dev", server.interface, "down"]
        server.host.run(down, timeout_s=COMMAND_TIMEOUT_S)
        assert bench.driver.problems(one)
        # That it cannot even be tried may be told in words.
        with suppress(SfcperfError):
            assert not bench.driver.prove_traversal(one, scenario).proven
        bench.close()
        assert bench.journal.outstanding() == []
        assert bench.still_there() == []
        assert self.traces(bench.tag) == []
        # The driver of the next test is a new one.
        type(self).teardown_class()


def _ends(process: Process) -> bool:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end:
        try:
            if process.poll() is not None:
                return True
        except MeasurementError:
            # Its machine is gone.
            return True
        time.sleep(0.05)
    return False
