"""Fixtures: a run to be shown in figures and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore
from support.records.runs import RunOptions, build_run

EIGHT_ROUNDS = RunOptions(
    topologies=("T1",),
    chain_lengths=(0, 1),
    rounds=8,
    telemetry=False,
    untrusted=frozenset(),
    failed=frozenset(),
)
"""Of valid trials: enough for an interval of the median."""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A run with an untrusted and a failed trial; nobody writes into it."""
    return build_run(tmp_path_factory.mktemp("runs") / "20260101-120000-fig8-short-abc123")


@pytest.fixture(scope="session")
def sound_run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A run of valid trials without outliers; nobody writes into it."""
    nothing: frozenset[str] = frozenset()
    options = RunOptions(rounds=6, untrusted=nothing, failed=nothing, telemetry=False)
    store = build_run(tmp_path_factory.mktemp("runs") / "sound", options)
    store.write_summary([replace(row, outliers=()) for row in store.summaries()])
    return store


@pytest.fixture
def new_run(tmp_path: Path) -> RunStore:
    """A small run of this test alone."""
    return build_run(tmp_path / "run", RunOptions(topologies=("T1",), chain_lengths=(0, 1)))


@pytest.fixture
def summaries(run: RunStore) -> list[Summary]:
    return run.summaries()
