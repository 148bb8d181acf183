"""Chains of VNFs, ready for pptmon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.needs import compiled
from support.network.wires import Lab, lab
from support.pptmon.bench import Chain, build
from support.pptmon.kernel_log import without_complaints
from support.pptmon.process import BINARY as PPTMON
from support.pptmon.routers import RoutedPath
from support.pptmon.routers import build as build_routers

__all__ = ["lab"]


@pytest.fixture
def chain_of(lab: Lab, tmp_path: Path) -> Iterator[Callable[..., Chain]]:
    """Build a chain of so many bridges for pptmon."""
    compiled(PPTMON)
    with without_complaints():
        yield lambda count, **options: build(lab, tmp_path / "pptmon", count, **options)


@pytest.fixture
def routers(lab: Lab, tmp_path: Path) -> Iterator[Callable[[int], RoutedPath]]:
    """Build a path over so many routers for pptmon."""
    compiled(PPTMON)
    with without_complaints():
        yield lambda count: build_routers(lab, tmp_path / "pptmon", count)
