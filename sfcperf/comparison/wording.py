"""A comparison in words, the same in terminal and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10

from sfcperf.analysis.comparison import Comparison, Estimate, Row
from sfcperf.presentation import units
from sfcperf.presentation.wording import count_text, shortened

MARKS = {"better": "▲", "worse": "▼", "different": "≠", "equivalent": "=", "undecided": "?"}
"""So that colour is never the only cue."""


def counts_text(comparison: Comparison) -> str:
    """`12 rows: 1 better, 2 worse, 9 undecided`."""
    found = [f"{number} {name}" for name, number in comparison.counts().items() if number]
    return f"{scope(comparison)}{count_text(len(comparison.rows), 'row')}: {', '.join(found)}"


def scope(comparison: Comparison) -> str:
    """What the verdicts are about: rounds repeat the trial, not the run, so two runs do not tell
    how runs of one thing differ. Empty for variants, which share a run."""
    if all(row.paired for row in comparison.rows):
        return ""
    runs = 1 + len(comparison.candidates)
    return f"within these {'two' if runs == 2 else runs} runs, "


def count_of(number: int, total: int) -> str:
    """`3 of 9 rows are`."""
    if number == total:
        return "all rows are" if total > 1 else "the row is"
    return f"{number} of {total} are"


def percent(value: float | None, half: float | None = None, *, sign: bool = True) -> str:
    """A ratio as per cent, with digits as the half-width (a ratio) justifies."""
    if value is None:
        return "–"
    text = units.number(100 * value, None if half is None else 100 * half)
    if not half:
        text = _three_digits(100 * value)
    plus = "+" if sign and value > 0 and not text.startswith("-") else ""
    return f"{plus}{text}"


def relative_text(estimate: Estimate | None) -> str:
    """`+3.2 %`."""
    if estimate is None:
        return "–"
    return f"{percent(estimate.value, units.half_width(estimate.low, estimate.high))} %"


def interval_text(estimate: Estimate | None) -> str:
    """`[+1.1, +5.3]`, per cent."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "–"
    half = units.half_width(estimate.low, estimate.high)
    return f"[{percent(estimate.low, half)}, {percent(estimate.high, half)}]"


def p_text(p: float | None) -> str:
    """Two digits; `<0.0001` below."""
    if p is None:
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def margin_text(row: Row) -> str:
    """`5 %`, or the margin in the metric's unit."""
    if row.margin is None:
        return "none"
    if row.margin_absolute:
        return units.Scale(1.0, "" if row.unit == "1" else row.unit).with_unit(f"{row.margin:g}")
    return f"{100 * row.margin:g} %"


def reasons(row: Row) -> tuple[str, ...]:
    """Why an undecided row is not equivalent although its interval may look so."""
    return row.withheld if row.verdict == "undecided" else ()


def needed_text(row: Row) -> str:
    """`12 ≠`: trials that would decide, and what they would show."""
    if row.verdict != "undecided" or row.n_needed is None:
        return ""
    what = "different" if row.n_needed_for == "difference" else "equivalent"
    return f"{row.n_needed} {MARKS[what]}"


TRIALS_NEEDED = (
    "n to decide: trials per side (paired: rounds) that would show a difference (≠) or equivalence "
    "(=) in 4 of 5 cases, if what was observed is true"
)


def median_text(value: float | None, scale: units.Scale, other: float | None) -> str:
    """A median to the digits that tell it from the other side's."""
    if value is None:
        return "–"
    apart = abs(value - other) if other is not None else 0.0
    return scale.with_unit(scale.number(value, max(apart, abs(value) * 1e-3) or None))


def scale_of(row: Row, rows: Sequence[Row]) -> units.Scale:
    """One unit for all rows of a metric."""
    same = [r for r in rows if (r.label, r.metric) == (row.label, row.metric)]
    values = [v for r in same for v in (r.a.median, r.b.median) if v is not None]
    return units.scale_for(values, row.unit, row.metric)


def method_text(comparison: Comparison) -> str:
    """How verdicts were made."""
    options = comparison.options
    names = sorted({row.test for row in comparison.rows if row.test})
    families = sorted({row.family for row in comparison.rows if row.family}, reverse=True)
    holm = " and ".join(str(number) for number in families)
    corrected = f"Holm over {holm} rows" if holm else "no correction for multiple tests"
    return (
        f"{' and '.join(names) or 'no test'}, {corrected}, alpha "
        f"{options.alpha:g}; equivalence by two one-sided tests of the shift and of the ratio of "
        f"means ({100 * (1 - 2 * options.alpha):g} % intervals), which must not miss a mode in "
        f"{100 * options.rarest:g} % of the trials; "
        f"{100 * (1 - options.alpha):g} % intervals"
    )


def caveat(comparison: Comparison) -> str | None:
    """The limits of a comparison of separate runs; None when all rows are paired."""
    if all(row.paired for row in comparison.rows):
        return None
    return (
        "each side is one run: whatever changed from one run to the other counts as a difference, "
        "and more rounds do not help; variants of one workflow are measured alternately and avoid "
        "this"
    )


def grouped_differences(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """(candidate and kind, `name: baseline -> candidate`)."""
    groups: dict[str, list[str]] = {}
    for item in comparison.differences:
        many = len(comparison.candidates) > 1
        title = f"{item.candidate}, {item.kind}" if many else item.kind
        text = f"{item.name}: {_value(item.baseline)} -> {_value(item.value)}"
        groups.setdefault(title, []).append(text)
    yield from groups.items()


def _value(value: object) -> str:
    return shortened("none" if value is None else str(value), 60)


def _three_digits(value: float) -> str:
    if not value:
        return "0"
    decimals = max(0, 2 - floor(log10(abs(value))))
    return f"{value:.{min(decimals, 6)}f}"
