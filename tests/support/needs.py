"""Skip tests for which this machine lacks something."""

from __future__ import annotations

import pytest

from sfcperf.dataplane import binaries
from sfcperf.plugins import Requirement


def skip_unless(*needs: Requirement) -> None:
    """Skip the test at the first need that is not met."""
    for need in needs:
        if not need.met:
            pytest.skip(f"{need.name}: {need.detail}; {need.remedy}")


def compiled(name: str) -> str:
    """Path of a compiled tool of ours, or the test is skipped."""
    found = binaries.requirement(name)
    skip_unless(found)
    return found.detail
