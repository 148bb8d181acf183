"""5-tuples are those that scapy put into the packets."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.layers.sctp import SCTP

from sfcperf.packets.ethernet import without_tags
from sfcperf.packets.five_tuple import Flow, flow_of

PORTS = st.integers(0, 65535)
V4 = st.integers(0, 2**32 - 1).map(lambda number: str(IPv4Address(number)))
V6 = st.integers(0, 2**128 - 1).map(lambda number: str(IPv6Address(number)))
MAC = "02:00:00:00:00:01"
WITH_PORTS = {6: TCP, 17: UDP, 132: SCTP}


@given(st.data(), st.booleans(), st.sampled_from(sorted(WITH_PORTS)), PORTS, PORTS)
def test_protocols_with_ports(data, v6, protocol, source_port, destination_port):
    source, destination = data.draw(V6 if v6 else V4), data.draw(V6 if v6 else V4)
    outer = IPv6 if v6 else IP
    inside = WITH_PORTS[protocol](sport=source_port, dport=destination_port)
    frame = bytes(Ether() / outer(src=source, dst=destination) / inside)
    flow = flow_of(frame)
    assert flow == Flow(source, source_port, destination, destination_port, protocol)
    assert flow.canonical == flow.reverse.canonical
    assert flow.canonical in (flow, flow.reverse)


@given(st.lists(st.sampled_from([0x8100, 0x88A8, 0x9100]), max_size=4), st.booleans())
def test_vlan_tags_are_skipped(tags, v6):
    outer = IPv6(src="::1", dst="::2") if v6 else IP(src="10.0.0.1", dst="10.0.0.2")
    plain = bytes(Ether(src=MAC, dst=MAC) / outer / UDP(sport=1, dport=2))
    tagged = plain[:12] + b"".join(tag.to_bytes(2, "big") + b"\0\5" for tag in tags) + plain[12:]
    assert flow_of(tagged) == flow_of(plain) is not None
    assert without_tags(tagged) == plain


def test_protocols_without_ports():
    v4 = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / ICMP())
    assert flow_of(v4) == Flow("10.0.0.1", 0, "10.0.0.2", 0, 1)
    v6 = bytes(Ether() / IPv6(src="::1", dst="::2") / ICMPv6EchoRequest())
    assert flow_of(v6) == Flow("::1", 0, "::2", 0, 58)
    later = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2", proto=17, frag=100) / b"12345678")
    assert flow_of(bytes(Ether() / ARP())) is None
    assert flow_of(later) == Flow("10.0.0.1", 0, "10.0.0.2", 0, 17)


@given(st.binary(max_size=60))
def test_anything_else_is_none_or_a_flow(data):
    found = flow_of(data)
    assert found is None or isinstance(found, Flow)
