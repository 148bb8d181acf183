"""Result of a check of a package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "failed", "absent", "not checked"]

KEPT = 100
"""Largest number of findings that a check lists. All of them are counted."""


@dataclass(frozen=True)
class Check:
    """One check and its result."""

    name: str
    state: State
    """`absent`: there is nothing to check (no signature); `not checked`: it cannot be checked
    here."""
    detail: str
    """One sentence on the result; every state has one."""
    findings: tuple[str, ...] = ()
    """What does not hold. In a check that is `ok` or `not checked`: what a reader should know."""


def judged(name: str, findings: Sequence[str], holds: str) -> Check:
    """Return a check that is `failed` if there are findings, else `ok` with `holds` as detail."""
    if not findings:
        return Check(name, "ok", holds)
    count = len(findings)
    detail = "1 does not hold" if count == 1 else f"{count} do not hold"
    return Check(name, "failed", detail, tuple(findings[:KEPT]))
