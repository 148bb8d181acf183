"""Flow records as the IDS writes them, and what is nearly one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from sfcperf.services.classifier.records import LONGEST_NAME, MOST_NUMBER
from sfcperf.vnfs.ids.features import NAMES


def columns(**changes: Any) -> list[Any]:
    """The 46 features of a flow, with changes by name."""
    usual = {"srcip": "192.0.2.1", "srcport": 40000, "dstip": "192.0.2.2", "dstport": 80}
    return list((dict.fromkeys(NAMES, 0) | usual | {"proto": 6, "class": None} | changes).values())


def record(**changes: Any) -> dict[str, Any]:
    """A record, with changes by field."""
    return {
        "version": 1,
        "source": "ids-1",
        "run": "",
        "sequence": 0,
        "kind": "window",
        "first_ns": 1,
        "last_ns": 2,
        "features": columns(),
    } | changes


def message(**changes: Any) -> bytes:
    """A record as `sfc-ids` writes it."""
    return json.dumps(record(**changes), separators=(",", ":")).encode()


def field_changes() -> st.SearchStrategy[dict[str, Any]]:
    """Changes of a record, many of which make it a poisoned one."""
    number = st.integers(0, MOST_NUMBER) | st.sampled_from(
        [-1, MOST_NUMBER, MOST_NUMBER + 1, 10**30]
    )
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    long = st.builds(
        lambda unit, more: unit * (LONGEST_NAME // len(unit)) + more,
        st.sampled_from(["x", "\U0001f600", "\x01", '"', "\u00e9/", "\\\x7f"]),
        st.sampled_from(["", "x", "\x01", "\U0001f600"]),
    )
    name = text | long
    other = st.none() | st.booleans() | st.just(1.5) | text | st.just({}) | st.just([])
    feature = st.sampled_from(NAMES).flatmap(
        lambda name: st.fixed_dictionaries({name: number | other | st.just("2001:db8::1")})
    )
    features = feature.map(lambda changed: columns(**changed)) | st.just(columns()[:-1])
    fields = {
        "version": st.just(1) | other,
        "source": name | other,
        "run": name | other,
        "sequence": number | other,
        "kind": st.sampled_from(["early", "window", "other"]) | other,
        "first_ns": number | other,
        "last_ns": number | other,
        "features": features | other,
        "more": other,
    }
    return st.fixed_dictionaries({}, optional=fields)
