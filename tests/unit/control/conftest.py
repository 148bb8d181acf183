from __future__ import annotations

import pytest
from support.bench import bench
from support.records.manifests import VERSIONS

import sfcperf.control.run as engine

__all__ = ["bench"]


@pytest.fixture
def fast_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking each tool for its version takes longer than the whole fake run."""
    monkeypatch.setattr(engine, "versions", lambda: VERSIONS)
