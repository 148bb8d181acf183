"""Messages of SDN-Mon: bytes written by hand, and everything that is sent comes back."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.fuzzing import SEEDS, mutated
from support.sdnmon import wire
from support.tiers import examples

from sfcperf.dataplane.sdnmon.controller import messages
from sfcperf.dataplane.sdnmon.controller.errors import WrongAnswer
from sfcperf.dataplane.sdnmon.controller.flows import layout_of
from sfcperf.dataplane.sdnmon.controller.messages import (
    Acknowledgement,
    Features,
    FlowChanges,
    Kind,
    MonitoringOff,
    Overflow,
    PrunedEntries,
    Settings,
    Status,
    read,
)
from sfcperf.dataplane.sdnmon.controller.statistics import StatisticsPart
from sfcperf.dataplane.sdnmon.fields import FIELDS, Layout
from sfcperf.errors import InputError

BY_NAME = {field.name: field for field in FIELDS}

# --- by hand ---


def test_settings_by_hand():
    layout = layout_of("tp_dst,ipv4_src/24,ip_proto")
    settings = Settings(layout, 5, 10_000, "bloom", 0.5, 0x0123456789ABCDEF, 1000, 900, 800)
    assert messages.mode_on(settings) == messages.Request(
        Kind.MODE_ON,
        bytes.fromhex(
            "01 01 0005 00002710"  # bloom, with a secret, S_b, ms
            "0000000080000000"  # 2^31
            "0123456789abcdef"
            "000003e8 00000384 00000320"  # capacity, limit, threshold
            "0003 0000"
            "03 04 ffffff00"  # ipv4_src
            "0b 02 ffff"  # tp_dst
            "0e 01 ff"  # ip_proto
        ),
    )


@pytest.mark.parametrize(
    ("request_", "kind", "content"),
    [
        (messages.features_request(), 0, ""),
        (messages.mode_off(), 2, ""),
        (messages.add_entries([b"abcd", b"efgh"])[0], 4, "0002 0004 61626364 65666768"),
        (messages.remove_entries([b"abcd"])[0], 5, "0001 0004 61626364"),
        (messages.set_sampling_ratio(1), 6, "0000000100000000"),
        (messages.set_sampling_ratio(0), 6, "0000000000000000"),
        (messages.set_query_time_interval(10), 7, "0000000a"),
        (messages.set_overflow_notification_threshold(90_000), 8, "00015f90"),
        (messages.set_limit(1_000_000), 9, "000f4240"),
        (messages.prune(), 10, ""),
        (messages.status_request(), 11, ""),
        (messages.statistics_request(True), 12, "01000000"),
        (messages.statistics_request(False), 12, "00000000"),
    ],
)
def test_requests_by_hand(request_: messages.Request, kind: int, content: str):
    assert (request_.kind, request_.content) == (kind, bytes.fromhex(content))


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        (
            0x8000,
            "01 01 0040 000f4240 00000808 00000000",
            Features(1, True, 64, 1_000_000, ("ipv4_src", "tp_dst")),
        ),
        (0x8001, "", Acknowledgement()),
        (0x8008, "", Acknowledgement()),
        (0x8004, "00000001 00000002 00000003", FlowChanges(1, 2, 3)),
        (0x8005, "00000001 00000002 00000000", FlowChanges(1, 2)),
        (0x800A, "00000007", PrunedEntries(7)),
        (0x800B, "00000000", MonitoringOff()),
        (0x4000, "0de0b6b3a7640000 00000065 00000064", Overflow(10**18, 101, 100)),
        (
            0x800B,
            "01 00 0005 00002710 0000000080000000 0000000000000007"
            "000003e8 00000384 00000320 0000000b 00000001 0001 0001"
            + "".join(f"{number:016x}" for number in range(66, 55, -1))
            + "0b 02 00ff"
            "00000003 00000000 76657468300000000000000000000000",
            Status(
                *(Layout({"tp_dst": 255}), "hash", 5, 10_000, 0.5, 7, 1000, 900, 800, 11, 1),
                totals=dict(zip(messages.TOTALS, range(66, 55, -1), strict=True)),
                ports={"veth0": 3},
            ),
        ),
    ],
)
def test_replies_by_hand(kind: int, content: str, message: messages.Message):
    assert read(kind, bytes.fromhex(content)) == message


def test_statistics_by_hand():
    content = bytes.fromhex(
        "0001 0004 0002 0000 00000002 00000000 0000000000000009"
        "61626364 00000001 0000000000000003 00000000000000b4"
        "0000000000000000 0000000000000000 0000000000000002 0000000000000078"
        "65666768 00000000 0000000000000001 000000000000003c"
        "0000000000000001 000000000000003c 0000000000000000 0000000000000000"
    )
    part = read(0x800C, content)
    assert isinstance(part, StatisticsPart)
    assert (part.epoch, part.more) == (9, True)
    assert _entries(part) == [
        (b"abcd", 1, 3, 180, [(0, 0), (2, 120)]),
        (b"efgh", 0, 1, 60, [(1, 60), (0, 0)]),
    ]


def _entries(part: StatisticsPart) -> list[wire.Entry]:
    names = part.entries.dtype.names or ()
    columns = [part.entries[name].tolist() for name in names[:4]]
    slots = part.entries["slots"] if "slots" in names else [[]] * len(part.entries)
    buffers = [[tuple(map(int, pair)) for pair in buffer] for buffer in slots]
    return list(zip(*columns, buffers, strict=True))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (0x8000, "01"),
        (0x8001, "00"),
        (0x8002, "00000000"),
        (0x800B, ""),
        (0x800B, "00"),
        (0x800B, "01"),
        (0x800C, "00" * 23),
        (0x800C, "0000 0003 0000 0000 00000000 00000000 0000000000000009"),
        (0x800C, "0000 0004 0000 0000 00000001 00000000 0000000000000009"),
        (0x800C, "0000 0000 0000 0000 00000000 00000000 0000000000000009"),
        (0x800D, ""),
        (0x0001, ""),
        (0x4000, "00" * 15),
    ],
)
def test_what_is_wrong(kind: int, content: str):
    with pytest.raises(WrongAnswer):
        read(kind, bytes.fromhex(content))


# --- whatever is sent ---


@examples(300)
@given(st.lists(st.binary(min_size=16, max_size=16), max_size=9000))
@example([number.to_bytes(16) for number in range(9000)])
def test_keys_arrive_in_messages_that_openflow_can_carry(keys: list[bytes]):
    found = []
    for request in messages.add_entries(keys):
        assert len(request.content) + 16 <= 65535
        count, size = struct.unpack_from("!HH", request.content)
        assert (size, count * size) == (16, len(request.content) - 4)
        found += [request.content[4 + at * 16 : 20 + at * 16] for at in range(count)]
    assert found == keys


@pytest.mark.parametrize("changed", [{"counter_buffer_size": n} for n in (0, 65)] + [{"ratio": 2}])
def test_a_status_with_values_that_no_table_has_is_refused(changed: dict[str, Any]):
    status = Status(
        *(layout_of("tp_dst"), "hash", 5, 1000, 0.5, 9, 1000, 1000, 0, 2, 0),
        totals=dict.fromkeys(messages.TOTALS, 0),
        ports={},
    )
    assert read(0x800B, wire.status(status)) == status
    with pytest.raises(WrongAnswer):
        read(0x800B, wire.status(replace(status, **changed)))


@examples(300)
@given(st.data(), st.sampled_from([4, 16, 84]), st.sampled_from([0, 1, 5, 64]))
def test_statistics_arrive(data: st.DataObject, key_bytes: int, slots: int):
    u64 = st.integers(0, (1 << 64) - 1)
    pairs = st.tuples(u64, u64)
    entries = data.draw(
        st.lists(
            st.tuples(
                st.binary(min_size=key_bytes, max_size=key_bytes),
                st.integers(0, 1),
                *(u64, u64),
                st.lists(pairs, min_size=slots, max_size=slots),
            ),
            max_size=3,
        )
    )
    epoch, more = data.draw(u64), data.draw(st.booleans())
    part = read(0x800C, wire.statistics(entries, key_bytes, slots, epoch, more))
    assert isinstance(part, StatisticsPart)
    assert (part.epoch, part.more) == (epoch, more)
    assert _entries(part) == entries


SOUND = [
    wire.status(
        Status(
            Layout({"tp_dst": 1}),
            "hash",
            *[1] * 2,
            0.5,
            *[1] * 6,
            dict.fromkeys(messages.TOTALS, 1),
            {},
        )
    ),
    wire.statistics([(b"abcd", 0, 1, 2, [(3, 4)])], 4, 1, 9, False),
    bytes(16),
]


@examples(2000)
@given(SEEDS, st.sampled_from([0x8000, 0x8004, 0x800A, 0x800B, 0x800C, 0x4000]))
def test_whatever_comes_is_read_or_refused(seed: int, kind: int):
    content = mutated(seed, SOUND, [b"\0", b"\xff\xff", b"\1"])[:65519]
    try:
        read(kind, content)
    except WrongAnswer as error:
        assert str(error)


# --- what is refused ---


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"counter_buffer_size": 0}, "1 to 64"),
        ({"counter_buffer_size": 65}, "1 to 64"),
        ({"counter_buffer_size": True}, "1 to 64"),
        ({"query_interval_ms": 49}, "50 to 86400000"),
        ({"mode": "parse"}, "hash, bloom"),
        ({"ratio": 1.1}, "0 to 1"),
        ({"ratio": float("nan")}, "0 to 1"),
        ({"ratio": "1"}, "0 to 1"),
        ({"secret": 1 << 64}, "0 to 18446744073709551615"),
        ({"capacity": 0}, "1 to 1000000"),
        ({"capacity": 10, "limit": 11}, "0 to 10"),
        ({"threshold": -1}, "0 to 1000000"),
    ],
)
def test_settings_out_of_range(changed: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words):
        Settings(layout_of("tp_dst"), **changed)
