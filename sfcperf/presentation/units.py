"""Units for people: files keep SI base units, tables and plots show 1.23 ms and 940 Mbit/s.

Digits follow the uncertainty: a half-width is shown with two significant digits and its mean to
the same decimal place (JCGM 100:2008, 7.2.6), so that no digit is shown that was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_SI = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"))
"""Size and prefix of each step of an SI unit."""
_TIMES = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
"""Size in seconds, and name, of each unit of time."""
_BYTES = ((1.0, "B"), (1024.0, "KiB"), (1024.0**2, "MiB"), (1024.0**3, "GiB"))
"""Size in bytes, and name, of each unit of sizes."""

_TIME_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
"""Unit of time in files -> its size in seconds."""
_BYTE_UNITS = {"B", "byte", "bytes"}
_RATE_UNITS = {"bit/s", "B/s", "byte/s"}
_UNIT_SUFFIXES = ("_per_s", "_us", "_ms", "_ns", "_s", "_bps", "_bytes", "_ratio")
"""Units at the end of metrics' names."""

_DIGITS_WITHOUT_INTERVAL = 4
"""Significant digits of a number whose uncertainty is not known."""
_MOST_DIGITS = 6
"""Significant digits that are shown at most, however narrow the interval is."""
_LEAST_PLAIN, _MOST_PLAIN = -9, 15
"""Powers of ten beyond which a number is shown as 1.23e-200."""
_MOST_COUNT = 1e15
"""Counts below this are shown with all digits."""
_NEAR_LARGEST = 1e307
"""Magnitude from which on a number is not rounded, because round() would overflow."""


@dataclass(frozen=True)
class Scale:
    """How values of a unit are shown: multiplied by `factor`, in `unit`.

    The methods take values in the unit of the files.
    """

    factor: float
    unit: str
    """Empty for a pure number."""

    def number(self, value: float | None, half_width: float | None = None) -> str:
        """Format a value on this scale like the function `number`, without the unit."""
        return number(self._scaled(value), self._scaled(half_width))

    def estimate(self, mean: float | None, half_width: float | None) -> str:
        """Format a mean with its half-width on this scale like the function `estimate`, without the
        unit."""
        return estimate(self._scaled(mean), self._scaled(half_width))

    def interval(self, low: float | None, high: float | None) -> str:
        """Format an interval as `[low, high]`, to the decimal place that its half-width justifies;
        `–` without an interval."""
        half = half_width(low, high)
        if half is None:
            return "–"
        return f"[{self.number(low, half)}, {self.number(high, half)}]"

    def with_unit(self, text: str) -> str:
        """Append the unit to a text; a pure number has none."""
        return f"{text} {self.unit}" if self.unit else text

    def quantity(self, value: float | None) -> str:
        """Format a number with its unit; `–` for None. A pure number that is whole is a count, and
        is shown with all digits."""
        if value is None:
            return "–"
        is_count = self == Scale(1.0, "") and value % 1 == 0 and abs(value) < _MOST_COUNT
        return f"{value:.0f}" if is_count else self.with_unit(self.number(value))

    def _scaled(self, value: float | None) -> float | None:
        return None if value is None else value * self.factor


def scale_for(values: Iterable[float], unit: str, metric: str = "") -> Scale:
    """Choose how `values`, which are in `unit`, are shown. Times, bytes and rates get the unit in
    which the largest reads from 1 to below 1000 (bytes: 1024), or the nearest unit that there is.

    A ratio (unit `1`, metric `..._ratio`) becomes percent. Other pure numbers, and a unit that is
    not known, stay as they are.
    """
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if unit in _TIME_UNITS:
        base = _TIME_UNITS[unit]
        if not largest:  # zeros keep their unit: _step would give the smallest, ns
            return Scale(1.0, "µs" if unit == "us" else unit)
        size, name = _step(largest * base, _TIMES)
        return Scale(base / size, name)
    if unit in _BYTE_UNITS:
        size, name = _step(largest, _BYTES)
        return Scale(1 / size, name)
    if unit in _RATE_UNITS:
        size, prefix = _step(largest, _SI)
        return Scale(1 / size, prefix + unit)
    if unit == "1/s":
        size, prefix = _step(largest, _SI)
        return Scale(1 / size, f"{prefix}/s")
    if unit == "1":
        return Scale(100.0, "%") if metric.endswith("_ratio") else Scale(1.0, "")
    return Scale(1.0, unit)


def scaled_unit(factor: float, unit: str, metric: str = "") -> str:
    """Return the unit of values in `unit` that were multiplied by `factor`: `ms` for 0.001 and
    `us`. A factor that belongs to no unit is named in the text."""
    # The scales that `scale_for` chooses for values of all usual magnitudes.
    known = (scale_for([10.0**power], unit, metric) for power in range(-12, 16))
    for scale in known:
        if math.isclose(scale.factor, factor):
            return scale.unit
    return unit if factor == 1 else f"{unit}, times {factor:g}"


def axis_label(title: str, unit: str) -> str:
    """Return the label of an axis, for reports and for figures in papers: `rtt (µs)`; a pure number
    has the unit `1`."""
    return f"{title} ({unit or '1'})"


def entry_text(value: object, key: str = "") -> str:
    """Format a value of a document for people: fractions have five digits, truth values become yes
    or no, and sizes (`key` ends in `_bytes`) get a unit in which they read below 1024. Other values
    stay as they are."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, int) and key.endswith("_bytes") and abs(value) >= 1024:
        return scale_for([value], "B").quantity(value)
    return str(value)


def is_time(unit: str) -> bool:
    """Whether a unit of files is one of time."""
    return unit in _TIME_UNITS


def metric_title(metric: str) -> str:
    """Return a metric's name for people, without the unit at its end: values may be shown in
    another one."""
    for suffix in _UNIT_SUFFIXES:
        if metric.endswith(suffix) and metric != suffix:
            metric = metric.removesuffix(suffix)
            break
    return metric.replace("_", " ")


def half_width(low: float | None, high: float | None) -> float | None:
    """Return half the width of an interval; None without one."""
    return None if low is None or high is None else (high - low) / 2


def number(value: float | None, half_width: float | None = None) -> str:
    """Format a value to the decimal place that its half-width (in the same unit) justifies, with
    four digits without a half-width; `–` for None, NaN and infinity."""
    if value is None or not math.isfinite(value):
        return "–"
    if not value and not half_width:
        return "0"
    return _fixed(value, _decimals(value, half_width))


def estimate(mean: float | None, half_width: float | None) -> str:
    """Format `mean ± half-width`, both to the same decimal place; the mean alone without a finite
    half-width."""
    if mean is None or half_width is None or not math.isfinite(mean + half_width):
        return number(mean)
    if not mean and not half_width:
        return "0 ± 0"
    decimals = _decimals(mean, half_width)
    return f"{_fixed(mean, decimals)} ± {_fixed(half_width, decimals)}"


def _step(magnitude: float, steps: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    """Return the largest step (size, name) that is not above the magnitude; the smallest step if
    all are."""
    chosen = steps[0]
    for step in steps:
        # From 0.9995 of a unit on, rounding would print 1000 of the unit below.
        if magnitude >= step[0] * 0.9995:
            chosen = step
    return chosen


def _decimals(value: float, half_width: float | None) -> int:
    """Return the number of decimal places to show of a value with this half-width; None or 0: it is
    not known. The number is negative to round before the decimal point."""
    magnitude = _exponent(value)
    if not half_width or not math.isfinite(half_width):
        return _DIGITS_WITHOUT_INTERVAL - 1 - magnitude
    # Two significant digits of the half-width.
    justified = 1 - _exponent(half_width)
    return min(justified, _MOST_DIGITS - 1 - magnitude) if value else justified


def _exponent(value: float) -> int:
    """Return the power of ten of a value's first digit; 0 for 0."""
    return math.floor(math.log10(abs(value))) if value else 0


def _fixed(value: float, decimals: int) -> str:
    """Format a value with a number of decimal places (negative: rounded before the point), in
    plain notation where that is readable, else as 1.23e-200."""
    # Near the largest float, round() would overflow.
    rounded = value if abs(value) > _NEAR_LARGEST else round(value, decimals)
    magnitude = _exponent(rounded)
    if not rounded and decimals > -_LEAST_PLAIN:
        return "0"
    if not _LEAST_PLAIN <= magnitude <= _MOST_PLAIN:
        return f"{rounded:.{max(decimals + magnitude, 0)}e}"
    text = f"{rounded:.{max(decimals, 0)}f}"
    # A negative zero would look like a measured sign.
    return text.removeprefix("-") if float(text) == 0 else text
