"""Claims of the workflow, with the verdicts of this run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfcperf.analysis.claims.analysis import claims_in
from sfcperf.analysis.claims.verdicts import Verdict
from sfcperf.presentation import claim_texts
from sfcperf.presentation.claim_needs import needs_text
from sfcperf.presentation.claim_texts import ClaimRow
from sfcperf.presentation.forest import Mark
from sfcperf.results.store import RunFile, RunStore

_MARGIN = 8.0
"""Per cent of a drawing's width on either side of what must be seen."""


@dataclass(frozen=True)
class ClaimView:
    """A row of the table, with the places that the template cannot compute."""

    row: ClaimRow
    mark: Mark | None
    """Drawing of the interval against the range; None without an estimate or a range."""
    zero: tuple[tuple[float, str], ...]
    """Place and text of the tick at 0; empty if 0 is not in the drawing."""
    details: tuple[tuple[str, str], ...]
    """Name and text of what has no column."""


@dataclass(frozen=True)
class ClaimsSection:
    """The claims of a run."""

    claims: tuple[ClaimView, ...]
    """In the order of the workflow."""
    counts: tuple[tuple[Verdict, int, str], ...]
    """Verdict, number of claims, and the words after that number."""
    confidence: str
    """Probability with which all verdicts hold together: `95 %`."""


def claims_section(run: RunStore) -> ClaimsSection | None:
    """Return the claims of a run; None if its workflow has none, or it was not analysed. Raises
    InputError if claims.json or the workflow is damaged."""
    document = run.document(RunFile.CLAIMS)
    if document is None:
        return None
    rows = document["claims"]
    measured = {claim.id: needs_text(claim) for claim in claims_in(run)}
    return ClaimsSection(
        tuple(_view(row, measured.get(row["id"], "")) for row in rows),
        tuple(claim_texts.verdict_counts(rows)),
        f"{100 * document['confidence']:g} %",
    )


def _view(row: ClaimRow, measured: str) -> ClaimView:
    """`measured`: the quantity in words."""
    least = "; shown is the least step" if row["kind"] == "order" and measured else ""
    details = (
        ("Claim", row["id"]),
        ("Measured", measured + least),
        ("Conditions", row["conditions"]),
        ("Published value", "read off a plot" if row["digitised"] else ""),
        ("Range", row["margin"]),
    )
    mark, zero = _drawing(row)
    return ClaimView(row, mark, zero, tuple((name, text) for name, text in details if text))


def _drawing(row: ClaimRow) -> tuple[Mark | None, tuple[tuple[float, str], ...]]:
    """Return what is drawn of a claim, on an axis of its own, and the tick at 0. The axis has room
    for the interval, the ends of the range, and the published value."""
    above, below, published = row["above"], row["below"], row["published"]
    if row["estimate"] is None or (above is None and below is None):
        return None, ()
    stated = published if isinstance(published, int | float) else None
    seen = [row["estimate"], row["low"], row["high"], above, below, stated]
    x = _axis([value for value in seen if value is not None])
    start = 0.0 if above is None else x(above)
    end = 100.0 if below is None else x(below)
    mark = Mark(
        x(row["estimate"]),
        0.0 if row["low"] is None else x(row["low"]),
        100.0 if row["high"] is None else x(row["high"]),
        row["low"] is None,
        row["high"] is None,
        (start, round(end - start, 2)),
        None if stated is None else (x(stated),) * 3,
    )
    zero = x(0.0)
    return mark, ((zero, "0"),) if 0 <= zero <= 100 else ()


def _axis(values: Sequence[float]) -> Callable[[float], float]:
    """Return the function from a value to its place in per cent of the width."""
    low, high = min(values), max(values)
    per_unit = (100 - 2 * _MARGIN) / (high - low) if high > low else 0.0

    def place(value: float) -> float:
        return round(_MARGIN + (value - low) * per_unit, 2) if per_unit else 50.0

    return place
