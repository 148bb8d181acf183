"""Listing: what was inserted, nothing else, and what is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.sketches.count_min import CountMin
from sfcperf.sketches.iblt import Iblt, Shape
from sfcperf.sketches.listing import Certainty, Listing, listing

keys = st.binary(min_size=4, max_size=4)
tables = st.builds(
    Shape,
    cells=st.integers(6, 60),
    hashes=st.integers(1, 6),
    key_bytes=st.just(4),
    first_seed=st.just(16),
    checksum_seed=st.just(22),
)
SMALL = Shape(cells=6, hashes=3, key_bytes=4, first_seed=16, checksum_seed=22)
flows = st.dictionaries(keys, st.lists(st.integers(0, 1500), min_size=1, max_size=4), max_size=40)


def filled(shape: Shape, packets: dict[bytes, list[int]]) -> Iblt:
    table = Iblt(shape)
    for key, sizes in packets.items():
        table.insert(key)
        for size in sizes:
            table.update(key, size)
    return table


def listed(table: Iblt) -> Listing:
    return listing(table.shape, table.cells, lambda key: key)


@examples(300)
@given(shape=tables, packets=flows)
def test_all_that_is_listed_is_right_and_all_else_is_counted(
    shape: Shape, packets: dict[bytes, list[int]]
) -> None:
    table = filled(shape, packets)
    before = table.cells.copy()
    found = listed(table)
    assert {f.key: (f.packets, f.bytes) for f in found.flows} == {
        f.key: (len(packets[f.key]), sum(packets[f.key])) for f in found.flows
    }
    assert len(found.flows) + found.missing_flows == len(packets)
    missing = set(packets) - {flow.key for flow in found.flows}
    assert found.missing_packets >= sum(len(packets[key]) for key in missing)
    assert found.missing_bytes >= sum(sum(packets[key]) for key in missing)
    assert found.residual_cells == 0
    if found.complete:
        assert all(flow.certainty is Certainty.EXACT for flow in found.flows)
    assert table.cells == before


@examples(300)
@given(shape=tables.filter(lambda shape: shape.hashes > 2), packets=flows, stranger=keys)
def test_packets_of_a_flow_that_was_never_inserted(
    shape: Shape, packets: dict[bytes, list[int]], stranger: bytes
) -> None:
    """It is never listed; a listed flow is exact or says that it is not."""
    table = filled(shape, {key: sizes for key, sizes in packets.items() if key != stranger})
    for _ in range(3):
        table.update(stranger, 1000)
    found = listed(table)
    places = set(shape.places(stranger))
    shared = any(
        set(shape.places(flow.key)) == places for flow in found.flows
    )  # indistinguishable from more packets of that flow
    for flow in found.flows:
        assert flow.key != stranger
        true = (len(packets[flow.key]), sum(packets[flow.key]))
        if flow.certainty is Certainty.AT_MOST:
            assert flow.packets >= true[0]
            assert flow.bytes >= true[1]
        elif flow.certainty is Certainty.EXACT and shape.cells >= 30 and not shared:
            assert (flow.packets, flow.bytes) == true


def test_a_false_positive_is_detected_in_a_complete_listing() -> None:
    shape = Shape(30, 3, 4, first_seed=16, checksum_seed=22)
    packets = {bytes([0, 0, 0, n]): [100] * n for n in range(1, 11)}
    table = filled(shape, packets)
    assert listed(table).complete
    table.update(b"none", 7)
    found = listed(table)
    assert found.complete
    assert found.residual_cells > 0
    wrong = {f.key for f in found.flows if f.packets != len(packets[f.key])}
    inexact = {f.key for f in found.flows if f.certainty is Certainty.AT_MOST}
    assert wrong <= inexact
    assert len(inexact) < len(packets)


@examples(300)
@given(shape=tables.filter(lambda shape: shape.hashes > 2), packets=flows, stranger=keys)
@example(
    replace(SMALL, cells=25, hashes=4),
    {b"\x1a\xe3g\xb8": [0], b"\x1c=kH": [0], b"_X\xdc\xc6": [0], b"\xbe\x92\x08E": [0]},
    b"\xc2B+Z",
).via("a residual elsewhere")
@example(
    replace(SMALL, cells=18, hashes=6),
    {b"d\xb6\x9a\x14": [0], b"\x9fg8\xbe": [0], b"\xd5\x92\xf7N": [0]},
    b'\x9eq\xfe"',
).via("no residual")
def test_no_flow_has_more_than_its_cells(
    shape: Shape, packets: dict[bytes, list[int]], stranger: bytes
) -> None:
    """A flow that was taken for stored lets differences wrap."""
    table = filled(shape, {key: sizes for key, sizes in packets.items() if key != stranger})
    table.update(stranger, 1000)
    for flow in listed(table).flows:
        places = shape.places(flow.key)
        assert flow.packets <= min(table.cells.packets[place] for place in places)
        assert flow.bytes <= min(table.cells.bytes[place] for place in places)


def test_a_key_that_was_inserted_twice_is_not_listed() -> None:
    shape = Shape(12, 3, 4, first_seed=16, checksum_seed=22)
    table = Iblt(shape)
    table.insert(b"once")
    for _ in range(2):
        table.insert(b"two ")
    assert {flow.key for flow in listed(table).flows} <= {b"once"}


def test_sums_of_packets_that_have_wrapped_are_listed_exactly() -> None:
    table = filled(SMALL, {b"aaaa": [5], b"bbbb": [7]})
    for place in SMALL.places(b"aaaa"):
        table.cells.packets[place] = (table.cells.packets[place] + 2**32 - 2) % 2**32
    found = {flow.key: (flow.packets, flow.bytes) for flow in listed(table).flows}
    expected = {b"aaaa": (2**32 - 1, 5), b"bbbb": (1, 7)}
    assert found == {key: expected[key] for key in found}
    assert found


@examples(200)
@given(stream=st.lists(keys, max_size=80), columns=st.integers(1, 20), bits=st.integers(1, 8))
def test_count_min_never_underestimates(stream: list[bytes], columns: int, bits: int) -> None:
    sketch = CountMin(3, columns, bits, first_seed=1)
    true: Counter[bytes] = Counter()
    for key in stream:
        true[key] += 1
        estimate = sketch.add(key)
        assert estimate >= min(true[key], 2**bits - 1)
        assert estimate <= min(true.total(), 2**bits - 1)
