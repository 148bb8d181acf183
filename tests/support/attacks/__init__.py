"""Hostile inputs: each is made by a function when it is needed, so that no large file is kept.

A module per kind of input (workflows, descriptors, packages, run folders) has a list `ATTACKS`.
`judge.behaviour` runs one through the command line, `judge.faults` says what was wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Attack:
    """One hostile input."""

    name: str
    make: Callable[[Path], list[str]]
    """Writes its files into an empty folder; gives the arguments of `sfcperf`."""
    says: str = ""
    """A part of the message that the user is to see."""
    exit_codes: tuple[int, ...] = (2,)
    """Exit codes that are right."""
    limit_s: float = 5
    """Longest CPU time (10 for packages up to 100 MB of data)."""

    def __str__(self) -> str:
        return self.name
