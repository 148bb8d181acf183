"""Whether functions crashed more often on one side: an exact test on counts.

Fisher, "The logic of inductive inference", Journal of the Royal Statistical Society 98, 1935: given
how many attempts both sides made and how many crashed in all, the p-value is exact, however few
they are. If a side has several runs, each run is one observation, crashed or not, because attempts
of one run are not independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from sfcperf.analysis.comparison.options import Options
from sfcperf.analysis.comparison.result import Crashes, SideFacts
from sfcperf.analysis.statistics import at_most, holm


def crashes_of(
    baseline: SideFacts, candidates: Sequence[SideFacts], options: Options
) -> list[Crashes]:
    """Test each candidate against the baseline, if a function crashed on either side. P-values are
    corrected for the number of candidates tested (Holm)."""
    tests = [
        _crashes(baseline, other)
        for other in candidates
        if baseline.attempts.crashes or other.attempts.crashes
    ]
    corrected = holm([crashes.p for crashes in tests])
    return [
        _with_verdict(replace(crashes, p_holm=p), options)
        for crashes, p in zip(tests, corrected, strict=True)
    ]


def _crashes(baseline: SideFacts, other: SideFacts) -> Crashes:
    """Test one candidate, by runs if a side has several. The result still lacks the correction of p
    and the verdict."""
    from scipy.stats import fisher_exact

    several = max(len(side.runs) for side in (baseline, other)) > 1
    (a, of_a), (b, of_b) = (_counts(side, several) for side in (baseline, other))
    p = float(fisher_exact([[a, of_a - a], [b, of_b - b]]).pvalue)
    unit: Literal["attempt", "run"] = "run" if several else "attempt"
    return Crashes(other.name, unit, a, of_a, b, of_b, p, p, "undecided")


def _counts(side: SideFacts, several: bool) -> tuple[int, int]:
    """Return how many observations crashed, and how many there are. `several`: whether runs are
    counted, not attempts."""
    if several:
        return sum(run.attempts.crashes > 0 for run in side.runs), len(side.runs)
    return side.attempts.crashes, side.attempts.made


def _with_verdict(crashes: Crashes, options: Options) -> Crashes:
    """Return the result of a test with its verdict: `undecided`, as it has it, unless the corrected
    p is at most alpha."""
    if not at_most(crashes.p_holm, options.alpha):
        return crashes
    return replace(
        crashes,
        # Products compare the shares b / of_b and a / of_a.
        verdict="worse" if crashes.b * crashes.of_a > crashes.a * crashes.of_b else "better",
    )


def crash_texts(
    baseline: SideFacts, candidates: Sequence[SideFacts], found: Sequence[Crashes]
) -> Iterator[str]:
    """Yield a sentence per test, for instance `functions crashed in 3 of 14 attempts of B (fwd-1 in
    3) and in 0 of 12 attempts of A: ...`."""
    sides = {side.name: side for side in candidates}
    for crashes in found:
        other = sides[crashes.candidate]
        counts = " and in ".join(
            f"{n} of {of} {crashes.unit}s of {side.name}{_names(side)}"
            for side, n, of in (
                (other, crashes.b, crashes.of_b),
                (baseline, crashes.a, crashes.of_a),
            )
        )
        texts = {
            "worse": f"{other.name} crashes more often",
            "better": f"{other.name} crashes less often",
            "undecided": "undecided which side crashes more often",
        }
        yield (
            f"functions crashed in {counts}: {texts[crashes.verdict]} "
            f"(Fisher's exact test, p = {crashes.p_holm:.2g})"
        )


def _names(side: SideFacts) -> str:
    """Return which functions crashed, and in how many attempts: ` (fwd-1 in 3)`; empty if none
    did."""
    crashed = side.attempts.crashed
    return f" ({', '.join(f'{name} in {n}' for name, n in crashed.items())})" if crashed else ""
