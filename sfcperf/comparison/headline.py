"""What a comparison found, in one plain sentence for those who read nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log

from sfcperf.analysis.comparison import Comparison, Row
from sfcperf.comparison import wording
from sfcperf.counts import count_text
from sfcperf.presentation.levels import scenario_text
from sfcperf.presentation.units import metric_title
from sfcperf.presentation.wording import first_names

CHANGED = ("worse", "different", "better")
"""Verdicts of rows that changed."""
_MOST_NAMED = 3
"""Changes that the sentence names; it counts the others."""
_OFTEN = {"worse": "more", "better": "less"}
"""Verdict -> how often functions of the candidate crash, compared with the baseline."""


@dataclass(frozen=True)
class _Change:
    """A metric of a candidate that changed in one direction, with one verdict."""

    rows: tuple[Row, ...]
    """Rows (scenarios) in which it changed so."""
    of: int
    """Number of scenarios in which the metric was compared."""

    @property
    def size(self) -> float:
        """Size of the largest change, by which changes are ordered: logarithm of the ratio of the
        sides; infinite from a baseline of 0."""
        return max(map(_size, self.rows))


def headline(comparison: Comparison) -> str:
    """Return the sentence. It names the largest changes and counts the others, for instance `Within
    these two runs, tcp rate about doubled (+104 % [+82, +130], better); no change shown
    elsewhere`."""
    changes = sorted(_changes(comparison), key=lambda change: -change.size)
    rest = [row for row in comparison.rows if row.verdict not in CHANGED]
    parts = [_text(change, comparison) for change in changes[:_MOST_NAMED]]
    if more := [row for change in changes[_MOST_NAMED:] for row in change.rows]:
        counts = ", ".join(
            f"{number} {name}"
            for name in CHANGED
            if (number := sum(row.verdict == name for row in more))
        )
        parts.append(f"{count_text(len(more), 'smaller change')} ({counts})")
    found = "; ".join(
        filter(
            None,
            [
                _joined(parts),
                _rest(rest, elsewhere=bool(parts)),
                *_losses(comparison),
                *_crashes(comparison),
            ],
        )
    )
    text = f"{wording.scope(comparison)}{found}"
    if len(comparison.candidates) == 1 and text.startswith(tuple(parts)):
        # It begins with the label of a probe, which is the user's own word.
        return text
    return text[:1].upper() + text[1:]


def _changes(comparison: Comparison) -> Iterator[_Change]:
    """Group the rows that changed by candidate, metric, verdict and direction."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in comparison.rows:
        groups.setdefault((row.candidate, row.label, row.metric), []).append(row)
    for rows in groups.values():
        # A metric without a better direction may rise here and fall there.
        for verdict in CHANGED:
            for rising in (True, False):
                alike = [r for r in rows if r.verdict == verdict and (_shift(r) > 0) == rising]
                if alike:
                    yield _Change(tuple(alike), len(rows))


def _text(change: _Change, comparison: Comparison) -> str:
    """Describe a change, for instance `with ebpf, ping rtt fell in 2 of 3 scenarios (-10 to -24 %,
    better)`."""
    rows = sorted(change.rows, key=_size)
    last = rows[-1]
    name = f"{last.label} {metric_title(last.metric)}"
    if len(comparison.candidates) > 1:
        name = f"with {wording.side_titles(comparison)[last.candidate]}, {name}"
    judged = "" if last.verdict == "different" else f", {last.verdict}"
    if len(rows) == 1:
        where = f" at {scenario_text(last.scenario)}" if change.of > 1 else ""
        return f"{name}{where} {_verb(last)} ({wording.amount_text(last, comparison)}{judged})"
    many = change.of == len(rows)
    where = _all(len(rows), "scenario") if many else f"{len(rows)} of {change.of} scenarios"
    # The smallest and the largest change, as rows are in order of size.
    ends = [_percent(row) for row in (rows[0], last)]
    amount = f"{ends[0]} to {ends[1]} %" if all(ends) and ends[0] != ends[1] else ""
    amount = amount or wording.amount_text(last, comparison)
    verb = "rose" if _shift(last) > 0 else "fell"
    return f"{name} {verb} in {where} ({amount}{judged})"


def _verb(row: Row) -> str:
    """Return the verb of a change in words that a reader remembers: `about doubled`, `rose`."""
    ratio = None if row.relative is None else 1 + row.relative.value
    if ratio is None or ratio <= 0:
        return "rose" if _shift(row) > 0 else "fell"
    if 1.8 <= ratio <= 2.2:
        return "about doubled"
    if 0.45 <= ratio <= 0.55:
        return "about halved"
    if ratio > 2.2:
        return f"grew about {ratio:.2g}-fold"
    if ratio < 0.45:
        return f"fell to about {100 * ratio:.2g} %"
    return "rose" if ratio > 1 else "fell"


def _percent(row: Row) -> str:
    """Return the relative difference without `%`; empty for a baseline of 0."""
    return wording.relative_text(row.relative).removesuffix(" %") if row.relative else ""


def _rest(rows: Sequence[Row], *, elsewhere: bool) -> str:
    """Describe the rows that did not change. Equal is a finding, undecided is none, so the text
    tells the two apart. `elsewhere`: whether a change was named before."""
    if not rows:
        return ""
    equal = sum(row.verdict == "equivalent" for row in rows)
    undecided = len(rows) - equal
    verb = "is" if len(rows) == 1 else "are"
    if not undecided:
        other = f"the other {count_text(equal, 'result')}"
        return f"{other if elsewhere else _all(equal, 'result')} {verb} equal within the margin"
    if not equal and not elsewhere:
        which = _all(undecided, "result")
        return f"no change shown, and none ruled out: {which} {verb} undecided"
    shown = "no change shown elsewhere" if elsewhere else "no change shown"
    counts = [f"{equal} equal within the margin"] * bool(equal)
    return f"{shown} ({', '.join([*counts, f'{undecided} undecided'])})"


def _losses(comparison: Comparison) -> Iterator[str]:
    """Warn of notable losses: `packets or requests were lost (ping of B)`. All numbers describe
    only what was not lost."""
    titles = wording.side_titles(comparison)
    lossy = dict.fromkeys(
        f"{row.label} of {titles[name]}" for row in comparison.rows for name in row.lossy
    )
    if lossy:
        yield f"packets or requests were lost ({first_names(list(lossy))})"


def _crashes(comparison: Comparison) -> Iterator[str]:
    """Say that functions crashed, which is a finding about runs and has no row: `functions crashed
    (B more often)`."""
    if comparison.crashes:
        titles = wording.side_titles(comparison)
        often = [
            f"{titles[each.candidate]} {_OFTEN[each.verdict]} often"
            for each in comparison.crashes
            if each.verdict in _OFTEN
        ]
        yield f"functions crashed ({', '.join(often) or 'undecided where more often'})"


def _all(number: int, noun: str) -> str:
    """Return `the only result`, `both results` or `all 3 results`."""
    if number == 1:
        return f"the only {noun}"
    return f"both {noun}s" if number == 2 else f"all {number} {noun}s"


def _joined(parts: Sequence[str]) -> str:
    """Join parts to `a`, `a and b` or `a; b and c`: with semicolons, because parts have commas."""
    return " and ".join(filter(None, ["; ".join(parts[:-1]), *parts[-1:]]))


def _shift(row: Row) -> float:
    """Return a number with the sign of the row's change: the relative difference, or where the
    baseline is 0 the difference; 0 without either."""
    difference = row.relative or row.difference
    return difference.value if difference is not None else 0.0


def _size(row: Row) -> float:
    """Return |log(candidate / baseline)|, which makes doubling as large as halving; infinite where
    there is no positive ratio."""
    if row.relative is None:
        return inf
    ratio = 1 + row.relative.value
    return abs(log(ratio)) if ratio > 0 else inf
