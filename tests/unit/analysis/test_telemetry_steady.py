"""steady.json: telemetry that moves within the trials, and telemetry that does not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest
from support.records.trials import run_folder, trial
from support.schemas import validator

from sfcperf.analysis.telemetry import SteadyAnalysis
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.values import Observation

STEP_NS = 100_000_000
COUNT = 40


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Three rounds; the chain's CPU settles after 0.8 s, memory grows, the endpoint is steady."""
    random = numpy.random.default_rng(5)
    trials = [trial(n) for n in (1, 2, 3)] + [trial(4, status="untrusted")]
    found = run_folder(tmp_path / "run", trials)
    for record in trials:
        start = record.round * 10**12
        observations = []
        for place in range(COUNT):
            at, noise = start + place * STEP_NS, float(random.normal(0, 0.02))
            settling = 0.9 if place < 8 else 0.4
            growing = 1e6 * (40 + place + 10 * noise)
            observations += [
                Observation(at, "fwd-1", "cpu_cores", "1", settling + noise),
                Observation(at, "client", "cpu_cores", "1", 0.3 + noise),
                Observation(at, "fwd-1", "memory_bytes", "B", growing),
                Observation(at, "fwd-1", "rx_drops_total", "1", float(place)),
            ]
        # Monitors' parts need not come in order of time.
        found.write_trial_telemetry(record, observations[::-1])
    found.merge_telemetry()
    return found


def test_what_moves_is_told_from_what_does_not(store: RunStore) -> None:
    rows = {(row["source"], row["series"]): row for row in analysed(store)["series"]}
    assert {key: row["steady"] for key, row in rows.items()} == {
        ("fwd-1", "cpu_cores"): "warm-up",
        ("client", "cpu_cores"): "steady",
        ("fwd-1", "memory_bytes"): "never",
    }
    cpu = rows["fwd-1", "cpu_cores"]
    assert (cpu["trials"], cpu["observations"]) == (3, COUNT)
    # MSER cuts off what must go, and by chance a little more.
    assert 8 <= cpu["after"] <= 16
    assert cpu["after_s"] == pytest.approx(cpu["after"] * STEP_NS / 1e9)
    assert cpu["bias_ratio"] == pytest.approx(0.25, abs=0.02)


def test_the_document_is_as_its_schema_says_and_is_read_back(store: RunStore) -> None:
    document = analysed(store)
    validator("steady").validate(json.loads((store.folder / "steady.json").read_text()))
    assert store.document(RunFile.STEADY) == {"schema_version": 1, **document}


def test_only_what_is_asked_for_and_what_is_missing_is_said(store: RunStore) -> None:
    document = analysed(store, series=["memory_bytes", "heat"])
    assert {row["series"] for row in document["series"]} == {"memory_bytes"}
    assert document["notes"] == ["no observation of 'heat' in valid trials of this run"]


def test_a_run_without_telemetry(tmp_path: Path) -> None:
    assert analysed(run_folder(tmp_path / "run", [trial(1)]))["series"] == []


def analysed(store: RunStore, **parameters: object) -> dict:
    return dict(SteadyAnalysis(parameters).analyse(store))
