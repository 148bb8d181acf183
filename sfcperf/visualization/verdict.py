"""Verdict: whether the numbers of a run can be believed, in one line, and why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfcperf.results.records import Summary, TrialRecord

_MOST_REASONS = 5


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
    proven to be traversed, and every number has an interval.
    """
    count = Counter(record.status for record in trials)
    missing = len(_planned(manifest) - {(r.scenario_id, r.label, r.round) for r in trials})
    findings = tuple(_findings(manifest, trials, summaries, missing))
    status = str(manifest.get("status", "unknown"))
    of_all = f"{count['valid']} of {len(trials)} trials are valid"
    level: Literal["trustworthy", "care", "not"]
    if not count["valid"]:
        level, headline = "not", "Nothing to trust: no trial is valid"
    elif findings:
        level, headline = "care", f"Read with care: {of_all}"
    else:
        level, headline = "trustworthy", f"Trustworthy: all {len(trials)} trials are valid"
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
    bare = sum(row.ci_low is None for row in summaries)
    if bare:
        yield f"{bare} of {len(summaries)} results have no interval: too few valid trials."
    if trials and not summaries:
        yield "The run was not analysed: there are no summaries."
    yield from (str(problem) for problem in manifest.get("problems") or ())


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
