"""Options that the verbs of packages share, and what they print."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sfcperf.package.judge import Judgement, Verdict
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
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="N",
        min=1,
        help="Reject a package that would unpack to more bytes [default: 16 GiB].",
    ),
]

FINDINGS = 10
"""Per check; --json names more."""
DIFFERENCES = 12
_MARKS = {"ok": "ok", "failed": "FAILED", "absent": "absent", "not checked": "not checked"}


def size_limit(given: int | None) -> int:
    """The limit of `--max-bytes`, bytes."""
    from sfcperf.package.layout import MAX_BYTES

    return MAX_BYTES if given is None else given


def print_verification(verification: Verification) -> None:
    """A line per check, its findings below."""
    from sfcperf.cli.text import shown

    for check in verification.checks:
        print(f"{check.name + ':':<11} {_MARKS[check.state]}: {shown(check.detail)}")
        for finding in check.findings[:FINDINGS]:
            print(f"  {shown(finding)}")
        if len(check.findings) > FINDINGS:
            print(f"  and more; --json lists {len(check.findings)}")
    for warning in verification.warnings:
        print(f"the package says: {shown(warning)}")


def print_verdict(verdict: Verdict) -> None:
    """The table, what would decide, and how the circumstances of the two runs differ."""
    from rich.table import Table

    from sfcperf.cli.console import console
    from sfcperf.cli.text import count_text, levels_text, shown

    table = Table(box=None, pad_edge=False)
    table.add_column("scenario", overflow="fold", min_width=20)
    table.add_column("metric", overflow="fold")
    for name in ("packaged", "here", "difference", "margin", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for j in verdict.judgements:
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
    for method in dict.fromkeys(j.method for j in verdict.judgements if j.method):
        print(f"difference: {method}")
    for reason, judgements in _by_reason(verdict).items():
        print(f"{count_text(len(judgements), 'metric')} {shown(reason)}")
    needed = [j.rounds_needed for j in verdict.judgements if j.rounds_needed is not None]
    if needed:
        metrics = count_text(len(needed), "undecided metric")
        print(f"about {max(needed)} rounds on both sides would decide {metrics}")
    _print_differences(verdict)
    counts = verdict.counts()
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))


def _by_reason(verdict: Verdict) -> dict[str, list[Judgement]]:
    found: dict[str, list[Judgement]] = {}
    for judgement in verdict.judgements:
        if judgement.outcome != "reproduced":
            found.setdefault(f"{judgement.outcome}: {judgement.reason}", []).append(judgement)
    return found


def _print_differences(verdict: Verdict) -> None:
    from sfcperf.cli.text import shown

    differences = verdict.comparison.differences
    for difference in differences[:DIFFERENCES]:
        text = f"{difference.kind} {difference.name}: packaged {difference.baseline}, "
        print("differs: " + shown(f"{text}here {difference.value}"))
    if len(differences) > DIFFERENCES:
        print(f"and {len(differences) - DIFFERENCES} more differences, in replay.json")
    for warning in verdict.comparison.warnings:
        print(f"note: {shown(warning)}")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _difference(judgement: Judgement) -> str:
    if judgement.relative is None:
        return "-"
    text = f"{100 * judgement.relative:+.1f} %"
    if judgement.relative_low is None or judgement.relative_high is None:
        return text
    return f"{text} ({100 * judgement.relative_low:+.3g}, {100 * judgement.relative_high:+.3g})"


def _margin(judgement: Judgement) -> str:
    if judgement.margin is None:
        return "none"
    if judgement.margin_absolute:
        return f"{judgement.margin:.3g}"
    return f"{100 * judgement.margin:.3g} %"
