"""The monitor `pptmon` over a stand-in for the tool, and what it makes of the tool's lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.local import small_workflow
from support.pptmon.chain import chain, function, stand_in
from support.probing import of

from sfcperf.analysis.telemetry import kind_of
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Completed
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.passive.pptmon import PptmonMonitor
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import workflow_s

AT = 1_790_000_000_000_000_000


def line(hops: dict[int, float], **more: Any) -> str:
    metric = more.get("metric", "time")
    field = {"time": "time_us", "delay": "delay_us"}[metric]
    sample = {
        "event": "sample",
        "ts_ns": AT,
        "flow": {"proto": "udp", "src": "10.0.0.1", "sport": 1, "dst": "10.0.0.2", "dport": 2},
        "metric": "time",
        "hops": [{"vnf_id": vnf, field: value} for vnf, value in hops.items()],
        "flags": [],
        "sample": 1,
        "carrier": "l4",
        "format": "rfc",
    }
    return json.dumps(sample | more)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    stand_in(folder)
    monkeypatch.setenv("SFCPERF_VNF_BIN", str(folder))
    return folder


def routers(folder: Path, count: int = 3) -> Deployment:
    host = NamespaceHost("here", None, folder)
    return chain([function(n, host=host) for n in range(1, count + 1)])


def monitor(**given: Any) -> PptmonMonitor:
    return PptmonMonitor(with_defaults(PptmonMonitor.parameters, {"drain_s": 0} | given))


def steps(tool: Path) -> list[str]:
    return [" ".join(text.split()[:3]) for text in (tool / "log").read_text().splitlines()]


def test_parameters() -> None:
    schema = PptmonMonitor.parameters
    Draft202012Validator.check_schema(schema)
    assert all(value["description"] for value in schema["properties"].values())
    judge = Draft202012Validator(schema)
    assert judge.is_valid({"rate_hz": 5, "filter": {"protocol": "tcp", "source": "fd00::/64"}})
    for wrong in (
        {"rate_hz": 1, "period_ms": 5},
        {"metrics": []},
        {"filter": {"source": "10.0.0.1,dport=5"}},
        {"format": "xml"},
    ):
        assert not judge.is_valid(wrong), wrong


def test_started_from_the_sink_and_ended_from_the_source(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-3").write_text(
        line({1: 10, 2: 20, 3: 31}, own_time_ns=30500)
        + "\n"
        + line({1: 12, 2: 22, 3: 32}, own_time_ns=31500, ts_ns=AT + 1)
        + "\n"
    )
    watching = monitor()
    watching.start(routers(tmp_path), tmp_path)
    found = watching.stop()
    done = steps(tool)
    assert sorted(done[:2]) == ["start sink 3", "start transit 2"]
    assert done[2:4] == ["start source 1", "stop source 1"]
    assert sorted(done[4:]) == ["stop sink 3", "stop transit 2"]
    assert of(found, "router-1", "processing_time_us") == [10, 12]
    assert of(found, "router-3", "processing_time_us") == [30.5, 31.5]
    assert of(found, "chain", "chain_processing_time_us") == [60.5, 65.5]
    assert of(found, "router-1", "pptmon_sampled") == [9]
    assert of(found, "router-1", "pptmon_failed") == []
    assert of(found, "chain", "pptmon_truncated_samples") == [0]
    assert [o.time_ns for o in found] == sorted(o.time_ns for o in found)
    assert of(found, "pptmon", "monitor_cpu_s")[0] > 0
    said = sorted(path.name for path in tmp_path.glob("pptmon-*.jsonl"))
    assert said == [f"pptmon-router-{n}-forward.jsonl" for n in (1, 2, 3)]
    assert watching.stop()[-1].metric == "monitor_cpu_s"


def test_what_starting_costs_is_told_apart_from_measuring(
    tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of three processes takes 0.5 s of CPU to start and 0.2 s in the 10 s after."""
    clock = SimpleNamespace(
        monotonic=iter((100.0, 110.0)).__next__, thread_time=lambda: 0.0, time_ns=lambda: AT
    )
    used_s = iter((0.5, 0.5, 0.5, 0.7, 0.7, 0.7))
    monkeypatch.setattr("sfcperf.passive.pptmon.time", clock)
    monkeypatch.setattr("sfcperf.passive.pptmon.used_cpu_s", lambda *_: next(used_s))
    monkeypatch.setattr("sfcperf.passive.pptmon_instance.used_cpu_s", lambda *_: 0.7)
    watching = monitor()
    watching.start(routers(tmp_path), tmp_path)
    found = watching.stop()
    assert of(found, "pptmon", "monitor_cpu_cores") == pytest.approx([3 * 0.2 / 10])
    assert of(found, "pptmon", "monitor_cpu_s") == pytest.approx([3 * 0.7])


def test_plans_include_the_time_to_start_and_end(tmp_path: Path) -> None:
    def planned_s(*monitors: dict[str, Any]) -> float:
        design = {"rounds": 4, "warmup_rounds": 0}
        document = small_workflow(monitors=list(monitors), design=design)
        return workflow_s(load_document(document, tmp_path))

    assert planned_s({"monitor": "cpu"}) == pytest.approx(planned_s())
    assert planned_s({"monitor": "pptmon", "drain_s": 30}) > planned_s() + 4 * 30


def test_samples_that_do_not_tell_of_the_whole_path(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-2").write_text(
        line({1: 10}, flags=["truncated"])
        + "\n"
        + line({1: 0xFFFFFF, 2: 7}, flags=["saturated"], own_time_ns=7100)
        + "\n"
        + line({2: 5}, own_time_ns=5000)
        + "\n"
        + line({1: 5_000_000, 2: 5_000_000}, own_time_ns=0xFFFFFFFF)
        + "\n"
    )
    watching = monitor()
    watching.start(routers(tmp_path, 2), tmp_path)
    found = watching.stop()
    # What is but a bound is no observation; a sum of a part is none of the chain.
    assert of(found, "router-1", "processing_time_us") == [10, 5_000_000]
    assert of(found, "router-2", "processing_time_us") == [7.1, 5, 5_000_000]
    assert of(found, "chain", "chain_processing_time_us") == [10_000_000]
    counts = ("samples", "truncated_samples", "saturated_samples", "incomplete_samples")
    assert [of(found, "chain", f"pptmon_{name}") for name in counts] == [[4], [1], [1], [1]]


def test_both_metrics_and_directions(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text(
        line({1: 0}, metric="delay", end_to_end_us=41) + "\n" + line({1: 12}) + "\n"
    )
    watching = monitor(direction="both")
    watching.start(routers(tmp_path, 1), tmp_path)
    found = watching.stop()
    for prefix in ("", "reverse_"):
        assert of(found, "chain", f"{prefix}end_to_end_us") == [41]
        assert of(found, "router-1", f"{prefix}arrival_delay_us") == [0]
        assert of(found, "router-1", f"{prefix}processing_time_us") == [12]
    assert of(found, "router-1", "pptmon_reported") == [2]
    assert of(found, "router-1", "pptmon_reverse_reported") == [2]
    assert {kind_of(o.metric) for o in found if o.metric.startswith("pptmon_")} == {"total"}
    assert kind_of("processing_time_us") == "gauge"


def test_who_cannot_be_seen_is_told(tool: Path, tmp_path: Path) -> None:
    deployment = routers(tmp_path, 2)
    blind = function(3, "forwarder")
    watching = monitor()
    watching.start(chain([*deployment.functions, blind]), tmp_path)
    found = watching.stop()
    seen = [of(found, name, "pptmon_visible") for name in ("router-1", "router-2", "forwarder-3")]
    assert seen == [[1], [1], [0]]


def test_one_that_does_not_start_ends_them_all(tool: Path, tmp_path: Path) -> None:
    (tool / "fails-2").touch()
    watching = monitor()
    with pytest.raises(MeasurementError, match="does not start at router-2: no clsact here"):
        watching.start(routers(tmp_path), tmp_path)
    assert "start source 1" not in steps(tool)
    assert of(watching.stop(), "router-1", "pptmon_sampled") == []


def test_one_that_dies_meanwhile_is_told_and_the_others_are_ended(
    tool: Path, tmp_path: Path
) -> None:
    (tool / "dies-2").touch()
    watching = monitor()
    watching.start(routers(tmp_path), tmp_path)
    with pytest.raises(MeasurementError, match="router-2: it ended by itself, with status 0"):
        watching.stop()
    assert {"stop source 1", "stop sink 3"} <= set(steps(tool))


def test_lines_that_pptmon_does_not_print_are_no_samples(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text('{"event": "sample"}\n')
    watching = monitor()
    with pytest.raises(MeasurementError, match="not a line of pptmon"):
        watching.start(routers(tmp_path, 1), tmp_path)
        watching.stop()


def test_headers_that_come_nowhere_are_told(
    tool: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for swallowed in (False, True):
        if swallowed:
            (tool / "swallowed").touch()
        watching = monitor()
        watching.start(routers(tmp_path, 2), tmp_path)
        watching.stop()
        told = "none of them reached the last VNF" in caplog.text
        assert told is swallowed


def test_a_chain_without_vnfs_is_a_baseline(tool: Path, tmp_path: Path) -> None:
    watching = monitor()
    watching.start(chain([]), tmp_path)
    assert [o.metric for o in watching.stop()] == ["monitor_cpu_s"]


class Elsewhere(NamespaceHost):
    """A machine of its own, whose clock is an hour ahead."""

    def read_text(self, path: str) -> str:
        return f"{self.name}\n" if path.endswith("boot_id") else super().read_text(path)

    def run(self, argv: Sequence[str], **how: Any) -> Completed:
        done = super().run(argv, **how)
        whole, _, fraction = done.text.strip().partition(".")
        return replace(done, stdout=f"{int(whole) + 3600}.{fraction}\n".encode())


def test_clocks_of_different_machines_are_not_compared(tool: Path, tmp_path: Path) -> None:
    hosts = [Elsewhere(f"vm{n}", None, tmp_path) for n in (1, 2)]
    apart = chain([function(n, host=host) for n, host in enumerate(hosts, 1)])
    with pytest.raises(MeasurementError, match="compares the clocks") as raised:
        monitor(metrics=["time", "delay"]).start(apart, tmp_path)
    assert "time" in str(raised.value.allowed)
    assert not (tool / "log").exists()
    together = chain([function(n, host=hosts[0]) for n in (1, 2)])
    watching = monitor(metrics=["delay"])
    watching.start(together, tmp_path)
    watching.stop()


def test_samples_are_told_in_our_time(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text(line({1: 7.0}) + "\n")
    far = Elsewhere("vm", None, tmp_path)
    watching = monitor()
    watching.start(chain([function(1, host=far)]), tmp_path)
    found = watching.stop()
    (at_ns,) = {o.time_ns for o in found if o.metric == "processing_time_us"}
    assert at_ns == pytest.approx(AT - 3600 * 10**9, abs=5 * 10**9)
