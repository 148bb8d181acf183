"""Options that the verbs of packages share, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.counts import count_text

if TYPE_CHECKING:
    from sfcperf.package.judge import Evaluation, Verdict
    from sfcperf.package.verify import Verification

PackageArgument = Annotated[
    Path, typer.Argument(metavar="PACKAGE", help="Package (.zip).", show_default=False)
]

AllowedSignersOption = Annotated[
    Path | None,
    typer.Option(
        "--allowed-signers",
        metavar="FILE",
        help="SSH keys of which one must have signed (ssh-keygen(1), ALLOWED SIGNERS).",
    ),
]

PublicKeyOption = Annotated[
    str | None,
    typer.Option(
        "--public-key",
        metavar="KEY",
        help="Minisign key, or its file, that must have signed the package.",
    ),
]

MaxBytesOption = Annotated[
    int,
    typer.Option(
        "--max-bytes",
        metavar="N",
        min=1,
        help="Reject a package that would unpack to more bytes [default: 16 GiB].",
        show_default=False,
    ),
]

FINDINGS = 10
"""Largest number of findings that are printed for a check that is not ok; --json names more."""
DIFFERENCES = 12
"""Largest number of differences in the circumstances that are printed."""
_MARKS = {"ok": "ok", "failed": "FAILED", "absent": "absent", "not checked": "not checked"}


def print_verification(verification: Verification) -> None:
    """Print a line for each check, with its findings below."""
    from sfcperf.cli.terminal.text import shown

    for check in verification.checks:
        print(f"{check.name + ':':<11} {_MARKS[check.state]}: {shown(check.detail)}")
        # What a check that is ok found is all of interest, such as each claim with its verdict.
        most = len(check.findings) if check.state == "ok" else FINDINGS
        for finding in check.findings[:most]:
            print(f"  {shown(finding)}")
        if len(check.findings) > most:
            print(f"  and more; --json lists {len(check.findings)}")
    for warning in verification.warnings:
        print(f"the package says: {shown(warning)}")


def print_verdict(verdict: Verdict) -> None:
    """Print the table of metrics, how many rounds or runs would decide, and how the circumstances
    of packaged run and replay differ."""
    from rich.table import Table

    from sfcperf.cli.terminal.console import console
    from sfcperf.cli.terminal.text import levels_text, shown

    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", overflow="fold", min_width=20)
    table.add_column("metric", overflow="fold")
    for name in ("packaged", "here", "difference", "margin", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for j in verdict.evaluations:
        table.add_row(
            shown(levels_text(j.scenario)),
            shown(f"{j.label} {j.metric}".strip() + (f" [{j.unit}]" if j.unit else "")),
            _number(j.packaged),
            _number(j.here),
            _difference(j),
            _margin(j),
            f"{j.n_packaged} / {j.n_here}",
            j.outcome,
        )
    console().print(table)
    print("packaged, here: medians of the trials; n: numbers of trials")
    for method in dict.fromkeys(j.method for j in verdict.evaluations if j.method):
        print(f"difference: {method}")
    for reason, evaluations in _by_reason(verdict).items():
        print(f"{count_text(len(evaluations), 'metric')} {shown(reason)}")
    needed = [j.rounds_needed for j in verdict.evaluations if j.rounds_needed is not None]
    if needed:
        metrics = count_text(len(needed), "undecided metric")
        rounds = count_text(max(needed), "round")
        print(f"about {rounds} here would decide {metrics} (--set design.rounds=N)")
    of_runs = [j.runs_needed for j in verdict.evaluations if j.runs_needed is not None]
    if of_runs:
        metrics = count_text(len(of_runs), "undecided metric")
        print(f"about {count_text(max(of_runs), 'run')} here would decide {metrics}")
    _print_differences(verdict)
    counts = verdict.counts()
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))


def _by_reason(verdict: Verdict) -> dict[str, list[Evaluation]]:
    """Group the metrics that are not reproduced by outcome and reason: `OUTCOME: REASON` -> their
    evaluations."""
    groups: dict[str, list[Evaluation]] = {}
    for evaluation in verdict.evaluations:
        if evaluation.outcome != "reproduced":
            groups.setdefault(f"{evaluation.outcome}: {evaluation.reason}", []).append(evaluation)
    return groups


def _print_differences(verdict: Verdict) -> None:
    """Print how the circumstances of packaged run and replay differ, and warnings."""
    from sfcperf.cli.terminal.text import shown

    differences = verdict.comparison.differences
    for difference in differences[:DIFFERENCES]:
        text = f"{difference.kind} {difference.name}: packaged {difference.baseline}, "
        print("differs: " + shown(f"{text}here {difference.value}"))
    if len(differences) > DIFFERENCES:
        more = count_text(len(differences) - DIFFERENCES, "more difference")
        print(f"and {more}, in replay.json")
    for warning in verdict.comparison.warnings:
        print(f"note: {shown(warning)}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _difference(evaluation: Evaluation) -> str:
    """Return the relative difference with its interval, as far as they are known."""
    if evaluation.relative is None:
        return "-"
    text = f"{100 * evaluation.relative:+.1f} %"
    if evaluation.relative_low is None or evaluation.relative_high is None:
        return text
    return f"{text} ({100 * evaluation.relative_low:+.3g}, {100 * evaluation.relative_high:+.3g})"


def _margin(evaluation: Evaluation) -> str:
    """Return the margin in the metric's unit, or in percent of the packaged value."""
    if evaluation.margin is None:
        return "none"
    if evaluation.margin_absolute:
        return f"{evaluation.margin:.3g}"
    return f"{100 * evaluation.margin:.3g} %"
