from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import bench
from support.engine import SMALL, Bench

__all__ = ["bench"]


@pytest.fixture
def finished(bench: Bench) -> Path:
    """The folder of a small run that is complete."""
    bench.start(**SMALL)
    return bench.folder()
