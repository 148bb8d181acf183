"""A comparison in words, the same in terminal and HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, log10, sqrt
from statistics import fmean
from typing import Literal

from sfcperf.analysis.comparison import Comparison, Estimate, Replication, Row, percent_text
from sfcperf.counts import count_text
from sfcperf.presentation import units
from sfcperf.presentation.levels import level_text
from sfcperf.presentation.wording import duration_text, shortened

MARKS = {"better": "▲", "worse": "▼", "different": "≠", "equivalent": "=", "undecided": "?"}
"""Sign of each verdict, so that colour is never the only cue."""


def counts_text(comparison: Comparison) -> str:
    """Count the rows by verdict: `12 rows: 1 better, 2 worse, 9 undecided`."""
    found = [f"{number} {name}" for name, number in comparison.counts().items() if number]
    return f"{scope(comparison)}{count_text(len(comparison.rows), 'row')}: {', '.join(found)}"


def scope(comparison: Comparison) -> str:
    """Return the start of a sentence that says what the verdicts hold for: several runs, or only
    these runs, because one run per side does not show how runs of the same thing differ. Empty for
    variants, which share a run."""
    if any(row.replication for row in comparison.rows):
        sides = [comparison.baseline, *comparison.candidates]
        counts = [len(side.runs) for side in sides]
        if all(row.paired for row in comparison.rows):
            return f"over {count_text(counts[0], 'run')}, "
        several = ", ".join(map(str, counts[:-1]))
        return f"over {several} and {count_text(counts[-1], 'run')}, "
    if all(row.paired for row in comparison.rows):
        return ""
    if all(row.paired or row.floor for row in comparison.rows):
        return "beside this machine's noise floor, "
    runs = 1 + len(comparison.candidates)
    return f"within these {'two' if runs == 2 else runs} runs, "


def percent(value: float | None, half: float | None = None, *, sign: bool = True) -> str:
    """Return a ratio as per cent, with as many digits as the half-width `half` (a ratio) of its
    interval justifies, or three without one; `–` for None. `sign`: whether a positive number gets a
    `+`."""
    if value is None:
        return "–"
    text = units.number(100 * value, None if half is None else 100 * half)
    if not half:
        text = _three_digits(100 * value)
    plus = "+" if sign and value > 0 and not text.startswith("-") else ""
    return f"{plus}{text}"


def relative_text(estimate: Estimate | None, *, sign: bool = True) -> str:
    """Return a relative difference, for instance `+3.2 %`; `–` for None. `sign` as in `percent`."""
    if estimate is None:
        return "–"
    half = units.half_width(estimate.low, estimate.high)
    return f"{percent(estimate.value, half, sign=sign)} %"


def why_no_ratio(row: Row) -> str:
    """Say why a row has no relative difference, or has one and no ratio of means."""
    for side, number in (("baseline", row.n_a), ("candidate", row.n_b)):
        if not number:
            return f"the {side} has no valid trial"
    if row.relative is not None or row.difference is None:
        return f"there are too few {'trials' if row.replication is None else 'runs'}"
    return "the baseline is 0"


def interval_text(estimate: Estimate | None, *, sign: bool = True) -> str:
    """Return the interval of a ratio in per cent, for instance `[+1.1, +5.3]`; `–` without one.
    `sign` as in `percent`."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return "–"
    half = units.half_width(estimate.low, estimate.high)
    low, high = (percent(limit, half, sign=sign) for limit in (estimate.low, estimate.high))
    return f"[{low}, {high}]"


def amount_text(row: Row, comparison: Comparison) -> str:
    """Return the size of a change, for instance `+104 % [+82, +130]`; from a baseline of 0 both
    numbers in the metric's unit."""
    if row.relative is not None:
        interval = interval_text(row.relative)
        return relative_text(row.relative) + ("" if interval == "–" else f" {interval}")
    return sides_text(row, comparison)


def p_text(p: float | None) -> str:
    """Return p with two digits; `<0.0001` for less, `–` for None."""
    if p is None:
        return "–"
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def margin_text(row: Row) -> str:
    """Return the margin of a row: `5 %`, or a number in the metric's unit; `none` without one."""
    if row.margin is None:
        return "none"
    if row.margin_absolute:
        return units.Scale(1.0, "" if row.unit == "1" else row.unit).with_unit(f"{row.margin:g}")
    return f"{100 * row.margin:g} %"


def reasons(row: Row) -> tuple[str, ...]:
    """Return why an undecided row is undecided although its numbers may look otherwise; empty for
    other rows."""
    if row.verdict != "undecided":
        return ()
    return (*row.withheld, *filter(None, [row.floor.reason if row.floor else ""]))


def needed_text(row: Row) -> str:
    """Return how much would decide an undecided row, and what that would show, for instance `12
    rounds (different)`; empty if the row is decided or the number unknown."""
    if row.verdict != "undecided" or row.n_needed is None:
        return ""
    what = "different" if row.n_needed_for == "difference" else "equal"
    unit = "run" if row.replication else "round" if row.paired else "trial"
    return f"{count_text(row.n_needed, unit)} ({what})"


INTERVALS = (
    "each interval is for its row alone, and p (Holm) is corrected for the number of rows, so an "
    "interval may exclude 0 in a row that is undecided"
)


def unlike_medians(row: Row) -> bool:
    """Whether the two medians that are shown contradict the change that is shown: their difference
    has the other sign, or their ratio is outside of the change's interval."""
    baseline, candidate = row.a.median, row.b.median
    if row.replication or row.relative is None or not baseline or candidate is None:
        return False
    shown, found = candidate / baseline - 1, row.relative
    if found.low is not None and found.high is not None and not found.low <= shown <= found.high:
        return True
    return shown * found.value < 0


def change_text(row: Row) -> str:
    """Return the relative change, with an asterisk if the medians beside it contradict it."""
    return relative_text(row.relative) + (" *" if unlike_medians(row) else "")


UNLIKE_MEDIANS = (
    "change: estimated from all trials of both sides, not from the two medians shown, which differ "
    "otherwise because the trials scatter"
)


def interval_title(comparison: Comparison) -> str:
    """Return the title of the column of intervals. Unlike p, these are not adjusted for the number
    of rows."""
    return f"{100 * (1 - comparison.options.alpha):g} % interval"


TRIALS_NEEDED = (
    "would decide: trials, rounds or runs per side that would show a difference, or that both are "
    "equal within the margin, in 4 of 5 cases, if what was observed is true"
)


def number_text(row: Row) -> str:
    """Return the number of trials per side: `10`, or `10/8` if they differ. Several runs give
    `3×5` for 3 runs of 5 rounds."""
    if row.replication is None:
        return f"{row.n_a}" if row.paired or row.n_a == row.n_b else f"{row.n_a}/{row.n_b}"
    a, b = (f"{side.runs}×{side.rounds:.0f}" for side in (row.replication.a, row.replication.b))
    return a if row.paired or a == b else f"{a}/{b}"


DISPERSIONS = (
    "between runs: how far the runs of a side scatter beyond what their rounds explain; between "
    "rounds: how far the rounds of a run scatter (standard deviations)"
)


def dispersion_text(row: Row, level: Literal["between", "within"], scale: units.Scale) -> str:
    """Return the standard deviation between the runs of a side, or between the rounds of a run: the
    root mean square of both sides. `–` if it is not known."""
    if row.replication is None:
        return "–"
    sides = (row.replication.a, row.replication.b)
    found = [value for side in sides if (value := getattr(side, level)) is not None]
    if not found:
        return "–"
    together = sqrt(fmean(value * value for value in found))
    if row.replication.ratios:
        return percent_text(together)
    # A tenth of the value in place of a half-width gives three digits.
    return scale.with_unit(scale.number(together, together / 10 or None))


def what_pays(row: Row) -> str:
    """Say what would decide an undecided row of several runs, and whether another number of rounds
    per run is cheaper. Empty for other rows."""
    found = row.replication
    if found is None or row.verdict != "undecided":
        return ""
    if found.cheapest is None:
        return "no affordable number of runs would decide it, if what was observed is true"
    rounds = round(min(found.a.rounds, found.b.rounds))
    effort = found.cheapest
    text = ""
    if row.n_needed is not None and (row.n_needed, rounds) != (effort.runs, effort.rounds):
        text = f"{count_text(row.n_needed, 'run')} of {count_text(rounds, 'round')} per side"
        text += f" would decide{_cost(found, row.n_needed, rounds)}; cheaper: "
    text += f"{count_text(effort.runs, 'run')} of {count_text(effort.rounds, 'round')} per side"
    text += _cost(found, effort.runs, effort.rounds)
    alone = "" if found.rounds_alone else "; more rounds of these runs alone would not"
    return text + alone


def _cost(found: Replication, runs: int, rounds: int) -> str:
    """Return what an effort costs per side, in parentheses; empty if the costs are not known."""
    if found.run_s is None or found.round_s is None:
        return ""
    return f" (about {duration_text(runs * (found.run_s + rounds * found.round_s))} per side)"


def replication_text(comparison: Comparison) -> str | None:
    """Explain that the run is the unit of replication; None if the trial is."""
    if not any(row.replication for row in comparison.rows):
        return None
    return (
        "the run is the unit of replication: each run counts once, by the mean of its trials; "
        "runs differ by their deployment, their place and the state of the machine, which more "
        "rounds of a run do not average out"
    )


def numbers_of(row: Row) -> tuple[float | None, float | None]:
    """Return the numbers that stand for baseline and candidate, in the unit: the median of the
    trials; if the row has several runs, which count once each, the mean of their means. None for a
    side without trials."""
    if row.replication is None:
        return row.a.median, row.b.median
    a, b = (side.means for side in (row.replication.a, row.replication.b))
    return (fmean(a) if a else None), (fmean(b) if b else None)


def side_texts(row: Row, scale: units.Scale) -> tuple[str, str]:
    """Return the numbers that stand for baseline and candidate as text, with unit."""
    a, b = numbers_of(row)
    return _side_text(a, scale, b), _side_text(b, scale, a)


def sides_text(row: Row, comparison: Comparison) -> str:
    """Return the numbers that stand for baseline and candidate, for instance `43 µs to 48 µs`."""
    return " to ".join(side_texts(row, scale_of(row, comparison.rows)))


def _side_text(value: float | None, scale: units.Scale, other: float | None) -> str:
    """Return a side's number with as many digits as tell it from the other side's number; `–` for
    None."""
    if value is None:
        return "–"
    # The distance takes the place of a half-width, but not below a thousandth of the value.
    apart = abs(value - other) if other is not None else 0.0
    return scale.with_unit(scale.number(value, max(apart, abs(value) * 1e-3) or None))


def scale_of(row: Row, rows: Sequence[Row]) -> units.Scale:
    """Return the unit in which all rows of this row's metric are shown."""
    same = [r for r in rows if (r.label, r.metric) == (row.label, row.metric)]
    values = [v for r in same for v in (r.a.median, r.b.median) if v is not None]
    return units.scale_for(values, row.unit, row.metric)


def method_text(comparison: Comparison) -> str:
    """Describe the method by which verdicts were made."""
    options = comparison.options
    names = sorted({row.test for row in comparison.rows if row.test})
    families = sorted({row.family for row in comparison.rows if row.family}, reverse=True)
    holm = " and ".join(str(number) for number in families)
    rows = "row" if families == [1] else "rows"
    corrected = (
        f"Holm over {holm} {rows}" if holm else "Holm over no row (so few trials cannot decide any)"
    )
    return (
        f"{'; '.join(names) or 'no test'}; {corrected}, alpha "
        f"{options.alpha:g}; equivalence by two one-sided tests of the shift and of the ratio of "
        f"means ({100 * (1 - 2 * options.alpha):g} % intervals), which must not miss a mode in "
        f"{100 * options.rarest:g} % of the trials; "
        f"{100 * (1 - options.alpha):g} % intervals"
    )


def caveat(comparison: Comparison) -> str | None:
    """State the limits of a comparison of separate runs; None if all rows are paired."""
    if all(row.paired for row in comparison.rows):
        return None
    if all(row.paired or row.replication for row in comparison.rows):
        return (
            "runs that are measured one after the other share the boot and the hour: what differs "
            "from day to day still counts as a difference between the sides"
        )
    known = [row.floor for row in comparison.rows if row.floor is not None]
    if known:
        number = max(len(floor.runs) for floor in known)
        return (
            f"each side is one run; what two runs of the same thing differ by here is known from "
            f"{number} A/A runs, and counts for {len(known)} of "
            f"{count_text(len(comparison.rows), 'row')}: only "
            "a larger difference is called better or worse; several runs per side "
            "(`sfcperf run --repeat`) would show smaller ones"
        )
    return (
        "each side is one run: whatever changed from one run to the other counts as a difference, "
        "and more rounds do not help; several runs per side (`sfcperf run --repeat`) tell how runs "
        "differ, and variants of one workflow are measured alternately and avoid this"
    )


def side_titles(comparison: Comparison) -> dict[str, str]:
    """Map the name of each side to its title in headings and charts. That is the user's label; or,
    if exactly one setting of the workflow was changed, the setting and its value (`dataplane
    ebpf`); otherwise the name."""
    base = comparison.baseline.name
    sides = [comparison.baseline, *comparison.candidates]
    names = [side.name for side in sides]
    changed = [item for item in comparison.differences if item.kind == "workflow"]
    keys = {item.name for item in changed}
    if any(side.labelled for side in sides):
        return {name: name for name in names}
    if len(keys) != 1 or sorted(item.candidate for item in changed) != sorted(names[1:]):
        return {name: name for name in names}
    key = keys.pop().rpartition(".")[2].replace("_", " ")
    values = {base: changed[0].baseline, **{item.candidate: item.value for item in changed}}
    titles = {name: f"{key} {_value(values[name])}" for name in names}
    distinct = len(set(titles.values())) == len(names)
    return titles if distinct else {name: name for name in names}


def grouped_differences(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yield the differences in conditions, grouped by kind (and candidate, if there are several):
    the title of a group, and its lines `name: baseline -> candidate`."""
    groups: dict[str, list[str]] = {}
    for item in comparison.differences:
        many = len(comparison.candidates) > 1
        title = f"{item.candidate}, {item.kind}" if many else item.kind
        text = f"{item.name}: {_value(item.baseline)} -> {_value(item.value)}"
        groups.setdefault(title, []).append(text)
    yield from groups.items()


def _value(value: object) -> str:
    """Return a value of a condition as text of at most 60 characters."""
    return shortened("not set" if value is None else level_text(value), 60)


def _three_digits(value: float) -> str:
    """Format a value with three significant digits, and at most six decimal places."""
    if not value:
        return "0"
    decimals = max(0, 2 - floor(log10(abs(value))))
    return f"{value:.{min(decimals, 6)}f}"
