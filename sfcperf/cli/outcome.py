"""The result of a run: the table, the trials that do not count, the path of the report."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from sfcperf.cli.terminal.lines import say
from sfcperf.cli.terminal.progress import progress
from sfcperf.cli.terminal.streams import flush_stdout
from sfcperf.cli.terminal.text import shown
from sfcperf.control.session import Outcome
from sfcperf.counts import count_text
from sfcperf.errors import ExitCode
from sfcperf.presentation.attempts import attempts_text
from sfcperf.presentation.wording import without_figures
from sfcperf.results.attempts import attempt_counts
from sfcperf.results.noise_gate import GATE_REASON, account_text, without_replaced
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore

_FIGURES = re.compile(r" [\d.e+-]+ > [\d.e+-]+")
_FINDINGS_SHOWN = 2
_ANSWERS_SHOWN = 3
_STYLES = {"trustworthy": "bold green", "care": "bold yellow", "not": "bold red"}
TRIALS_NAMED = 5
"""Largest number of trials that a line names for one reason; the report names all."""


def executed(
    execute: Callable[..., Outcome], *, quiet: bool, command: Sequence[str] = ()
) -> ExitCode:
    """Show a run while `execute` starts or resumes it, and then its outcome; return the exit code.

    Warnings always go to stderr; with `quiet`, only the run folder's path goes to stdout.
    `command`: the command line that run.json records; empty: that of this process.
    """
    with progress(quiet=quiet) as listener:
        outcome = execute(command=command or sys.argv, listener=listener)
    if not quiet:
        print_summary(outcome.store)
        print(counts_text(outcome.trials))
        print_verdict(outcome.store)
        print_costs(outcome.store)
        print_claims(outcome.store)
        print_places(outcome.store)
        flush_stdout()
    account = outcome.store.manifest().get("noise")
    if account:
        say(account_text(account))
    # These lines come last, where users see them: what failed before a valid retry, and why the
    # exit code is not 0.
    for line in (*failures(outcome.store.trials()), *warnings(outcome.store.trials())):
        say(line)
    return outcome.exit_code


def print_summary(store: RunStore) -> None:
    """Print the table of the primary metrics."""
    from sfcperf.cli.terminal.console import console
    from sfcperf.report.summary_table import summary_notes, summary_table

    summaries = store.summaries()
    if summaries:
        console().print(summary_table(summaries))
        for note in summary_notes(summaries):
            console().print(note, markup=False, highlight=False)


def print_verdict(store: RunStore) -> None:
    """Print what the report says first: whether the numbers can be believed, and the first findings
    that a reader must know before using one."""
    from rich.text import Text

    from sfcperf.cli.terminal.console import console
    from sfcperf.report.verdict import verdict_of

    verdict = verdict_of(store.manifest(), store.trials(), store.summaries())
    out, shown = console(), verdict.findings[:_FINDINGS_SHOWN]
    out.print(Text(verdict.headline, style=_STYLES[verdict.level]))
    for finding in shown:
        out.print(Text(f"- {finding}"))
    if more := len(verdict.findings) - len(shown):
        out.print(Text(f"- and {count_text(more, 'more reason')}: see the report"))


def print_costs(store: RunStore) -> None:
    """Print which VNF costs most, in a run with the monitor pptmon; nothing in another run."""
    from sfcperf.cli.terminal.console import console
    from sfcperf.report.vnf_costs import answers

    texts = answers(store)
    out = console()
    for text in texts[:_ANSWERS_SHOWN]:
        out.print(text, markup=False, highlight=False)
    if (more := len(texts) - _ANSWERS_SHOWN) > 0:
        out.print(f"and {more} more: see the report")


def print_claims(store: RunStore) -> None:
    """Print how many claims have which verdict, and those that are contradicted; nothing in a run
    without claims."""
    from sfcperf.cli.claims import contradicted_lines
    from sfcperf.cli.claims import counts_text as claim_counts

    document = store.document(RunFile.CLAIMS)
    if document is None:
        return
    rows = document["claims"]
    for line in (claim_counts(rows), *contradicted_lines(rows)):
        print(shown(line))
    print(f"claims:  sfcperf claims {store.folder}")


def print_places(store: RunStore) -> None:
    """Print where the results are, and what to do next."""
    print(f"results: {store.folder}")
    if store.report.is_file():
        print(f"report:  {store.report}")
    print(f"next:    {_next_step(store)}")


def _next_step(store: RunStore) -> str:
    """Return the command that a user is likely to want next."""
    if store.manifest()["status"] != "complete":
        return f"sfcperf resume {store.folder}"
    if not store.report.is_file():
        return f"sfcperf report {store.folder}"
    # A run with variants was made to compare these; one without is compared with another run.
    other = "" if store.manifest().get("variants") else " OTHER-RUN"
    return f"open the report, or: sfcperf compare {store.folder}{other}"


def counts_text(trials: Mapping[str, int]) -> str:
    """Say how many trials have which status, such as `12 trials: 11 valid, 1 untrusted`."""
    parts = [f"{number} {status}" for status, number in trials.items() if number]
    return f"{count_text(sum(trials.values()), 'trial')}: {', '.join(parts) or 'none finished'}"


def failures(trials: Sequence[TrialRecord]) -> list[str]:
    """Return lines that say how many attempts failed, and why those did that were tried again with
    success: `warnings` has the reasons of failed trials. Empty if none failed."""
    counted = attempts_text(attempt_counts(trials))
    if not counted:
        return []
    # Reason without its figures -> trial -> reason of the first such attempt at the trial.
    alike: dict[str, dict[str, str]] = defaultdict(dict)
    for record in trials:
        for failed in record.failed_attempts if record.status != "failed" else ():
            alike[without_figures(failed.reason)].setdefault(record.trial_id, failed.reason)
    return [counted, *(_failure(reasons) for reasons in alike.values())]


def _failure(by_trial: Mapping[str, str]) -> str:
    """Return one line for failed attempts that have the same cause. `by_trial`: trial -> reason;
    the reasons differ only in figures."""
    reasons = list(by_trial.values())
    differ = " (figures of the first)" if len(set(reasons)) > 1 else ""
    return f"failed attempt: {_named(list(by_trial))}: {reasons[0]}{differ}"


def warnings(trials: Sequence[TrialRecord]) -> list[str]:
    """Return a line for each reason why trials do not count, with their ids. For a trial that was
    run again, only its rerun is looked at. Empty if all count."""
    alike: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for record in without_replaced(trials):
        if record.status != "valid":
            reason = "; ".join(map(_kind, record.reasons))
            alike[record.status, without_figures(reason)].append((record.trial_id, reason))
    return [_warning(status, found) for (status, _), found in alike.items()]


def _warning(status: str, found: Sequence[tuple[str, str]]) -> str:
    """Return one line for trials that do not count for the same reason. `found`: (id of a trial,
    reason); the reasons differ only in figures."""
    ids, reasons = zip(*found, strict=True)
    differ = " (figures of the first)" if len(set(reasons)) > 1 else ""
    return f"{status}: {_named(ids)}: {reasons[0]}{differ}"


def _kind(reason: str) -> str:
    """Return a reason of the noise gate without its figures, as each trial has other ones. Other
    reasons stay."""
    return _FIGURES.sub("", reason) if reason.startswith(GATE_REASON) else reason


def _named(ids: Sequence[str]) -> str:
    """Name the first of these trials, and say how many more there are."""
    shown = ", ".join(ids[:TRIALS_NAMED])
    more = len(ids) - TRIALS_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
