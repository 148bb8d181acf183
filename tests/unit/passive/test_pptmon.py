"""The monitor `pptmon` over a stand-in for the tool, and what it makes of the tool's lines."""

from __future__ import annotations

import json
import os
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
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment
from sfcperf.passive.pptmon import PptmonMonitor
from sfcperf.passive.pptmon_check import kernel_requirement
from sfcperf.results.values import Observation
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import workflow_s

AT = 1_790_000_000_000_000_000


def line(hops: dict[int, float], **more: Any) -> str:
    field = "delay_us" if more.get("metric") == "delay" else "time_us"
    sample = {
        "event": "sample", "ts_ns": AT, "metric": "time", "flags": [], "sample": 1,
        "carrier": "l4", "format": "rfc",
        "flow": {"proto": "udp", "src": "10.0.0.1", "sport": 1, "dst": "10.0.0.2", "dport": 2},
        "hops": [{"vnf_id": vnf, field: value} for vnf, value in hops.items()],
    }  # fmt: skip
    return json.dumps(sample | more) + "\n"


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


def watched(deployment: Deployment, raw: Path, **given: Any) -> list[Observation]:
    """What a trial tells."""
    watching = monitor(**given)
    watching.start(deployment, raw)
    return list(watching.stop())


def steps(tool: Path) -> list[str]:
    return [" ".join(text.split()[:3]) for text in (tool / "log").read_text().splitlines()]


def test_parameters() -> None:
    schema = PptmonMonitor.parameters
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
        + line({1: 12, 2: 22, 3: 32}, own_time_ns=31500, ts_ns=AT + 1)
    )
    found = watched(routers(tmp_path), tmp_path)
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
    found = watched(routers(tmp_path), tmp_path)
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
        + line({1: 0xFFFFFF, 2: 7}, flags=["saturated"], own_time_ns=7100)
        + line({2: 5}, own_time_ns=5000)
        + line({1: 5_000_000, 2: 5_000_000}, own_time_ns=0xFFFFFFFF)
    )
    found = watched(routers(tmp_path, 2), tmp_path)
    # What is but a bound is no observation; a sum of a part is none of the chain.
    assert of(found, "router-1", "processing_time_us") == [10, 5_000_000]
    assert of(found, "router-2", "processing_time_us") == [7.1, 5, 5_000_000]
    assert of(found, "chain", "chain_processing_time_us") == [10_000_000]
    counts = ("samples", "truncated_samples", "saturated_samples", "incomplete_samples")
    assert [of(found, "chain", f"pptmon_{name}") for name in counts] == [[4], [1], [1], [1]]


def test_both_metrics_and_directions(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text(line({1: 0}, metric="delay", end_to_end_us=41) + line({1: 12}))
    found = watched(routers(tmp_path, 1), tmp_path, direction="both")
    for prefix in ("", "reverse_"):
        assert of(found, "chain", f"{prefix}end_to_end_us") == [41]
        assert of(found, "router-1", f"{prefix}arrival_delay_us") == [0]
        assert of(found, "router-1", f"{prefix}processing_time_us") == [12]
    assert of(found, "router-1", "pptmon_reported") == [2]
    assert of(found, "router-1", "pptmon_reverse_reported") == [2]
    assert {kind_of(o.metric) for o in found if o.metric.startswith("pptmon_")} == {"total"}
    # A forwarder cannot be seen; a chain without VNFs is a baseline.
    (router,) = routers(tmp_path, 1).functions
    found = watched(chain([router, function(2, "forwarder")]), tmp_path)
    assert [of(found, name, "pptmon_visible") for name in ("router-1", "forwarder-2")] == [[1], [0]]
    assert [o.metric for o in watched(chain([]), tmp_path)] == ["monitor_cpu_s"]
    assert kind_of("processing_time_us") == "gauge"


def test_one_that_does_not_start_ends_them_all(tool: Path, tmp_path: Path) -> None:
    (tool / "fails-2").touch()
    watching = monitor()
    with pytest.raises(MeasurementError, match="does not start at router-2: no clsact here"):
        watching.start(routers(tmp_path), tmp_path)
    assert "start source 1" not in steps(tool)
    assert of(watching.stop(), "router-1", "pptmon_sampled") == []


def test_one_that_dies_is_told_and_the_others_are_ended(tool: Path, tmp_path: Path) -> None:
    (tool / "dies-2").touch()
    with pytest.raises(MeasurementError, match="router-2: it ended by itself, with status 0"):
        watched(routers(tmp_path), tmp_path)
    assert {"stop source 1", "stop sink 3"} <= set(steps(tool))


def test_lines_that_pptmon_does_not_print_are_no_samples(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text('{"event": "sample"}\n')
    with pytest.raises(MeasurementError, match="not a line of pptmon"):
        watched(routers(tmp_path, 1), tmp_path)


def test_headers_that_come_nowhere_are_told(
    tool: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for swallowed in (False, True):
        if swallowed:
            (tool / "swallowed").touch()
        watched(routers(tmp_path, 2), tmp_path)
        told = "none of them reached the last VNF" in caplog.text
        assert told is swallowed


class Elsewhere(NamespaceHost):
    """A machine of its own, whose clock is an hour ahead."""

    def read_text(self, path: str) -> str:
        return f"{self.name}\n" if path.endswith("boot_id") else super().read_text(path)

    def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
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
    watched(together, tmp_path, metrics=["delay"])


def test_samples_are_told_in_our_time(tool: Path, tmp_path: Path) -> None:
    (tool / "samples-1").write_text(line({1: 7.0}))
    far = Elsewhere("vm", None, tmp_path)
    found = watched(chain([function(1, host=far)]), tmp_path)
    (at_ns,) = {o.time_ns for o in found if o.metric == "processing_time_us"}
    assert at_ns == pytest.approx(AT - 3600 * 10**9, abs=5 * 10**9)


@pytest.mark.skipif(os.geteuid() != 0, reason="pptmon is asked as root alone")
@pytest.mark.parametrize(
    ("output", "status", "met", "words"),
    [
        ('{"event": "check", "kernel": "6.1", "met": true, "lacks": [], "attach": "clsact"}', 0,
         True, "Linux 6.1, attaches by clsact"),
        ('{"event": "check", "kernel": "4.9", "met": false, "lacks": ["BTF", "tc"], "attach": ""}',
         3, False, "BTF; tc"),
        ("Segmentation fault", 139, False, "ended with 139: Segmentation fault"),
        ("", 0, False, "it says nothing"),
        ("[]", 3, False, "ended with 3: []"),
    ],
)  # fmt: skip
def test_what_doctor_says(tmp_path: Path, output: str, status: int, met: bool, words: str) -> None:
    tool = tmp_path / "pptmon"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    tool.chmod(0o755)
    found = kernel_requirement(tool)
    assert found.met is met
    assert words in found.detail
    missing = kernel_requirement(tmp_path / "none")
    assert not missing.met and "does not run" in missing.detail
