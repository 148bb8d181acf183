"""Claims and their verdicts on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfcperf.cli.terminal.text import shown
from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.presentation.claim_texts import (
    MARKS,
    ClaimRow,
    estimate_text,
    interval_text,
    measured_text,
    needed_text,
    published_text,
    range_text,
    verdict_counts,
)
from sfcperf.workflow.document import choices

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from sfcperf.analysis.claims.verdicts import Verdict
    from sfcperf.results.store import RunStore
    from sfcperf.workflow.model import Workflow

FAILING: Mapping[str, Verdict] = {"contradicted": "contradicts", "undecided": "undecided"}
"""Word of `--fail-on` -> the verdict that it names."""
_STYLES = {"agrees": "green", "contradicts": "bold red", "undecided": "yellow"}
_COLUMNS: Mapping[str, Callable[[ClaimRow], str]] = {
    "published": published_text,
    "holds if": range_text,
    "estimate": estimate_text,
    "interval": interval_text,
    "rounds": lambda row: str(row["rounds"]),
}
"""Header of a column -> its text, after id and verdict."""


def failing(arguments: Sequence[str]) -> dict[str, Verdict]:
    """Return the words that the arguments of `--fail-on` name, with their verdicts; an argument may
    be several words, separated by commas. Raises InputError for an unknown word."""
    words = [word.strip() for text in arguments for word in text.split(",")]
    for word in words:
        if word not in FAILING:
            raise InputError(
                f"unknown verdict {word!r}", where="--fail-on", **choices(word, FAILING)
            )
    return {word: FAILING[word] for word in words}


def check_ids(ids: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError if `--id` names a claim that is not among the known ones."""
    for name in ids:
        if name not in known:
            raise InputError(f"there is no claim {name!r}", where="--id", **choices(name, known))


def print_claims(document: Mapping[str, Any]) -> None:
    """Print the claims of a run, as claims.json has them: a table, why verdicts are what they are,
    and how many claims have which verdict."""
    from sfcperf.cli.terminal.console import console

    rows = document["claims"]
    console().print(_table(rows))
    for line in _remarks(rows):
        print(shown(line))
    percent = f"{100 * document['confidence']:g} %"
    print(f"{counts_text(rows)} (with {percent}, all verdicts are right)")


def counts_text(rows: Sequence[ClaimRow]) -> str:
    """Say how many claims have which verdict: `5 claims: 2 agree, 3 undecided`."""
    parts = [f"{number} {words}" for _, number, words in verdict_counts(rows) if number]
    return f"{count_text(len(rows), 'claim')}: {', '.join(parts)}"


def contradicted_lines(rows: Sequence[ClaimRow]) -> list[str]:
    """Return a line for each claim that is contradicted: id and text."""
    return [
        f"contradicted: {row['id']}: {row['text']}"
        for row in rows
        if row["verdict"] == "contradicts"
    ]


def print_both(packaged: Sequence[RunStore], here: Sequence[RunStore]) -> None:
    """Print the claims of packaged runs beside those of their replays, run by run: both verdicts,
    made anew, and both estimates. Nothing if a packaged run has no claims."""
    from rich.text import Text

    from sfcperf.analysis.claims.analysis import claims_document
    from sfcperf.cli.terminal.console import console

    for pair in zip(packaged, here, strict=True):
        before, now = (claims_document(run)["claims"] for run in pair)
        if not before:
            continue
        table = _empty_table("claim", "packaged", "here")
        for name in ("packaged", "here"):
            table.add_column(f"estimate {name}", justify="right", overflow="fold")
        again = {row["id"]: row for row in now}
        for row in before:
            # An option may have taken the claim from the replay.
            rows = (row, again.get(row["id"]))
            cells = [Text("–") if each is None else _verdict(each) for each in rows]
            cells += [Text("–" if each is None else measured_text(each)) for each in rows]
            table.add_row(Text(row["id"]), *cells)
        console().print(table)


def print_claims_of_workflow(workflow: Workflow, ids: Sequence[str]) -> None:
    """Print what a workflow claims, what tests it, and how many rounds verdicts need."""
    from sfcperf.analysis.claims.analysis import claim_row
    from sfcperf.analysis.claims.verdicts import ClaimVerdict
    from sfcperf.presentation.claim_needs import needs_text, rounds_text

    for claim in workflow.claims:
        if ids and claim.id not in ids:
            continue
        row = claim_row(ClaimVerdict(claim, "not tested"))
        lines = {
            "source": claim.source,
            "published": "" if claim.published is None else published_text(row),
            "conditions": claim.conditions,
            "measured": needs_text(claim),
            "holds if": range_text(row),
            "range": claim.margin,
            "not comparable": claim.not_comparable,
            "not tested": claim.not_tested,
        }
        print(shown(f"{claim.id}: {claim.text}"))
        for name, text in lines.items():
            if text:
                print(shown(f"  {name}: {text}"))
    print(rounds_text(workflow))


def powerless(run: RunStore, rows: Sequence[ClaimRow]) -> str | None:
    """Say why some claim could not have been contradicted, whatever was measured; None if all
    could, or if they have a verdict."""
    from sfcperf.analysis.claims.analysis import claims_in, rounds_for_verdicts
    from sfcperf.analysis.planned import rules_of

    needed = rounds_for_verdicts(claims_in(run), rules_of(run), to_contradict=True)
    if all(row["id"] not in needed or row["verdict"] == "not tested" for row in rows):
        return "no run of this workflow can contradict these claims"
    few = [
        row for row in rows if row["verdict"] == "undecided" and row["rounds"] < needed[row["id"]]
    ]
    if not few:
        return None
    most = max(needed[row["id"]] for row in few)
    return (
        f"{count_text(len(few), 'claim')} of {len(rows)} cannot be contradicted with so few "
        f"rounds; use {most} (--set design.rounds={most})"
    )


def _table(rows: Sequence[ClaimRow]) -> Table:
    from rich.text import Text

    table = _empty_table("claim", "verdict")
    for header in _COLUMNS:
        table.add_column(header, justify="right", overflow="fold")
    for row in rows:
        cells = [Text(text(row)) for text in _COLUMNS.values()]
        table.add_row(Text(row["id"]), _verdict(row), *cells)
    return table


def _empty_table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _verdict(row: ClaimRow) -> Text:
    from rich.text import Text

    verdict = row["verdict"]
    return Text(f"{MARKS[verdict]} {verdict}", style=_STYLES.get(verdict, ""))


def _remarks(rows: Sequence[ClaimRow]) -> list[str]:
    """Return the claims that are contradicted, why others are undecided, not comparable or not
    tested, and warnings, each once."""
    lines = contradicted_lines(rows)
    for verdict in ("undecided", "not comparable", "not tested"):
        lines += [_reason(row) for row in rows if row["verdict"] == verdict]
    return lines + [
        f"note: {text}" for text in dict.fromkeys(w for r in rows for w in r["warnings"])
    ]


def _reason(row: ClaimRow) -> str:
    needed = needed_text(row)
    return f"{row['verdict']}: {row['id']}: {row['reason']}" + (f"; {needed}" if needed else "")
