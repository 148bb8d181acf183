"""A line of the table: what was measured, beside its peer and its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, inf, log
from statistics import median
from typing import Any, Literal

from sfcperf.analysis.two_sample.ranks import SignedRank

CONFIDENCE = 0.95
COLUMNS = (("result", 34), ("peer", 44), ("ratio", 22), ("budget", 18), ("", 7), ("time", 8))


@dataclass(frozen=True)
class Budget:
    """Between which bounds something has to be."""

    low: float = -inf
    high: float = inf
    of: Literal["result", "ratio", "excess"] = "result"
    """What is judged: the result, its ratio to the peer, or the result less the peer's."""

    def text(self, unit: str) -> str:
        """`ratio <= 1.02`, `0.85 .. 1.15`, `peer +- 2 us`."""
        low, high = (_value(bound, unit if self.of != "ratio" else "") for bound in self._bounds)
        if self.of == "excess":
            return f"peer +- {high}" if self.low > -inf else f"<= peer + {high}"
        word = "ratio " if self.of == "ratio" else ""
        if self.low == -inf:
            return f"{word}<= {high}"
        return f"{word}>= {low}" if self.high == inf else f"{word}{low} .. {high}"

    @property
    def _bounds(self) -> tuple[float, float]:
        return self.low, self.high


@dataclass(frozen=True)
class Row:
    """One result. The readings of a peer (another way, or a floor) are taken in turn with it."""

    name: str
    readings: Sequence[float] | float
    """One for each repetition; their median is the result."""
    unit: str = ""
    """`%`: readings are shares of 1."""
    peer: str = ""
    peer_readings: Sequence[float] | float = ()
    budget: Budget | None = None
    remarks: str = ""
    tolerated: str = field(default="", kw_only=True)
    """A word for a budget that does not hold and yet is no failure: `limit` where that is known,
    `open` where the interval leaves it open."""

    @cached_property
    def values(self) -> list[float]:
        """Readings as a list."""
        return _list(self.readings)

    @cached_property
    def peer_values(self) -> list[float]:
        """Those of the peer."""
        return _list(self.peer_readings)

    @cached_property
    def ratio(self) -> tuple[float, float | None, float | None] | None:
        """Result by that of the peer, with the bounds of its interval.

        Of pairs: Hodges-Lehmann's estimate, and the 95 % interval of Wilcoxon's signed-rank test,
        of the logarithms; None in place of bounds for fewer than 6 pairs. Otherwise the ratio of
        the medians.
        """
        ours, theirs = self.values, self.peer_values
        if not ours or not theirs or median(theirs) == 0:
            return None
        if len(ours) != len(theirs) or min(*ours, *theirs) <= 0:
            return median(ours) / median(theirs), None, None
        test = SignedRank([log(value) for value in theirs], [log(value) for value in ours])
        low, high = test.interval(CONFIDENCE) or (None, None)
        bounds = [None if bound is None else exp(bound) for bound in (low, high)]
        return exp(test.shift), bounds[0], bounds[1]

    @property
    def holds(self) -> bool | None:
        """Whether the budget does; None without one."""
        if self.budget is None:
            return None
        judged = {
            "result": lambda: median(self.values),
            "excess": lambda: median(self.values) - median(self.peer_values),
            "ratio": lambda: (self.ratio or (inf,))[0],
        }[self.budget.of]()
        # Of NumPy's numbers it would be NumPy's, which is no bool of JSON.
        return bool(self.budget.low <= judged <= self.budget.high)

    @property
    def is_missed(self) -> bool:
        """Whether the benchmark fails because of it."""
        return self.holds is False and not self.tolerated

    def text(self, benchmark: str, took_s: float | None) -> str:
        """The line."""
        verdict = {None: "", True: "holds", False: self.tolerated or "MISSED"}
        cells = (
            _result(self.values, self.unit),
            f"{self.peer}: {_value(median(self.peer_values), self.unit)}"
            if self.peer_values
            else "",
            _ratio(self.ratio),
            "" if self.budget is None else self.budget.text(self.unit),
            verdict[self.holds],
            "" if took_s is None else f"{took_s:.1f} s",
        )
        return line(f"{benchmark}: {self.name}", cells, self.remarks)

    @property
    def _peer_text(self) -> str:
        return _value(median(self.peer_values), self.unit)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        estimate, low, high = self.ratio or (None, None, None)
        budget = self.budget
        return {
            "name": self.name, "unit": self.unit, "readings": self.values, "peer": self.peer,
            "peer_readings": self.peer_values,
            "ratio": {"estimate": estimate, "low": low, "high": high},
            "budget": budget and {"of": budget.of, "text": budget.text(self.unit)},
            "holds": self.holds, "tolerated": self.tolerated, "remarks": self.remarks,
        }  # fmt: skip


def header() -> str:
    """The first line of the table."""
    return line("benchmark", [name for name, _ in COLUMNS], "remarks")


def line(name: str, cells: Sequence[str], remarks: str) -> str:
    """Cells in columns."""
    padded = (f"{cell:{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))
    return f"{name:72} {' '.join(padded)} {remarks}".rstrip()


def _list(readings: Sequence[float] | float) -> list[float]:
    return [readings] if isinstance(readings, int | float) else list(map(float, readings))


def _value(value: float, unit: str) -> str:
    if unit == "%":
        return f"{100 * value:.4g} %"
    return f"{value:{',.0f' if abs(value) >= 1000 else '.4g'}} {unit}".rstrip()


def _result(values: Sequence[float], unit: str) -> str:
    """`105 ns [101 ns, 120 ns]`: median, and range."""
    text = _value(median(values), unit)
    if len(values) == 1:
        return text
    low, high = (
        _value(bound, unit).removesuffix(f" {unit}") for bound in (min(values), max(values))
    )
    return f"{text} [{low}, {high}]"


def _ratio(ratio: tuple[float, float | None, float | None] | None) -> str:
    if ratio is None:
        return ""
    estimate, low, high = (None if part is None else f"{part:.3g}" for part in ratio)
    return f"{estimate}" if low is None else f"{estimate} ({low} to {high})"
