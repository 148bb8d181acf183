"""How many rounds a comparison by ranks needs at least, before it can show any difference."""

from __future__ import annotations

from sfcperf.analysis.comparison.result import Sample
from sfcperf.analysis.two_sample import least_trials


def least_rounds_text(alpha: float, rows: int, *, paired: bool) -> str:
    """Say how many rounds show a difference that is large enough in one of so many rows, and what
    for: with fewer, no p is small enough for the first step of Holm's correction. `paired`: for
    variants of one run."""
    least = least_trials(alpha / max(1, rows), paired)
    one_of = f"one of {rows} rows (Holm's correction)" if rows > 1 else "a single row"
    return f"at least {least} rounds for a difference in {one_of}"


def can_differ(a: Sample, b: Sample) -> bool:
    """Whether more rounds may show a difference: not all values of both sides are the same."""
    return len({*a.values, *b.values}) > 1
