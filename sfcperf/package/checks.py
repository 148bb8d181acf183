"""What a check of a package came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "failed", "absent", "not checked"]

KEPT = 100
"""Findings of a check that are named; all are counted."""


@dataclass(frozen=True)
class Check:
    """One check."""

    name: str
    state: State
    """`absent`: there is nothing to check (no signature); `not checked`: something is there, and
    cannot be checked here."""
    detail: str
    """In words, whatever the state."""
    findings: tuple[str, ...] = ()
    """What does not hold; in `ok` checks: what a reader should know."""


def judged(name: str, findings: Sequence[str], holds: str) -> Check:
    """`ok`, described by `holds`, when there are no findings."""
    if not findings:
        return Check(name, "ok", holds)
    count = len(findings)
    detail = "1 does not hold" if count == 1 else f"{count} do not hold"
    return Check(name, "failed", detail, tuple(findings[:KEPT]))
