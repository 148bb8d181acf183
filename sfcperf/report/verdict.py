"""Verdict: whether the numbers of a run can be believed, in one line, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.figures.plot import scenario_text
from sfcperf.presentation.units import metric_title
from sfcperf.report.noise import noise_findings
from sfcperf.report.time_dependence import dependent_numbers
from sfcperf.results.noise_gate import standing
from sfcperf.results.records import Summary, TrialRecord

LEAST_TRIALS = 3
"""Valid trials below which a primary number says little: of two, the t quantile is 12.7 at 95 %."""
WIDEST_RELATIVE_HALF_WIDTH = 0.5
"""Half-width over mean above which a primary number says little."""

_MOST_REASONS = 5
_MOST_NAMED = 4


@dataclass(frozen=True)
class Verdict:
    """What the report says first."""

    level: Literal["trustworthy", "care", "not"]
    headline: str
    findings: tuple[str, ...]
    """What a reader must know before using a number; empty for a trustworthy run."""
    valid: int
    untrusted: int
    failed: int
    missing: int
    """Trials of the planned rounds that are not in the record."""
    status: str
    """Of the run."""


def judge(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord], summaries: Sequence[Summary]
) -> Verdict:
    """The verdict on a run, from its records alone.

    Trustworthy means: the run is complete, every planned trial is there and valid, every chain was
    proven to be traversed, every number has an interval, and each primary one rests on LEAST_TRIALS
    or more, with a relative half-width of at most WIDEST_RELATIVE_HALF_WIDTH, and does not depend
    on time. A trial outside the noise gate that was run again is judged by its rerun.
    """
    trials = standing(trials)
    count = Counter(record.status for record in trials)
    missing = len(_planned(manifest) - {(r.scenario_id, r.label, r.round) for r in trials})
    findings = tuple(_findings(manifest, trials, summaries, missing))
    status = str(manifest.get("status", "unknown"))
    of_all = _how_many(count["valid"], len(trials))
    rough = [row for row in summaries if _on_few_trials(row) or _wide(row)]
    level: Literal["trustworthy", "care", "not"]
    if not count["valid"]:
        level, headline = "not", "Nothing to trust: no trial is valid"
    elif findings:
        level, headline = "care", f"Read with care: {of_all}"
        if rough:
            primary = sum(row.primary for row in summaries)
            headline += f", but primary numbers are only roughly known: {len(rough)} of {primary}"
    else:
        level, headline = "trustworthy", f"Trustworthy: {of_all}"
    return Verdict(
        level,
        headline,
        findings,
        count["valid"],
        count["untrusted"],
        count["failed"],
        missing,
        status,
    )


def traversal(record: TrialRecord) -> Mapping[str, Any]:
    """The traversal proof of a trial's deployment; empty when none was recorded."""
    found = record.deployment.get("traversal")
    return found if isinstance(found, Mapping) else {}


def _findings(
    manifest: Mapping[str, Any],
    trials: Sequence[TrialRecord],
    summaries: Sequence[Summary],
    missing: int,
) -> Iterator[str]:
    status = str(manifest.get("status", "unknown"))
    if status == "running":
        yield "The run has not ended, or was killed: `sfcperf resume` completes it."
    elif status != "complete":
        yield f"The run's status is {status}, not complete."
    if missing:
        yield f"{missing} planned trials were not run."
    for state in ("failed", "untrusted"):
        yield from _reasons(state, [record for record in trials if record.status == state])
    unproven = [r.trial_id for r in trials if r.status != "failed" and not _proven(r)]
    if unproven:
        yield (
            f"{len(unproven)} trials have no proof that packets crossed the chain in order, "
            f"the first is {unproven[0]}."
        )
    yield from _rough_numbers(summaries)
    yield from noise_findings(manifest, trials)
    yield from dependent_numbers(summaries)
    bare = sum(row.ci_low is None for row in summaries)
    if bare:
        yield f"{bare} of {len(summaries)} results have no interval: too few valid trials."
    if trials and not summaries:
        yield "The run was not analysed: there are no summaries."
    yield from (str(problem) for problem in manifest.get("problems") or ())


def _rough_numbers(summaries: Sequence[Summary]) -> Iterator[str]:
    """Primary numbers of which too little is known, and what would help."""
    few = [f"{_name(row)} n = {row.n}" for row in summaries if _on_few_trials(row)]
    if few:
        yield (
            f"Fewer than {LEAST_TRIALS} valid trials: {_some(few)}. "
            f"Plan {LEAST_TRIALS} rounds or more."
        )
    wide = [f"{_name(row)} {_relative(row)}" for row in summaries if _wide(row)]
    if wide:
        yield (
            f"The interval reaches further than {100 * WIDEST_RELATIVE_HALF_WIDTH:g} % of the mean "
            f"to either side: {_some(wide)}. More rounds, or longer trials, narrow it."
        )


def _on_few_trials(row: Summary) -> bool:
    return row.primary and row.n < LEAST_TRIALS


def _wide(row: Summary) -> bool:
    if not row.primary or row.n < LEAST_TRIALS:
        return False
    return row.relative_half_width is None or row.relative_half_width > WIDEST_RELATIVE_HALF_WIDTH


def _name(row: Summary) -> str:
    """`tcp rate (chain_length = 1)`."""
    scenario = f" ({scenario_text(row.scenario)})" if row.scenario else ""
    return f"{row.label} {metric_title(row.metric)}{scenario}"


def _relative(row: Summary) -> str:
    ratio = row.relative_half_width
    return "around 0" if ratio is None else f"±{100 * ratio:.0f} %"


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _how_many(valid: int, trials: int) -> str:
    return f"{f'all {trials}' if valid == trials else f'{valid} of {trials}'} trials are valid"


def _reasons(state: str, records: Sequence[TrialRecord]) -> Iterator[str]:
    """How many trials are in this state, and the most frequent reasons."""
    if not records:
        return
    reasons = Counter(reason for record in records for reason in record.reasons)
    most = "; ".join(reason for reason, _ in reasons.most_common(_MOST_REASONS))
    more = " ..." if len(reasons) > _MOST_REASONS else ""
    noun = "trial" if len(records) == 1 else "trials"
    yield f"{len(records)} {noun} {state}: {most or 'no reason recorded'}{more}"


def _planned(manifest: Mapping[str, Any]) -> set[tuple[str, str, int]]:
    """(scenario, probe label, round) of the rounds that the design asks for at least."""
    rounds = (manifest.get("design") or {}).get("rounds") or 0
    return {
        (scenario, probe["label"], round_number)
        for probe in manifest.get("probes") or ()
        for scenario in probe.get("scenarios", ())
        for round_number in range(1, rounds + 1)
    }


def _proven(record: TrialRecord) -> bool:
    return bool(traversal(record).get("proven"))
