"""Failed attempts in words."""

from __future__ import annotations

from collections.abc import Mapping

from sfcperf.counts import count_text
from sfcperf.presentation.wording import first_names
from sfcperf.results.attempts import AttemptCounts
from sfcperf.results.records import FailureKind

_CAUSES: Mapping[FailureKind, str] = {
    "crash": "a function crashed",
    "deployment": "the deployment failed",
    "service": "a service failed",
    "measurement": "the measurement failed",
}
"""Kind of a failed attempt -> the cause in words."""


def attempts_text(counts: AttemptCounts) -> str:
    """Say how many attempts failed, and why: `3 of 75 attempts failed: a function crashed in 2
    (fwd-1 in 2), the measurement failed in 1`. Empty if none failed."""
    if not counts.failed:
        return ""
    names = first_names([f"{name} in {number}" for name, number in counts.crashed.items()])
    causes = [
        f"{_CAUSES[kind]} in {number}{f' ({names})' if kind == 'crash' and names else ''}"
        for kind, number in counts.by_kind.items()
    ]
    return f"{counts.failed} of {count_text(counts.made, 'attempt')} failed: {', '.join(causes)}"
