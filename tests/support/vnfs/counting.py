"""What a function counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sfcperf.vnfs.base import RunningFunction


@contextmanager
def counted(function: RunningFunction) -> Iterator[dict[str, int]]:
    """What it counts meanwhile, without what stays 0."""
    before = function.counters()
    found: dict[str, int] = {}
    yield found
    after = function.counters()
    found.update({name: after[name] - before[name] for name in after if after[name] > before[name]})
