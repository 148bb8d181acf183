"""Reads the report that a tool prints at its end. It reads strictly: each line that it looks for
must be there exactly once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfcperf.errors import MeasurementError

NUMBER = r"(\d+(?:\.\d+)?)"
INTEGER = r"(\d+)"
MOST_DIGITS = 15
"""Most characters of a number. No true figure is longer, and a float keeps so many digits."""


def read_lines(
    text: str, what: str, needed: Mapping[str, str], optional: Mapping[str, str] | None = None
) -> dict[str, list[float]]:
    """Read the numbers of a tool's report. `needed` and `optional` map the name of a line to the
    pattern of the whole line. The result maps each name to the numbers in the groups of its
    pattern; an optional line that is absent has no numbers.

    Raises MeasurementError, in which `what` names the text, when a line is missing or there twice,
    and for a line with something else in place of a number: `-nan`, `inf`, `-1`.
    """
    lines = text.splitlines()
    optional = optional or {}
    found = {}
    for name, pattern in {**needed, **optional}.items():
        matches = [match for line in lines if (match := re.fullmatch(pattern, line, re.ASCII))]
        if not matches and (wrong := _without_number(pattern, lines)):
            raise MeasurementError(f"{what} has no number in the line of {name}: {wrong.strip()!r}")
        if len(matches) > 1 or not (matches or name in optional):
            raise MeasurementError(f"{what} has the line of {name} {len(matches)} times")
        digits = matches[0].groups() if matches else ()
        if any(len(each) > MOST_DIGITS for each in digits):
            raise MeasurementError(f"{what} has an impossible number in the line of {name}")
        found[name] = [float(each) for each in digits]
    return found


def _without_number(pattern: str, lines: Sequence[str]) -> str | None:
    """Return a line that matches the pattern except that it has other words where the pattern has
    numbers; None if there is none. Without this check, an optional line with a damaged number would
    pass for an absent one."""
    anything = pattern.replace(NUMBER, r"\S*").replace(INTEGER, r"\S*")
    return next((line for line in lines if re.fullmatch(anything, line, re.ASCII)), None)
