from __future__ import annotations

from pathlib import Path

import pytest
from support.records.runs import RunOptions, build_run

from sfcperf.results.store import RunStore


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """A small run."""
    options = RunOptions(topologies=("T1",), chain_lengths=(0,), rounds=1)
    return build_run(tmp_path / "20260131-120000-a-abc123", options)
