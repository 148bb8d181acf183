"""Run folders made up for tests: real documents through RunStore, numbers from a seeded generator.

`build_run` gives a run like that of a short `sfcperf-fig8` workflow: topologies x chain lengths x
four probes x rounds, telemetry, a trial that is untrusted, one that failed.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf.analysis.claims.analysis import ClaimsAnalysis
from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.management.deployment import HopObservation, TraversalProof
from sfcperf.results.flows import FlowRecord
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.values import Observation
from support.records.manifests import metric, run_manifest
from support.records.plans import made_up_plan
from support.records.trials import trial as trial_record

MADE_RUNS = "SFCPERF_TEST_RUNS"
"""Environment variable: the folder of the runs that tests copy."""
START_S = 1_750_000_000
TRIAL_S = 3
PROBES: Mapping[str, Sequence[tuple[str, str, str, bool]]] = {
    "ping": [("rtt_us", "us", "lower", True), ("loss_ratio", "1", "lower", False)],
    "iperf3-tcp": [("rate_bps", "bit/s", "higher", True)],
    "iperf3-udp": [
        ("rate_bps", "bit/s", "higher", True),
        ("rate_pps", "1/s", "higher", True),
        ("loss_ratio", "1", "lower", False),
    ],
    "httperf": [("replies_per_s", "1/s", "higher", True), ("response_us", "us", "lower", False)],
}
"""Probe label -> metrics: name, unit, better, primary."""


FEW_TRIALS = {"centre": "mean", "rarest_mode": 0.65}
"""A declaration with which three trials have an interval."""


@dataclass(frozen=True)
class RunOptions:
    """What to make up."""

    name: str = "fig8-short"
    description: str = "RTT, HTTP rate and throughput of forwarder chains in two topologies."
    topologies: Sequence[str] = ("T1", "T3")
    chain_lengths: Sequence[int] = (0, 1, 2)
    rounds: int = 3
    status: str = "complete"
    untrusted: frozenset[str] = frozenset({"r002-s002-iperf3-udp"})
    failed: frozenset[str] = frozenset({"r003-s004-httperf"})
    """Trial ids."""
    telemetry: bool = True
    flows: bool = False
    """Make up what the monitor sfcmon finds, as though `fwd-1` were an sfcmon."""
    summaries: bool = True
    trials: int | None = None
    """Stop after so many, as an interrupted run does; None: all."""
    claims: Sequence[Mapping[str, Any]] = ()
    reason: str = "the sender reached 412.1 of 500 Mbit/s"
    figures: Sequence[Mapping[str, Any]] = field(
        default_factory=lambda: [
            {
                "name": "fig8b",
                "title": "Round-trip time against chain length",
                "probe": "ping",
                "metric": "rtt_us",
                "x": "chain_length",
                "series": "topology",
                "x_label": "Number of VNFs in the chain",
                "y_label": "Round-trip time [ms]",
                "y_scale": 1e-3,
                "fit": "linear",
            },
            {
                "name": "fig8c",
                "title": "Throughput against chain length",
                "probe": "iperf3-udp",
                "metric": "rate_pps",
                "x": "chain_length",
                "series": "topology",
                "x_label": "Number of VNFs in the chain",
                "y_label": "Throughput [1000 packets/s]",
                "y_scale": 1e-3,
                "kind": "bar",
            },
        ]
    )


def build_run(folder: Path, options: RunOptions | None = None) -> RunStore:
    """A run folder as `sfcperf run` leaves it, without report and figures."""
    options = options or RunOptions()
    return copied_run(folder, options, _build)


def copied_run(
    folder: Path, options: RunOptions, build: Callable[[Path, RunOptions], object]
) -> RunStore:
    """What `build` makes in a folder of this name: made once for all workers, then copied."""
    first = made_once((build.__qualname__, options), folder.name, lambda at: build(at, options))
    shutil.copytree(first, folder)
    store = RunStore(folder)
    store.write_workflow(workflow_document(options), folder.parent)
    return store


def made_once(what: object, name: str, build: Callable[[Path], object]) -> Path:
    """A file or folder of this name that `build` makes: once for all workers and all tests that
    want the same `what`, to be copied by each."""
    first = _built() / hashlib.sha256(repr(what).encode()).hexdigest() / name
    first.parent.mkdir(exist_ok=True)
    with first.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not first.exists():
            building = first.with_name(f"{name}.building") / name  # under its lock alone
            shutil.rmtree(building.parent, ignore_errors=True)
            building.parent.mkdir()
            build(building)
            building.rename(first)
    return first


@cache
def _built() -> Path:
    """A folder of this test run: tests/conftest.py makes and removes it."""
    if MADE_RUNS in os.environ:
        return Path(os.environ[MADE_RUNS])
    folder = tempfile.mkdtemp(prefix="sfcperf-runs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _build(folder: Path, options: RunOptions) -> RunStore:
    store = RunStore.create(folder)
    store.write_workflow(workflow_document(options), folder.parent)
    store.write_manifest(_manifest(store.run_id, options))
    planned = _planned(options)
    store.write_plan(made_up_plan(sorted({trial["scenario_id"] for trial in planned})))
    rng = random.Random(7)
    for number, trial in enumerate(planned[: options.trials]):
        record = _record(trial, number, options, rng)
        (store.raw(record.trial_id) / "stdout.txt").write_text("64 bytes from 10.0.0.2\n")
        store.append_trial(record)
        _write_proof(store, record)
        observed = _observations(record, number, rng) if options.telemetry else []
        if options.flows and record.samples and record.scenario["chain_length"]:
            observed += _window_totals(number)
            store.write_trial_flows(record, _flow_records(number))
        store.write_trial_telemetry(record, observed)
    if options.telemetry or options.flows:
        store.merge_telemetry()
    if options.flows:
        store.merge_flows()
    if options.summaries:
        SummaryAnalysis({}).analyse(store)
    ClaimsAnalysis({}).analyse(store)
    return store


def workflow_document(options: RunOptions) -> dict[str, Any]:
    """The workflow of the run, as a user writes it."""
    return {
        "sfcperf": 1,
        "name": options.name,
        "description": options.description,
        "infrastructure": {"driver": "local", "config": {"dataplane": "ovs"}},
        "topology": "${topology}",
        "vnfs": {"fwd": {"type": "forwarder", "resources": {"vcpus": 1, "memory_mib": 256}}},
        "chain": {"functions": [{"vnf": "fwd", "count": "${chain_length}"}]},
        "factors": {
            "topology": list(options.topologies),
            "chain_length": list(options.chain_lengths),
        },
        "probes": [
            {"probe": "ping", "count": 20},
            {"probe": "iperf3", "name": "iperf3-tcp", "protocol": "tcp", "duration_s": 2},
            {"probe": "iperf3", "name": "iperf3-udp", "protocol": "udp", "duration_s": 2},
            {"probe": "httperf"},
        ],
        "monitors": [{"monitor": "cpu"}, {"monitor": "memory"}, {"monitor": "interfaces"}],
        "design": {"rounds": options.rounds, "warmup_rounds": 1, "seed": 1, **FEW_TRIALS},
        "figures": [dict(figure) for figure in options.figures],
        "claims": [dict(claim) for claim in options.claims],
        "publish": [{"to": "report"}],
    }


def _scenarios(options: RunOptions) -> list[dict[str, Any]]:
    return [
        {"topology": topology, "chain_length": length}
        for topology in options.topologies
        for length in options.chain_lengths
    ]


def _planned(options: RunOptions) -> list[dict[str, Any]]:
    return [
        {
            "trial_id": f"r{round_number:03d}-s{index:03d}-{label}",
            "scenario_id": f"s{index:03d}",
            "scenario": scenario,
            "round": round_number,
            "probe": label.partition("-")[0],
            "label": label,
        }
        for round_number in range(1, options.rounds + 1)
        for index, scenario in enumerate(_scenarios(options))
        for label in PROBES
    ]


def _record(
    trial: Mapping[str, Any], number: int, options: RunOptions, rng: random.Random
) -> TrialRecord:
    trial_id = trial["trial_id"]
    failed, untrusted = trial_id in options.failed, trial_id in options.untrusted
    length = trial["scenario"]["chain_length"]
    reasons = ("httperf: exit status 1: connection refused",) if failed else (options.reason,)
    start = START_S + number * TRIAL_S
    return trial_record(
        **trial,
        status="failed" if failed else "untrusted" if untrusted else "valid",
        reasons=reasons if failed or untrusted else (),
        started_at=_iso(start),
        ended_at=_iso(start + TRIAL_S - 1),
        duration_s=TRIAL_S - 1.0,
        samples=() if failed else tuple(_samples(trial, rng)),
        attempts=3 if failed else 1,
        deployment=_deployment(trial, length),
        packets={f"fwd-{n}": 4000 + n for n in range(1, length + 1)},
        notes={"sender_cpu_ratio": 0.41, "packets": 1000},
    )


def _samples(trial: Mapping[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    length, label = trial["scenario"]["chain_length"], trial["label"]
    slow = 1.6 if trial["scenario"]["topology"] != "T1" else 1.0
    noise = rng.gauss(1, 0.04)
    if label == "ping":
        mean = (180 + 95 * length) * slow * noise
        rtts = [("rtt_us", "us", mean * rng.gauss(1, 0.05)) for _ in range(20)]
        values = [*rtts, ("loss_ratio", "1", 0.0)]
    elif label == "httperf":
        rate = 9200 / (slow + 0.5 * length) * noise
        values = [("replies_per_s", "1/s", rate), ("response_us", "us", 1e6 / rate)]
    else:
        rate = 2.1e9 / (slow + 0.7 * length) * noise
        values = [("rate_bps", "bit/s", rate)]
        if label == "iperf3-udp":
            loss = max(0.0, rng.gauss(0.002, 0.001))
            values += [("rate_pps", "1/s", rate / 1334 / 8), ("loss_ratio", "1", loss)]
    return [{"metric": m, "unit": u, "value": v} for m, u, v in values]


def _deployment(trial: Mapping[str, Any], length: int) -> dict[str, Any]:
    identity = f"r{trial['round']:03d}-{trial['scenario_id']}"
    return {
        "id": identity,
        "encapsulation": "nsh-eth" if length else "none",
        "spi": 10,
        "traversal": {
            "proven": True,
            "method": "capture at the SFF's ports",
            "evidence": f"raw/traversal/{identity}-1.json",
        },
        "facts": {
            "mtu": 1500,
            "offloads": {"client": {"tso": False, "gso": False, "gro": False}},
            "cpus": {f"fwd-{n}": [1] for n in range(1, length + 1)},
        },
    }


def _write_proof(store: RunStore, record: TrialRecord) -> None:
    def hops(spi: int, names: Sequence[str]) -> list[HopObservation]:
        return [HopObservation(name, spi, 255 - i, 254 - i, 10) for i, name in enumerate(names)]

    names = [f"fwd-{n}" for n in range(1, record.scenario["chain_length"] + 1)]
    traversal = record.deployment["traversal"]
    proof = TraversalProof(
        traversal["proven"],
        traversal["method"],
        10,
        tuple(hops(10, names)),
        tuple(hops(10 | 1 << 23, names[::-1])),
    )
    path = store.folder / traversal["evidence"]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(proof)))


def _observations(record: TrialRecord, number: int, rng: random.Random) -> list[Observation]:
    start_ns = (START_S + number * TRIAL_S) * 10**9
    sources = ["sff@node1", *(f"fwd-{n + 1}" for n in range(record.scenario["chain_length"]))]
    rows = []
    for step in range(20):
        at = start_ns + step * 10**8
        for source in sources:
            busy = min(1.0, max(0.0, rng.gauss(0.9 if "@" in source else 0.3, 0.05)))
            rows.append(Observation(at, source, "cpu_cores", "1", busy))
            memory = rng.gauss(40e6, 1e5)
            rows.append(Observation(at, source, "memory_bytes", "B", memory))
    end = start_ns + 2 * 10**9
    rows += [Observation(end, source, "rx_drops_total", "1", 0.0) for source in sources]
    rows.append(Observation(end, "sff@node1", "tx_drops_total", "1", float(number % 17 == 3)))
    rows.append(Observation(end, "cpu", "monitor_cpu_s", "s", 0.004))
    rows.append(Observation(end, "memory", "monitor_cpu_s", "s", 0.002))
    return rows


def _windows(number: int) -> list[tuple[int, int]]:
    """Begin and end of the windows of a trial, Unix nanoseconds."""
    start_ns = (START_S + number * TRIAL_S) * 10**9
    return [(start_ns + at * 10**9, start_ns + (at + 1) * 10**9) for at in range(2)]


def _window_totals(number: int) -> list[Observation]:
    """In every fifth trial not all flows were listed, and some frames were not monitored."""
    bad = number % 5 == 0
    totals = {
        "monitored_packets": 2000,
        "flows": 3,
        "missing_flows": 4 * bad,
        "missing_packets": 90 * bad,
        "residual_cells": int(bad),
        "threshold": 20,
        **{f"unparsed_{reason}": 0 for reason in ("not_nsh", "nsh", "ip", "truncated")},
        "unparsed_not_ip": 7 * bad,
    }
    return [
        Observation(end_ns, "fwd-1", metric, "1", value)
        for _, end_ns in _windows(number)
        for metric, value in totals.items()
    ]


def _flow_records(number: int) -> list[FlowRecord]:
    """Four flows per window: of a client with another port in each trial, of a client with IPv6,
    without ports, and all that an address sends."""
    bad = number % 5 == 0
    flows = (
        ("10.0.0.1", "10.0.0.2", 17, (40000 + number, 5201), 1500, "exact"),
        ("fd00::1", "fd00::2", 6, (40000, 80), 300, "at most" if bad else "exact"),
        ("10.0.0.1", "10.0.0.2", 1, (0, 0), 100, "unverified" if bad else "exact"),
        ("10.0.0.1", None, None, (None, None), 50, "exact"),
    )
    return [
        FlowRecord(
            function="fwd-1",
            window_start_ns=start_ns,
            window_end_ns=end_ns,
            spi=None if destination is None else 10,
            si=None if destination is None else 255,
            source_address=source,
            destination_address=destination,
            protocol=protocol,
            source_port=ports[0],
            destination_port=ports[1],
            packets=packets,
            bytes=packets * 100,
            certainty=certainty,
        )
        for start_ns, end_ns in _windows(number)
        for source, destination, protocol, ports, packets, certainty in flows
    ]


def _manifest(run_id: str, options: RunOptions) -> dict[str, Any]:
    scenarios = _scenarios(options)
    base = run_manifest(run_id)
    return {
        **base,
        "name": options.name,
        "description": options.description,
        "status": options.status,
        "started_at": _iso(START_S),
        "ended_at": None if options.status == "running" else _iso(START_S + 300),
        "command": ["sfcperf", "run", "workflows/sfcperf-fig8.json"],
        "design": {**base["design"], "rounds": options.rounds, "warmup_rounds": 1, **FEW_TRIALS},
        "scenarios": [
            {"id": f"s{index:03d}", "levels": levels} for index, levels in enumerate(scenarios)
        ],
        "probes": [
            {
                "probe": label.partition("-")[0],
                "label": label,
                "metrics": [
                    metric(
                        name,
                        unit,
                        better=better,
                        primary=primary,
                        out_of="packets" if name == "loss_ratio" else "",
                    )
                    for name, unit, better, primary in metrics
                ],
                "scenarios": [f"s{index:03d}" for index in range(len(scenarios))],
            }
            for label, metrics in PROBES.items()
        ],
        "monitors": [
            {"monitor": "cpu", "cost": "reads one file per instance", "cpu_s": 0.2},
            {"monitor": "memory", "cost": "reads one file per instance", "cpu_s": 0.2},
        ],
        "infrastructure": {"dataplane": "ovs", "offloads": "off at the endpoints"},
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")
