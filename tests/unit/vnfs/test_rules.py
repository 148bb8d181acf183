"""Rules as text: how many, in which order, and that none can be meant by a packet."""

from __future__ import annotations

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from sfcperf.vnfs.firewall.function import MAX_RULES
from sfcperf.vnfs.ips import rules as ips
from sfcperf.vnfs.ips.function import unwrapped
from sfcperf.vnfs.packet_filter import rules as firewall

RESERVED = ipaddress.IPv4Network("240.0.0.0/4")
BROADCAST = ipaddress.IPv4Address("255.255.255.255")


def test_no_packet_has_the_addresses_of_the_firewall() -> None:
    addresses = list(firewall.addresses(MAX_RULES))
    assert len(set(addresses)) == MAX_RULES
    assert all(address in RESERVED for address in (addresses[0], addresses[-1]))
    assert BROADCAST not in addresses


@given(st.integers(0, 300), st.sampled_from(["accept", "drop"]))
def test_the_last_rule_of_the_firewall_is_behind_all_others(count: int, default: str) -> None:
    rules = firewall.nftables_rules(count, default)
    assert len([rule for rule in rules if "240." in rule]) == count
    assert rules[count:] == [f"counter name {firewall.LAST} {default}"]
    restored = firewall.iptables(count, default).splitlines()
    own = [line for line in restored if line.startswith(f"-A {firewall.CHAIN} ")]
    assert len(own) == count + 1
    assert own[-1] == f"-A {firewall.CHAIN} -j {firewall.END}"


@given(st.lists(st.text(min_size=1, max_size=40), max_size=20))
def test_patterns_are_written_so_that_nothing_in_them_is_syntax(patterns: list[str]) -> None:
    """Quotes, line breaks, bars: each byte is in hexadecimal."""
    lines = [rule for rule in ips.netfilter(patterns, 10) if "hex-string" in rule]
    found = [bytes.fromhex(line.split("|")[1]) for line in lines]
    assert found == [pattern.encode() for pattern in patterns]
    written = ips.suricata(patterns).splitlines()
    assert len(written) == len(patterns)
    assert len({line.partition("sid:")[2] for line in written}) == len(patterns)


def test_counters_of_the_ips_are_those_of_its_chains() -> None:
    saved = """\
*filter
:FORWARD ACCEPT [9:9]
[3:300] -A FORWARD -j sfcperf-ips
[2:200] -A sfcperf-ips -m string --string "-A sfcperf-ips-text" --algo bm -j sfcperf-ips-text
[2:200] -A sfcperf-ips-text -j DROP
[0:0] -A sfcperf-ips-flags -j DROP
[1:100] -A sfcperf-ips-rate -j DROP
*mangle
[4:400] -A POSTROUTING -o in0 -j sfcperf-ips-ok
[3:300] -A POSTROUTING -o out0 -j sfcperf-ips-ok
[7:700] -A sfcperf-ips-ok -j RETURN
"""
    assert ips.counters(saved, ("in0", "out0")) == {
        "sfcperf-ips-text": 2,
        "sfcperf-ips-flags": 0,
        "sfcperf-ips-rate": 1,
        "sfcperf-ips-ok": 7,
    }
    for way_in in ("-A FORWARD -j", "-A POSTROUTING -o out0"):
        other = saved.replace(way_in, "-A OUTPUT -j")
        assert ips.counters(other, ("in0", "out0")) == {}


@given(st.integers(0, 1 << 40), st.integers(-(1 << 31), (1 << 31) - 1))
def test_a_count_of_32_bits_is_told_from_a_longer_one(forwarded: int, more: int) -> None:
    inspected = forwarded + more
    assert unwrapped(inspected % (1 << 32), forwarded) == inspected
