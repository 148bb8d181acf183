"""The lines of pptmon as values."""

from __future__ import annotations

import contextlib
import json
import re
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.dataplane.pptmon.events import (
    Counters,
    ErrorEvent,
    Event,
    EventError,
    Flow,
    HopValue,
    ReadyEvent,
    Sample,
    parse,
)

SAMPLE = {
    "event": "sample",
    "ts_ns": 1790000000000000000,
    "flow": {"proto": "tcp", "src": "10.0.0.1", "sport": 5201, "dst": "10.0.0.2", "dport": 40000},
    "metric": "time",
    "hops": [{"vnf_id": 1, "time_us": 12}, {"vnf_id": 2, "time_us": 7}],
    "own_time_ns": 7123,
    "flags": ["truncated"],
    "sample": 17,
    "carrier": "l4",
    "format": "rfc",
}


def test_a_sample() -> None:
    assert parse(json.dumps(SAMPLE)) == Sample(
        ts_ns=1790000000000000000,
        flow=Flow("tcp", "10.0.0.1", "10.0.0.2", 5201, 40000),
        metric="time",
        hops=(HopValue(1, 12), HopValue(2, 7)),
        own_time_ns=7123,
        flags=frozenset({"truncated"}),
        sample=17,
        carrier="l4",
        format="rfc",
    )


def test_a_sample_of_nsh_without_ip_inside() -> None:
    said = {**SAMPLE, "carrier": "nsh", "spi": 42, "si": 255, "end_to_end_us": 90, "flow": None}
    said |= {"metric": "delay", "hops": [{"vnf_id": 9, "delay_us": 0}]}
    seen = parse(json.dumps(said))
    assert isinstance(seen, Sample)
    assert seen.hops == (HopValue(9, 0),)
    assert (seen.flow, seen.spi, seen.si, seen.end_to_end_us) == (None, 42, 255, 90)


def test_the_others() -> None:
    ready = {"mode": "sink", "vnf_id": 3, "ingress": "a", "egress": "b", "attach": "tcx"}
    assert parse(json.dumps({"event": "ready", "format": "rfc", **ready})) == ReadyEvent(
        "sink", 3, "a", "b", "tcx", "rfc"
    )
    counters = parse('{"event": "counters", "sampled": 10, "added": 0}')
    assert counters == Counters({"sampled": 10, "added": 0})
    assert isinstance(counters, Counters)
    assert counters["sampled"] == 10
    assert parse('{"event": "failed", "error": "no"}') == ErrorEvent("no")


def test_the_lines_that_the_readme_shows() -> None:
    readme = (files("sfcperf.dataplane.pptmon") / "README.md").read_text()
    lines = re.findall(r'^\{"event".*\}$', readme, re.MULTILINE)
    kinds: list[type[Event]] = [ReadyEvent, Sample, Counters, ErrorEvent]
    seen = [parse(line.replace(", ...}", "}")) for line in lines]
    assert [type(event) for event in seen] == kinds


@pytest.mark.parametrize(
    "line",
    ["", "{}", "[]", "1", "null", '{"event": "new"}', '{"event": []}', '{"event": "sample"}',
     json.dumps({**SAMPLE, "metric": "luck"}), json.dumps({**SAMPLE, "hops": [{"vnf_id": 1}]}),
     json.dumps({**SAMPLE, "hops": [{"vnf_id": 1, "time_us": "much"}]}),
     json.dumps({**SAMPLE, "sample": float("inf")})],
)  # fmt: skip
def test_what_is_no_event(line: str) -> None:
    with pytest.raises(EventError):
        parse(line)


@given(
    line=st.text()
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["event", *SAMPLE]) | st.text(max_size=3), inner)
        ),
    ).map(json.dumps)
)
def test_any_line_is_an_event_or_refused(line: str) -> None:
    with contextlib.suppress(EventError):
        parse(line)
