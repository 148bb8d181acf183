"""What a tool prints once at its end, read strictly: each line that counts is there once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sfcperf.errors import MeasurementError

NUMBER = r"(\d+(?:\.\d+)?)"
INTEGER = r"(\d+)"
MOST_DIGITS = 15
"""More than any true figure has, few enough for a float to hold exactly."""


def read_lines(
    text: str, what: str, needed: Mapping[str, str], optional: Mapping[str, str] | None = None
) -> dict[str, list[float]]:
    """Name of a line -> the numbers that its pattern, of the whole line, has found in `text`; none
    for an optional line that is not there.

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
    """A line that the pattern would match if it had numbers. An optional line is not absent because
    its number cannot be read."""
    anything = pattern.replace(NUMBER, r"\S*").replace(INTEGER, r"\S*")
    return next((line for line in lines if re.fullmatch(anything, line, re.ASCII)), None)
