"""The texts that Spark takes for records are those that `records.parse` takes."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from support.services.flow_records import field_changes, record

from sfcperf.services.classifier.records import MOST_NUMBER, PoisonedRecord, is_address, parse
from sfcperf.services.classifier.spark import patterns

AS_EXPORTED, IN_ORDER = (
    re.compile(pattern.replace(r"\z", r"\Z"))
    for pattern in (patterns.AS_EXPORTED, patterns.IN_ORDER)
)


def taken(message: str) -> bool:
    try:
        parse(message.encode())
    except PoisonedRecord:
        return False
    return True


@given(st.integers(0, MOST_NUMBER + 1), st.integers(0, MOST_NUMBER + 1))
@example(MOST_NUMBER, MOST_NUMBER)
@example(0, 0)
@example(10, 9)
@example(100, 100)
def test_numbers(limit: int, number: int) -> None:
    for near in (number, limit - 1, limit, limit + 1):
        matched = re.fullmatch(patterns.at_most(limit), str(near)) is not None
        assert matched == (0 <= near <= limit)


@given(
    st.ip_addresses().map(str)
    | st.from_regex(r"[0-9a-fA-F:.]{2,40}", fullmatch=True)
    | st.lists(st.sampled_from(["0", "ab12", "", ":", "1.2.3.4", "12345"]), max_size=10).map(
        ":".join
    )
)
@example("::")
@example("1:2:3:4:5:6:7::")
@example("1:2:3:4:5:6:7::8")
@example("::ffff:192.0.2.1")
@example("01.2.3.4")
@example("::256.1.1.1")
def test_addresses(text: str) -> None:
    assert (re.fullmatch(patterns.ADDRESS, f'"{text}"') is not None) == is_address(text)


@given(field_changes())
def test_records(changed: dict[str, Any]) -> None:
    compact = json.dumps({**record(), **changed}, separators=(",", ":"), ensure_ascii=False)
    ordered = json.dumps({**record(), **changed}, separators=(",", ":"), sort_keys=True)
    assert (IN_ORDER.match(f"{ordered}]") is not None) == taken(ordered)
    if AS_EXPORTED.match(compact):
        assert taken(compact)
    elif taken(compact):
        assert "\\" in compact
