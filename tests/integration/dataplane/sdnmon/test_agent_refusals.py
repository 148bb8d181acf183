"""Messages that sfc-sdnmon-agent refuses, and how it says so."""

from __future__ import annotations

import struct

import pytest
from support.sdnmon import openflow as of
from support.sdnmon.five_tuple import FIVE, keys_of, number
from support.sdnmon.openflow import Connection, Refused, packed_keys
from support.sdnmon.switch import Bench

pytestmark = pytest.mark.root


_KEY = keys_of(range(1))[0]
_BAD_KEYS = [
    bytes(12) + b"\x00\x08" + bytes(2),  # a header that no field belongs to
    _KEY[:15] + b"\x01",  # behind the last field
    bytes(8) + _KEY[8:12] + b"\x00\x06" + _KEY[14:],  # ports without their header
]
_SETTINGS = FIVE.packed


def _with(at: int, form: str, value: int) -> bytes:
    changed = bytearray(_SETTINGS)
    struct.pack_into(form, changed, at, value)
    return bytes(changed)


_BAD_SETTINGS = [
    (_SETTINGS[:39], of.BAD_MESSAGE, "39 bytes of content instead of at least 40"),
    (_SETTINGS[:-1], of.BAD_MESSAGE, "ends within field 5 of 5"),
    (_SETTINGS + b"\0", of.BAD_MESSAGE, "1 bytes behind the fields"),
    (_with(0, "!B", 2), of.BAD_VALUE, "mode: from 0 to 1, not 2"),
    (_with(1, "!B", 3), of.BAD_MESSAGE, "reserved bits"),
    (_with(38, "!H", 1), of.BAD_MESSAGE, "reserved bits"),
    (_with(2, "!H", 0), of.BAD_VALUE, "counter buffer size: from 1 to 64"),
    (_with(2, "!H", 65), of.BAD_VALUE, "counter buffer size: from 1 to 64"),
    (_with(4, "!I", 49), of.BAD_VALUE, "query time interval, ms: from 50 to 86400000"),
    (_with(4, "!I", 86_400_001), of.BAD_VALUE, "query time interval"),
    (_with(8, "!Q", (1 << 32) + 1), of.BAD_VALUE, "sampling ratio"),
    (_with(24, "!I", 0), of.BAD_VALUE, "capacity: from 1 to 1000000"),
    (_with(24, "!I", 1_000_001), of.BAD_VALUE, "capacity"),
    (_with(28, "!I", 4097), of.BAD_VALUE, "limit (0: the capacity): from 1 to 4096"),
    (_with(32, "!I", 1_000_001), of.BAD_VALUE, "threshold (0: never): from 0 to 1000000"),
    (_with(36, "!H", 0), of.BAD_VALUE, "there are no fields"),
    (_with(36, "!H", 6), of.BAD_MESSAGE, "ends within field 6 of 6"),
    (_with(40, "!B", 21), of.BAD_VALUE, "21 is the number of no monitoring match field"),
    (_with(40, "!B", 13), of.BAD_VALUE, "13 is the number of no monitoring match field"),
    (_with(41, "!B", 3), of.BAD_VALUE, "ipv4_src: a mask of 4 bytes, not of 3"),
    (_with(46, "!B", 3), of.BAD_VALUE, "ipv4_src is there twice"),
    (_with(42, "!I", 0), of.BAD_VALUE, "ipv4_src: a mask with bits of the field"),
]


def test_bad_settings(on: tuple[Bench, Connection]) -> None:
    """They are refused whether monitoring is on or not; nothing is changed."""
    made, controller = on
    before = made.tool.status["fields"]
    for content, code, says in _BAD_SETTINGS:
        for request_type in (of.MODE_ON, of.RESET_TABLE):
            with pytest.raises(Refused) as refused:
                controller.ask(request_type, content)
            assert (refused.value.code, says in refused.value.text) == (code, True), says
    assert made.tool.status["fields"] == before


_BAD_REQUESTS = [
        (13, b"", of.BAD_MESSAGE, "exp_type 13 is no request; requests have 0 to 12"),
        (0x800B, b"", of.BAD_MESSAGE, "is no request"),
        (of.OVERFLOW_NOTIFICATION, bytes(16), of.BAD_MESSAGE, "is no request"),
        *((kind, b"\0", of.BAD_MESSAGE, "1 bytes of content instead of 0")
          for kind in (of.FEATURES, of.MODE_OFF, of.PRUNE, of.STATUS)),
        (of.SET_SAMPLING_RATIO, bytes(4), of.BAD_MESSAGE, "4 bytes of content instead of 8"),
        (of.SET_LIMIT, bytes(8), of.BAD_MESSAGE, "8 bytes of content instead of 4"),
        (of.SET_SAMPLING_RATIO, b"\xff" * 8, of.BAD_VALUE, "from 0 to 4294967296"),
        (of.SET_LIMIT, bytes(4), of.BAD_VALUE, "limit: from 1 to 4096, not 0"),
        (of.SET_LIMIT, number(4097), of.BAD_VALUE, "limit: from 1 to 4096, not 4097"),
        (of.SET_QUERY_TIME_INTERVAL, number(49), of.BAD_VALUE, "from 50 to"),
        (of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, b"\xff" * 4, of.BAD_VALUE, "threshold"),
        (of.MODE_ON, _SETTINGS, of.ON, "monitoring is on: RESET_TABLE"),
        (of.STATISTICS, b"\2\0\0\0", of.BAD_MESSAGE, "reserved bits"),
        (of.STATISTICS, b"\1\0\0\1", of.BAD_MESSAGE, "reserved bits"),
        (of.ADD_ENTRIES, bytes(3), of.BAD_MESSAGE, "at least 4"),
        (of.ADD_ENTRIES, packed_keys([bytes(20)]), of.BAD_VALUE, "have 16 bytes, not 20"),
        (of.ADD_ENTRIES, packed_keys([bytes(16)])[:-1], of.BAD_MESSAGE, "15 bytes of keys"),
        (of.ADD_ENTRIES, packed_keys([bytes(16)]) + b"\0", of.BAD_MESSAGE, "17 bytes of keys"),
        *((kind, packed_keys([_KEY, key]), of.BAD_VALUE, "no packet has key 1")
          for kind in (of.ADD_ENTRIES, of.REMOVE_ENTRIES) for key in _BAD_KEYS),
    ]  # fmt: skip


def test_bad_requests(on: tuple[Bench, Connection]) -> None:
    """Nothing is changed."""
    made, controller = on
    for request_type, content, code, says in _BAD_REQUESTS:
        with pytest.raises(Refused) as refused:
            controller.ask(request_type, content)
        assert (refused.value.code, says in refused.value.text) == (code, True), says
    assert made.tool.entries == []


def test_requests_to_a_switch_that_is_not_monitored(off: tuple[Bench, Connection]) -> None:
    made, controller = off
    for request_type, content in (
        (of.MODE_OFF, b""),
        (of.RESET_TABLE, _SETTINGS),
        (of.ADD_ENTRIES, packed_keys([_KEY])),
        (of.REMOVE_ENTRIES, packed_keys([_KEY])),
        (of.SET_SAMPLING_RATIO, bytes(8)),
        (of.SET_QUERY_TIME_INTERVAL, number(1000)),
        (of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, bytes(4)),
        (of.SET_LIMIT, number(1)),
        (of.PRUNE, b""),
        (of.STATISTICS, bytes(4)),
    ):
        with pytest.raises(Refused) as refused:
            controller.ask(request_type, content)
        assert refused.value.code == of.OFF
    assert not made.tool.state.exists()
