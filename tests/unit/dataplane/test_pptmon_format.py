"""The model of PPTMon's formats, by itself and against the golden vectors."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.pptmon_model import packet
from support.pptmon_model.errors import FormatError
from support.pptmon_model.format import (
    Format,
    Header,
    Hop,
    Metric,
    decode_option,
    encode_option,
)
from support.pptmon_model.nsh_context import decode_contexts, encode_contexts
from support.pptmon_model.value import (
    FLOAT_MAX,
    VALUE_MAX,
    decode_float,
    elapsed,
    encode_float,
    saturated,
)

VECTORS = json.loads((files("sfcperf.dataplane.pptmon") / "vectors.json").read_text())

floats = st.integers(0, FLOAT_MAX).map(decode_float)
nsh_headers = st.builds(
    Header,
    hops=st.lists(
        st.builds(Hop, vnf_id=st.integers(0, 255), value=floats), min_size=1, max_size=80
    ).map(tuple),
    metric=st.sampled_from(Metric),
    truncated=st.booleans(),
    sample=st.integers(0, 0xFFFF),
    source_clock_us=st.integers(0, 0xFFFFFFFF),
)


@given(header=nsh_headers, hop=st.builds(Hop, vnf_id=st.integers(0, 255), value=floats))
def test_a_new_hop_changes_what_is_in_front_alone(header: Header, hop: Hop) -> None:
    before, after = encode_contexts(header), encode_contexts(header.with_hop(hop))
    full = len(header.hops) % 39 == 0
    assert after[1:] == (before if full else before[1:])
    assert decode_contexts(after).hops == (hop, *header.hops)


@given(value=st.integers(0, 2**25))
@example(2**40)
def test_floats_are_exact_at_first_then_to_a_4096th(value: int) -> None:
    seen = decode_float(encode_float(value))
    assert decode_float(encode_float(seen)) == seen
    # What rounds up to 2^24 is the largest of 24 bits.
    possible = min(value, VALUE_MAX)
    assert abs(seen - possible) <= (0 if value <= 4095 else possible * 2**-12)


@given(entered=st.integers(0, 2**64), took=st.integers(0, VALUE_MAX), bits=st.just(24))
def test_elapsed_time_survives_the_wrap(entered: int, took: int, bits: int) -> None:
    low = (1 << bits) - 1
    assert elapsed(entered & low, (entered + took) & low, bits) == took
    assert saturated(took + VALUE_MAX) == VALUE_MAX


@pytest.mark.parametrize("vector", VECTORS["options"], ids=lambda vector: vector["name"])
def test_vectors_of_options(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    if "error" in vector:
        with pytest.raises(FormatError) as caught:
            decode_option(data)
        assert caught.value.reason == vector["error"]
        return
    header, layout = decode_option(data)
    assert _words(header) == vector["header"]
    assert layout.value == vector["format"]
    assert encode_option(header, layout, data[0]) == data


@pytest.mark.parametrize("vector", VECTORS["floats"], ids=str)
def test_vectors_of_floats(vector: dict[str, int]) -> None:
    assert encode_float(vector["value"]) == vector["encoded"]
    assert decode_float(vector["encoded"]) == vector["decoded"]


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_vectors_of_frames(vector: dict[str, Any]) -> None:
    """Plain and carrying frames stand side by side; scapy made the plain ones."""
    plain, carrying = bytes.fromhex(vector["plain"]), bytes.fromhex(vector["carrying"])
    found = packet.read(carrying)
    assert found is not None
    assert _words(found.header) == vector["header"]
    assert found.carrier.value == vector["carrier"]
    assert (found.format and found.format.value) == vector["format"]
    assert packet.strip(carrying) == plain
    layout = found.format or Format.PAPER
    assert packet.add(plain, found.header, layout, found.carrier) == carrying


def _words(header: Header) -> dict[str, Any]:
    return {
        "metric": header.metric.name.lower(),
        "truncated": header.truncated,
        "sample": header.sample,
        "source_clock_us": header.source_clock_us,
        "hops": [[hop.vnf_id, hop.value] for hop in header.hops],
    }
