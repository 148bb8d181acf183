"""joined.parquet against a naive judge: plain loops and numpy, for any telemetry."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.manifests import run_manifest
from support.records.plans import made_up_plan
from support.records.runs import build_run
from support.records.trials import trial as made_up_trial
from support.schemas import validator
from support.tiers import examples

from sfcperf.analysis.telemetry import MergeAnalysis, kind_of
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.results.values import Observation

START_NS = 1_750_000_000 * 10**9
SPAN_NS = 10**9
METRICS = ("cpu_cores", "rx_bytes", "rx_bytes_total", "monitor_cpu_s", "tx_pps")

values = st.one_of(
    st.floats(-1e6, 1e6), st.sampled_from([0.0, math.nan, math.inf, -math.inf, 1e-300])
)
observations = st.lists(
    st.builds(
        Observation,
        # Also before the trial began, and after it ended.
        time_ns=st.integers(START_NS - SPAN_NS // 2, START_NS + 2 * SPAN_NS).map(
            lambda t: t // 1000 * 1000
        ),
        source=st.sampled_from(["fwd-1", "it's", "sff@node1"]),
        metric=st.sampled_from(METRICS),
        unit=st.just("1"),
        value=values,
    ),
    max_size=40,
    unique_by=lambda o: (o.time_ns, o.source, o.metric),
)


def iso(time_ns: int) -> str:
    moment = datetime.fromtimestamp(time_ns // 10**9, UTC)
    return moment.replace(microsecond=time_ns % 10**9 // 1000).isoformat(timespec="microseconds")


def trial(number: int, samples: list[tuple[str, float]]) -> TrialRecord:
    return made_up_trial(
        number,
        label="tcp",
        scenario={"length": 1},
        probe="iperf3",
        status="valid" if samples else "failed",
        started_at=iso(START_NS),
        ended_at=iso(START_NS + SPAN_NS),
        duration_s=SPAN_NS / 1e9,
        samples=tuple({"metric": m, "unit": "bit/s", "value": v} for m, v in samples),
    )


def run_with(
    folder: Path, trials: list[tuple[TrialRecord, list[Observation]]], omit_s: float = 0
) -> RunStore:
    store = RunStore.create(folder / "it's a run")
    store.write_manifest(run_manifest("made-up"))
    probe = {"label": "tcp", "parameters": {"omit_s": omit_s}}
    store.write_plan(made_up_plan(probes=[probe]))
    for record, seen in trials:
        store.append_trial(record)
        store.write_trial_telemetry(record, seen)
    store.merge_telemetry()
    return store


def rows_of(store: RunStore) -> list[dict[str, Any]]:
    MergeAnalysis({}).analyse(store)
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(store.joined_path).to_pylist()
    return rows


def judged(seen: list[Observation], omit_ns: int) -> dict[tuple[str, str], dict[str, Any]]:
    """(Source, metric) -> what the aggregates of a trial must be."""
    series: dict[tuple[str, str], list[Observation]] = {}
    for one in seen:
        series.setdefault((one.source, one.metric), []).append(one)
    begin = max(min((o.time_ns for o in seen), default=0), START_NS) + omit_ns
    end = min(max((o.time_ns for o in seen), default=0), START_NS + SPAN_NS)
    found = {}
    for key, members in series.items():
        kept = sorted(
            (o.time_ns, o.value)
            for o in members
            if math.isfinite(o.value) and begin <= o.time_ns <= end
        )
        kind = kind_of(key[1])
        numbers = np.array([value for _, value in kept])
        gaps = sorted(b[0] - a[0] for a, b in pairwise(kept))
        coverage: float | None = None
        if kind != "total":
            if not kept:
                coverage = 0.0
            elif gaps and end > begin:
                coverage = min(1.0, len(kept) * gaps[len(gaps) // 2] / (end - begin))
        total = {"gauge": None, "delta": np.sum, "total": np.max}[kind]
        found[key] = {
            "kind": kind,
            "observations": len(kept),
            "mean": numbers.mean() if kept else None,
            "min": numbers.min() if kept else None,
            "max": numbers.max() if kept else None,
            "p95": np.percentile(numbers, 95) if kept else None,
            "sum": total(numbers) if kept and total is not None else None,
            "coverage": coverage,
            "starts_s": (kept[0][0] - begin) / 1e9 if kept else None,
        }
    return found


@examples(25)
@given(
    first=observations,
    second=observations,
    samples=st.lists(
        st.tuples(st.sampled_from(["rate_bps", "loss"]), st.floats(-1e9, 1e9)), max_size=6
    ),
    omit_s=st.sampled_from([0, 0.25]),
)
def test_it_is_what_plain_loops_give(
    first: list[Observation],
    second: list[Observation],
    samples: list[tuple[str, float]],
    omit_s: float,
) -> None:
    with TemporaryDirectory() as folder:
        trials = [(trial(1, samples), first), (trial(2, [("rate_bps", 5.0)]), second)]
        rows = rows_of(run_with(Path(folder), trials, omit_s))
    for record, seen in trials:
        expected = judged(seen, int(omit_s * 1e9))
        metrics = list(dict.fromkeys(sample["metric"] for sample in record.samples))
        mine = [row for row in rows if row["trial_id"] == record.trial_id]
        keys = [(row["metric"], row["source"], row["series"]) for row in mine]
        wanted = [
            (m, *key) for m in metrics for key in (sorted(expected) if expected else [(None, None)])
        ]
        assert keys == wanted
        for row in mine:
            numbers = [s["value"] for s in record.samples if s["metric"] == row["metric"]]
            assert row["samples"] == len(numbers)
            assert row["value"] == pytest.approx(np.mean(numbers), rel=1e-9, abs=1e-9)
            if row["source"] is not None:
                for name, value in expected[(row["source"], row["series"])].items():
                    plain = value is None or name == "kind"
                    same = value if plain else pytest.approx(value, rel=1e-9, abs=1e-6)
                    assert row[name] == same, name


def test_rows_are_as_the_schema_says_and_the_same_each_time(tmp_path: Path) -> None:
    store = build_run(tmp_path / "run")
    rows = rows_of(store)
    # As many as trials have metrics, times series; the failed trial has no metric.
    metrics = {r.trial_id: {s["metric"] for s in r.samples} for r in store.trials()}
    series: dict[str, set[tuple[str, str]]] = {}
    for row in pyarrow.parquet.read_table(store.telemetry_path).to_pylist():
        series.setdefault(row["trial_id"], set()).add((row["source"], row["metric"]))
    assert len(rows) == sum(len(found) * len(series[id]) for id, found in metrics.items())
    for row in rows[::50]:
        errors = list(validator("joined").iter_errors(row))
        assert not errors, (row, errors)
        assert json.loads(row["scenario"])
    # It is the same file each time, and damaged telemetry is named.
    before = store.joined_path.read_bytes()
    MergeAnalysis({}).analyse(store)
    assert store.joined_path.read_bytes() == before
    store.joined_path.unlink()
    store.telemetry_path.write_bytes(b"PAR1 not really")
    with pytest.raises(InputError) as caught:
        MergeAnalysis({}).analyse(store)
    assert "telemetry.parquet" in str(caught.value.where)
    assert not store.joined_path.exists()


def test_a_series_that_starts_late_says_so(tmp_path: Path) -> None:
    steady = [Observation(START_NS + i * 10**8, "a", "cpu_cores", "1", 1.0) for i in range(11)]
    late = [Observation(START_NS + i * 10**8, "b", "cpu_cores", "1", 1.0) for i in range(6, 11)]
    rows = rows_of(run_with(tmp_path, [(trial(1, [("rate_bps", 1.0)]), [*steady, *late])]))
    by_source = {row["source"]: row for row in rows}
    assert by_source["a"]["coverage"] == 1
    assert by_source["b"]["coverage"] == pytest.approx(0.5)
    assert by_source["b"]["starts_s"] == pytest.approx(0.6)


def test_a_run_without_telemetry_keeps_its_trials(tmp_path: Path) -> None:
    rows = rows_of(run_with(tmp_path / "a", [(trial(1, [("rate_bps", 7.0)]), [])]))
    assert [(row["value"], row["source"], row["observations"]) for row in rows] == [(7, None, None)]
    assert rows_of(run_with(tmp_path / "b", [])) == []


def test_kinds_of_the_monitors_series() -> None:
    kinds = {
        "gauge": ("cpu_cores", "rx_bps", "memory_bytes"),
        "delta": ("rx_bytes", "tx_drops"),
        "total": ("rx_drops_total", "monitor_cpu_s", "monitor_errors"),
    }
    for kind, metrics in kinds.items():
        assert {kind_of(metric) for metric in metrics} == {kind}
