"""One attempt on the fakes: what belongs to the measurement, and what makes it void."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from support.engine import Bench, faulty
from support.fakes import FakeDriver, FakeProbe

from sfcperf.errors import InterruptedRun
from sfcperf.management.deployment import Deployment, Redirection
from sfcperf.workflow.model import Scenario

DESIGN = {"rounds": 1, "warmup_rounds": 0, "max_retries": 1, "order": "sequential"}


def test_what_broke_is_told_before_what_failed_because_of_it(bench: Bench) -> None:
    bench.start(probes=[faulty(attempt1="break")], monitors=[{"monitor": "fake", "broken": "stop"}])
    assert "it crashed" in bench.by_id()["r001-s001-a"].reasons[0]


def test_what_the_probe_prepares_is_neither_counted_nor_observed(bench: Bench) -> None:
    probe = {"probe": "fake", "prepare_packets": 1000}
    bench.start(probes=[probe], monitors=[{"monitor": "fake"}], design=DESIGN)
    record = bench.by_id()["r001-s001-fake"]
    assert record.packets == {"sf-1": 10, "sf-2": 10}
    steps = (bench.folder() / record.raw / "attempt-1" / "steps.txt").read_text().splitlines()
    assert steps == ["prepare", "monitor starts", "measure", "monitor stops", "cleanup"]


def test_what_the_probe_prepares_does_not_pass_for_the_measurement(bench: Bench) -> None:
    silent = {f"r001-s001-fake/attempt-{number}": "silent" for number in (1, 2)}
    probe = {"probe": "fake", "prepare_packets": 1000, "script": silent}
    bench.start(probes=[probe], design=DESIGN)
    record = bench.by_id()["r001-s001-fake"]
    assert record.status == "failed"
    assert "sf-1 forwarded 0" in record.reasons[0]


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_traffic_past_a_proxy_is_no_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """A workflow that names another port is refused. Here the probe has no parameter for it, and
    nothing is redirected: the kernel of the proxy's host would forward it."""
    web = Redirection("tcp", (8080,), (), lambda server: b"")
    none = {"connections": 0}
    deploy = FakeDriver.deploy

    def with_proxy(driver: FakeDriver, scenario: Scenario) -> Deployment:
        deployment = deploy(driver, scenario)
        proxies = (
            replace(each, redirection=web, counters=lambda of=each: {**of.counters(), **none})
            for each in deployment.functions
        )
        return replace(deployment, functions=tuple(proxies))

    monkeypatch.setattr(FakeDriver, "deploy", with_proxy)
    monkeypatch.setattr(FakeProbe, "protocols", frozenset({protocol}))
    bench.start(probes=[{"probe": "fake"}], design=DESIGN)
    record = bench.by_id()["r001-s001-fake"]
    assert record.status == ("failed" if protocol == "tcp" else "valid")
    assert ("not redirected to sf-1" in str(record.reasons)) is (protocol == "tcp")


@pytest.mark.parametrize("fault", ["bug", "terminate"])
def test_all_is_ended_however_a_measurement_ends(bench: Bench, fault: str) -> None:
    with suppress(InterruptedRun):
        bench.start(probes=[faulty(attempt1=fault)], monitors=[{"monitor": "fake"}])
    folder = bench.folder() / "raw" / "r001-s001-a" / "attempt-1"
    steps = (folder / "steps.txt").read_text().splitlines()
    assert steps == ["prepare", "monitor starts", "measure", "monitor stops", "cleanup"]
