"""Verdict: whether the numbers of a run can be believed, in one line, and why not."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.analysis.statistics import rarest_mode
from sfcperf.counts import count_text
from sfcperf.presentation.attempts import attempts_text
from sfcperf.presentation.wording import first_names, of_all_text, without_figures
from sfcperf.report.noise import noise_findings
from sfcperf.report.time_dependence import row_name, time_dependence_findings
from sfcperf.results.attempts import AttemptCounts, attempt_counts
from sfcperf.results.noise_gate import without_replaced
from sfcperf.results.records import Summary, TrialRecord

MIN_TRIALS = 6
"""Valid trials below which a primary number says little: of five, no interval holds at 95 % without
assuming what their distribution is."""
MAX_RELATIVE_HALF_WIDTH = 0.5
"""Half-width over centre above which a primary number says little."""

_MOST_REASONS = 5


@dataclass(frozen=True)
class Verdict:
    """Whether the numbers of a run can be believed, and why not: what the report says first."""

    level: Literal["trustworthy", "care", "not"]
    headline: str
    findings: tuple[str, ...]
    """What a reader must know before using a number; empty for a trustworthy run."""
    valid: int
    untrusted: int
    failed: int
    missing: int
    """Number of planned trials that are not in the record, and will not come; 0 while the run goes
    on."""
    status: str
    """Status of the run, as in run.json."""


def verdict_of(
    manifest: Mapping[str, Any],
    trials: Sequence[TrialRecord],
    summaries: Sequence[Summary],
    *,
    is_alive: bool = False,
    time_left: str = "",
) -> Verdict:
    """Judge a run from its records alone. `is_alive`: the run is being executed now; `time_left`:
    how long it still takes, in words, or empty.

    Trustworthy means: the run is complete, every planned trial is there and valid, no attempt at
    one failed, losses are within each probe's `loss_warning`, every chain was proven to be
    traversed, every number has an interval, and each primary one rests on MIN_TRIALS
    or more, none of them an outlier, with a relative half-width of at most
    MAX_RELATIVE_HALF_WIDTH, and does not depend on time. A trial outside the noise gate that was
    run again is judged by its rerun.
    """
    attempts = attempt_counts(trials)
    trials = without_replaced(trials)
    count = Counter(record.status for record in trials)
    missing = len(_planned(manifest) - {(r.scenario_id, r.label, r.round) for r in trials})
    findings = tuple(_findings(manifest, trials, attempts, summaries, missing, is_alive, time_left))
    status = manifest["status"]
    of_all = _how_many(count["valid"], len(trials))
    rough = [row for row in summaries if _on_few_trials(row) or _wide(row)]
    level: Literal["trustworthy", "care", "not"]
    if is_alive:
        level, headline = "care", f"So far: {of_all}" if trials else "No trial is done yet"
    elif not count["valid"]:
        level, headline = "not", "No usable result: no trial is valid"
    elif findings:
        level, headline = "care", f"Read with care: {of_all}"
        if attempts.crashes:
            headline += f", but a function crashed in {count_text(attempts.crashes, 'attempt')}"
        elif rough:
            primary = sum(row.primary for row in summaries)
            headline += f", but {of_all_text(len(rough), primary, 'primary result')} imprecise"
        elif count["valid"] == len(trials):
            headline += f", but {_topic(findings[0])}"
    else:
        fewest = min((row.n for row in summaries if row.primary), default=0)
        unseen = (
            f"; slow modes in fewer than {100 * rarest_mode(fewest):.0f} % of them can be missing"
        )
        level, headline = "trustworthy", f"Trustworthy: {of_all}{unseen if fewest else ''}"
    return Verdict(
        level,
        headline,
        findings,
        count["valid"],
        count["untrusted"],
        count["failed"],
        0 if is_alive else missing,
        status,
    )


def traversal(record: TrialRecord) -> Mapping[str, Any]:
    """Return the traversal proof of a trial's deployment; empty when none was recorded."""
    found = record.deployment.get("traversal")
    return found if isinstance(found, Mapping) else {}


def _findings(
    manifest: Mapping[str, Any],
    trials: Sequence[TrialRecord],
    attempts: AttemptCounts,
    summaries: Sequence[Summary],
    missing: int,
    is_alive: bool,
    time_left: str,
) -> Iterator[str]:
    """Yield the findings, in the order in which the page lists them: the headline may name the
    first one. `trials`: without those that a rerun replaces; `attempts`: those at all trials;
    `missing`: number of planned trials that are not there."""
    status = manifest["status"]
    if is_alive:
        to_come = [f"{count_text(missing, 'planned trial')} to come"] if missing else []
        outlook = ", ".join([*to_come, *filter(None, [time_left])])
        yield (
            f"The run has not ended{f': {outlook}' if outlook else ''}. "
            "What monitors recorded is shown after its end."
        )
    elif status == "running":
        yield "The run has not ended, or was killed: `sfcperf resume` completes it."
    elif status != "complete":
        yield f"The run's status is {status}, not complete."
    if missing and not is_alive:
        yield f"{count_text(missing, 'planned trial')} {'was' if missing == 1 else 'were'} not run."
    for state in ("failed", "untrusted"):
        yield from _reasons(state, [record for record in trials if record.status == state])
    if failures := attempts_text(attempts):
        yield f"{failures}. No number contains what a failed attempt measured."
    unproven = [r.trial_id for r in trials if r.status != "failed" and not _proven(r)]
    if unproven:
        yield (
            f"There is no proof for {count_text(len(unproven), 'trial')} that packets crossed the "
            f"chain in order; the first is {unproven[0]}."
        )
    if not is_alive:
        yield from _rough_numbers(summaries)
    yield from _losses(summaries)
    yield from _outliers(summaries)
    yield from noise_findings(manifest, trials)
    yield from time_dependence_findings(summaries)
    yield from _bare(summaries)
    if trials and not summaries:
        yield "The run was not analysed: it has no summaries."
    yield from manifest["problems"]


def _bare(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a sentence about results without an interval, with the most frequent reason."""
    reasons = Counter(row.estimate().withheld for row in summaries)
    del reasons[""]
    if reasons:
        (reason, _) = reasons.most_common(1)[0]
        yield (
            f"{of_all_text(reasons.total(), len(summaries), 'result')} without an interval, "
            f"{'most of them ' if len(reasons) > 1 else ''}because {reason}."
        )


def _rough_numbers(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield sentences about primary numbers with too few trials or too wide an interval, and what
    would help."""
    few = [f"{row_name(row)} n = {row.n}" for row in summaries if _on_few_trials(row)]
    if few:
        enough = any(row.planned >= MIN_TRIALS for row in summaries if _on_few_trials(row))
        advice = (
            "More rounds make up for trials that do not count."
            if enough
            else f"Plan {MIN_TRIALS} rounds or more: fewer have no interval of the median at 95 %."
        )
        yield f"Fewer than {MIN_TRIALS} valid trials: {first_names(few)}. {advice}"
    wide = [f"{row_name(row)} {_relative(row)}" for row in summaries if _wide(row)]
    if wide:
        yield (
            f"The interval is wider than ±{100 * MAX_RELATIVE_HALF_WIDTH:g} % of the number: "
            f"{first_names(wide)}. More rounds, or longer trials, narrow it."
        )


def _losses(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a sentence about primary results with losses, which their numbers do not show."""
    found = [
        f"{row_name(row)} {100 * (row.loss_ratio or 0):.2g} %"
        for row in summaries
        if row.primary and row.is_lossy
    ]
    if found:
        yield (
            f"Packets or requests did not come through, or were sent again: {first_names(found)}. "
            "The warning of each row says what its number describes then."
        )


def _outliers(summaries: Sequence[Summary]) -> Iterator[str]:
    """Yield a sentence about outliers. They may be a second mode: few trials cannot tell whether
    they are chance."""
    found = [
        f"{row_name(row)} {len(row.outliers)} of {row.n}"
        for row in summaries
        if row.primary and row.outliers
    ]
    if found:
        yield (
            f"{_count_of_outliers(summaries)}, not excluded: {first_names(found)}. A second mode "
            "looks like this; the median hides it, and the mean depends on how often it was hit."
        )


def _count_of_outliers(summaries: Sequence[Summary]) -> str:
    number = sum(len(row.outliers) for row in summaries if row.primary)
    return "1 trial is an outlier" if number == 1 else f"{number} trials are outliers"


def _on_few_trials(row: Summary) -> bool:
    return row.primary and row.n < MIN_TRIALS


def _wide(row: Summary) -> bool:
    """Whether a primary number has too wide an interval. A row on few trials, or without an
    interval, is reported for that, and does not count here."""
    if not row.primary or row.n < MIN_TRIALS or row.estimate().withheld:
        return False
    # None: the centre is around 0, so that any interval is wide.
    return row.relative_half_width is None or row.relative_half_width > MAX_RELATIVE_HALF_WIDTH


def _relative(row: Summary) -> str:
    """Return the relative half-width of a row with an interval: `±30 %`, or that it is around 0."""
    ratio = row.relative_half_width
    return "around 0" if ratio is None else f"±{100 * ratio:.0f} %"


def _how_many(valid: int, trials: int) -> str:
    return f"{of_all_text(valid, trials, 'trial')} valid"


def _topic(finding: str) -> str:
    """Return what a finding is about: its first clause, to be continued within a sentence."""
    clause = re.split(r"[,:;.] | \(|\.$", finding, maxsplit=1)[0].strip()
    # Within a sentence, only an abbreviation keeps its capital letters.
    return clause if clause[:2].isupper() else clause[:1].lower() + clause[1:]


def _reasons(state: str, records: Sequence[TrialRecord]) -> Iterator[str]:
    """Yield a sentence that says how many trials are in this state, with the most frequent
    reasons."""
    if not records:
        return
    alike: dict[str, Counter[str]] = defaultdict(Counter)
    for reason in (reason for record in records for reason in record.reasons):
        alike[without_figures(reason)][reason] += 1
    groups = sorted(alike.values(), key=Counter.total, reverse=True)
    most = "; ".join(map(_reason, groups[:_MOST_REASONS]))
    more = " ..." if len(groups) > _MOST_REASONS else ""
    yield f"{count_text(len(records), 'trial')} {state}: {most or 'no reason recorded'}{more}"


def _reason(alike: Counter[str]) -> str:
    """Return the most frequent of several reasons that differ only in figures, and how many others
    there are."""
    [(reason, count)] = alike.most_common(1)
    others = alike.total() - count
    return f"{reason} (in {others} with other figures)" if others else reason


def _planned(manifest: Mapping[str, Any]) -> set[tuple[str, str, int]]:
    """Return (scenario, probe label, round) of each trial that the design asks for; rounds that
    `stop_when` may add are not among them."""
    return {
        (scenario, probe["label"], round_number)
        for probe in manifest["probes"]
        for scenario in probe["scenarios"]
        for round_number in range(1, manifest["design"]["rounds"] + 1)
    }


def _proven(record: TrialRecord) -> bool:
    return bool(traversal(record).get("proven"))
