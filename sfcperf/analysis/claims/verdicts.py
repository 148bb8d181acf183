"""Verdicts: whether a claim's quantity lies where the claim says, with one error for all claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal

from sfcperf.analysis.claims.inference import MOST_ROUNDS, least_rounds
from sfcperf.analysis.claims.ranges import Range, TooFew, range_of
from sfcperf.analysis.claims.rounds import NotMeasured, RoundValues
from sfcperf.analysis.statistics import rarest_mode
from sfcperf.counts import count_text
from sfcperf.workflow.model import Claim

Verdict = Literal["agrees", "contradicts", "undecided", "not comparable", "not tested"]
VERDICTS: tuple[Verdict, ...] = (
    "agrees",
    "contradicts",
    "undecided",
    "not comparable",
    "not tested",
)
USUAL_MODE = 0.3
"""Share of trials of the rarest mode that the rounds should show; fewer rounds get a warning."""


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with what a run says of it."""

    claim: Claim
    """The claim; of an order with an estimate, `above` is what that must exceed: 1, or 0 if it is
    a difference."""
    verdict: Verdict
    reason: str = ""
    """Why the claim is undecided, not comparable or not tested."""
    estimate: float | None = None
    """The quantity, in its unit; of an order, the ratio of the neighbours that is least, or their
    difference where the earlier one may be 0 or less. None: no value."""
    low: float | None = None
    """Ends of the interval that holds for all claims together; None: unbounded."""
    high: float | None = None
    rounds: int = 0
    """Rounds in which all that the claim needs was valid."""
    rounds_needed: int | None = None
    """Rounds from which on a verdict may be expected: it is possible, and further rounds resemble
    those measured. None: too many, or not known."""
    warnings: tuple[str, ...] = ()


def judge(claims: Sequence[Claim], values: RoundValues, alpha: float) -> list[ClaimVerdict]:
    """Return a verdict for each claim, such that all of them are right with a probability of
    1 - `alpha` or more.

    Each of the m claims that a run can decide has an interval of confidence 1 - alpha / m
    (Bonferroni). It agrees if the interval lies in its range, is contradicted if it lies outside,
    and is undecided otherwise: a direction that is not significant never agrees. An order agrees if
    all pairs of neighbours do, and is contradicted if one pair is reversed. Raises InputError if
    the run folder is damaged.
    """
    p = one_sided_p(claims, alpha)
    return [_verdict(claim, values, p) for claim in claims]


def one_sided_p(claims: Sequence[Claim], alpha: float) -> float:
    """Return the p by which each end of a claim's interval is shown. What counts is what the
    workflow says, so that no result changes how strictly others are judged."""
    family = sum(not (claim.not_tested or claim.not_comparable) for claim in claims)
    return alpha / max(family, 1) / 2


def _verdict(claim: Claim, values: RoundValues, p: float) -> ClaimVerdict:
    if claim.not_tested:
        return ClaimVerdict(claim, "not tested", claim.not_tested)
    try:
        within = range_of(claim, values, p)
    except NotMeasured as reason:
        return ClaimVerdict(claim, "not tested", str(reason))
    except TooFew as few:
        needed = least_rounds(p)
        why = str(few) or _few(few.rounds, needed)
        return _without_estimate(claim, few.rounds, why, needed)
    return _of_range(claim, within, p)


def _without_estimate(claim: Claim, rounds: int, reason: str, needed: int) -> ClaimVerdict:
    if claim.not_comparable:
        return ClaimVerdict(claim, "not comparable", claim.not_comparable, rounds=rounds)
    return ClaimVerdict(claim, "undecided", reason, rounds=rounds, rounds_needed=needed)


def _of_range(claim: Claim, within: Range, p: float) -> ClaimVerdict:
    verdict, reason, needed = _decision(claim, within, p)
    low, high = within.inference.interval(p)
    return ClaimVerdict(
        replace(claim, above=within.above, below=within.below),
        verdict,
        reason,
        within.inference.estimate,
        low if isfinite(low) else None,
        high if isfinite(high) else None,
        within.rounds,
        needed,
        _warnings(within.rounds),
    )


def _decision(claim: Claim, within: Range, p: float) -> tuple[Verdict, str, int | None]:
    """Return the verdict, its reason, and the rounds that may decide."""
    if claim.not_comparable:
        return "not comparable", claim.not_comparable, None
    if within.holds(p):
        return "agrees", "", None
    if within.fails(p):
        return "contradicts", "", None
    rounds, fewest = within.rounds, least_rounds(p)
    if rounds < fewest:
        return "undecided", _few(rounds, fewest), fewest
    needed = within.rounds_needed(p)
    if needed is None:
        return "undecided", f"more than {MOST_ROUNDS} rounds would be needed", None
    # Estimates vary: what was measured may have been expected to decide.
    return "undecided", "an end of the range lies in the interval", max(needed, rounds + 1)


def _few(rounds: int, needed: int) -> str:
    return f"{count_text(rounds, 'valid round')}, and the number of claims needs {needed}"


def _warnings(rounds: int) -> tuple[str, ...]:
    rarest = rarest_mode(rounds)
    if rarest <= USUAL_MODE:
        return ()
    count = count_text(rounds, "round")
    return (f"{count} may miss a mode that occurs in up to {100 * rarest:.0f} % of all",)
