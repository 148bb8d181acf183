"""Fields and flows as people write them. tests/integration compares keys with those of the tool."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.dataplane.sdnmon.controller.flows import (
    BY_NAME,
    Fields,
    Flow,
    fields_of,
    key_of,
    layout_of,
    reader,
)
from sfcperf.dataplane.sdnmon.fields import NAMES, Layout
from sfcperf.errors import InputError


@pytest.mark.parametrize(
    ("fields", "masks"),
    [
        ("ipv4_src/24", {"ipv4_src": 0xFFFFFF00}),
        ({"ipv4_src": 24}, {"ipv4_src": 0xFFFFFF00}),
        ({"ipv4_src": "255.0.255.0"}, {"ipv4_src": 0xFF00FF00}),
        ("ipv6_dst/1", {"ipv6_dst": 1 << 127}),
        ("ipv6_dst/ffff::", {"ipv6_dst": 0xFFFF << 112}),
        ("tcp_flags/0x12,tp_dst", {"tcp_flags": 0x12, "tp_dst": 0xFFFF}),
        ({"tcp_flags": 18, "tp_dst": None}, {"tcp_flags": 0x12, "tp_dst": 0xFFFF}),
        ("vlan_vid,nsh_spi", {"vlan_vid": 0x1FFF, "nsh_spi": 0xFFFFFF}),
        ("eth_src/ff:0:0:00:00:01", {"eth_src": 0xFF0000000001}),
    ],
)
def test_fields(fields: Fields, masks: dict[str, int]):
    assert layout_of(fields).masks == masks


def test_fields_that_are_none():
    wrong: list[Any] = [
        *("", ",", "ipv4", "presence", "tp_src,tp_src", "tp_src/", "tp_src/0", "tp_src/65536"),
        *("ipv4_src/0", "ipv4_src/33", "ipv4_src/-1", "ipv4_src/1.2.3", "ipv6_src/129"),
        *("eth_src/24", "tp_src/0X1", "tp_src/ 1", "tp_src/1 ", "tp_src=1", "x" * 3000),
        *({}, {"tp_src": True}, {"tp_src": -1}, {"ipv4_src": 0}, {"eth_src": 1}),
    ]
    for fields in wrong:
        with pytest.raises(InputError):
            layout_of(fields)


FIVE_TUPLE = layout_of("ipv4_src,ipv4_dst,ip_proto,tp_src,tp_dst")


@pytest.mark.parametrize(
    ("flow", "key"),
    [
        (
            "ipv4_src=10.0.0.1,ipv4_dst=10.0.0.2,ip_proto=6,tp_src=1000,tp_dst=80",
            "0a000001 0a000002 03e8 0050 0016 06 00",
        ),
        ({"tp_dst": 0x50}, "00000000 00000000 0000 0050 0012 00 00"),
        ("tp_dst=0x50", "00000000 00000000 0000 0050 0012 00 00"),
        ({"ip_proto": 1}, "00000000 00000000 0000 0000 0002 01 00"),
    ],
)
def test_keys(flow: Flow, key: str):
    assert key_of(FIVE_TUPLE, flow) == bytes.fromhex(key)


def test_flows_that_are_none():
    wrong: list[Any] = [
        *("", "tp_dst", "tp_dst=", "tp_dst=65536", "tp_dst=1,tp_dst=1", "ipv6_src=::1"),
        *("ipv4_src=10", "ipv4_src=10.0.0.01", "tp_dst=-1", "tp_dst=1,", "tp_dst/1", "eth_src=1"),
        *({}, {"tp_dst": None}, {"tp_dst": False}, {"ipv4_src": 1}, {"tp_dst": 1.0}),
    ]
    for flow in wrong:
        with pytest.raises(InputError):
            key_of(FIVE_TUPLE, flow)


def _value(name: str) -> st.SearchStrategy[str | int]:
    field = BY_NAME[name]
    numbers = st.integers(0, field.mask)
    if field.header in ("ipv4", "ipv6"):
        return numbers.map(lambda number: str(ip_address(number.to_bytes(field.bytes))))
    if field.bytes == 6:
        return numbers.map(lambda number: number.to_bytes(6).hex(":"))
    return numbers


@st.composite
def tables(draw: st.DrawFn) -> tuple[Layout, dict[str, str | int]]:
    """A table, and a flow with all fields of some headers."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    layout = layout_of(dict.fromkeys(names))
    headers = {field.header for name in names if (field := BY_NAME[name]).header}
    some = draw(st.sets(st.sampled_from(sorted(headers)))) if headers else set()
    # Those that the headers bring along.
    some |= {"ports"} if "tcp" in some else set()
    some |= {"ip"} if some & {"ipv4", "ipv6", "ports", "icmp"} else set()
    chosen = [n for n in names if BY_NAME[n].header is None or BY_NAME[n].header in some]
    return layout, {name: draw(_value(name)) for name in chosen}


@examples(500)
@given(tables())
def test_a_flow_comes_back(table: tuple[Layout, dict[str, str | int]]):
    layout, flow = table
    if not flow:
        return
    key = key_of(layout, flow)
    assert len(key) % 4 == 0
    found = reader(layout)(key)
    assert {name: _comparable(value) for name, value in found.items()} == {
        name: _comparable(value) for name, value in flow.items()
    }
    assert list(found) == [name for name in fields_of(layout) if name in flow]
    text = ",".join(f"{name}={value}" for name, value in flow.items())
    assert key_of(layout, text) == key


def _comparable(value: str | int) -> object:
    """IPv6 has several forms."""
    if isinstance(value, str) and (value.count(":") != 5 or len(value) != 17):
        return ip_address(value)
    return value


@examples(200)
@given(tables())
def test_fields_come_back(table: tuple[Layout, dict[str, str | int]]):
    layout, _ = table
    assert layout_of(fields_of(layout)).masks == layout.masks
    text = ",".join(f"{name}/{mask}" for name, mask in fields_of(layout).items())
    assert layout_of(text).masks == layout.masks
