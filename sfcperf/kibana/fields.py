"""Fields that panels may use: those of the data streams' mappings, and fit for what is asked.

Every name that a panel, a control, a query or a column uses goes through here when the objects are
made, so that a dashboard over a field that does not exist cannot be exported.
"""

from __future__ import annotations

from typing import Literal

from sfcperf.elasticsearch.mappings import STREAMS, Field
from sfcperf.errors import SfcperfError

Use = Literal["average", "terms", "date", "show"]
"""What a panel does with a field: calculates with it, makes groups of it, lays it on a time axis,
or only shows it."""

_FIT: dict[Use, frozenset[str]] = {
    "average": frozenset({"double", "integer", "long"}),
    "terms": frozenset({"keyword", "boolean", "integer", "long"}),
    "date": frozenset({"date", "date_nanos"}),
    "show": frozenset({"keyword", "boolean", "integer", "long", "double", "date", "date_nanos"}),
}


class UnknownField(SfcperfError):
    """A dashboard uses a field that no document has, or in an unfit way: a fault of SFCPerf."""


def field(stream: str, name: str, use: Use) -> Field:
    """Return the description of a field of a data stream (`trials`), checked for its use.

    Raises UnknownField when there is no field of this name, or its type does not allow the use.
    """
    found = _find(stream, name)
    if found is None:
        raise UnknownField(f"the data stream {stream!r} has no field {name!r}")
    if found.type not in _FIT[use]:
        raise UnknownField(
            f"the field {name!r} of {stream!r} is {found.type}, which is no use for {use!r}",
            allowed=", ".join(sorted(_FIT[use])),
        )
    return found


def _find(stream: str, name: str) -> Field | None:
    """Return the field with this name, or the pattern that stands for it; None if there is none."""
    for known in STREAMS[stream].fields:
        if known.name == name:
            return known
        if known.is_pattern and name.startswith(known.name.removesuffix("*")):
            return known
    return None
