"""From a frame to a packet: the parser of the specification, check by check."""

from __future__ import annotations

from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address

from sfcperf.dataplane.nsh.header import ETHERTYPE as NSH
from sfcperf.dataplane.nsh.packet import Flow, Packet
from sfcperf.dataplane.nsh.vxlan_gpe import UDP_PORT as VXLAN_GPE

IPV4, IPV6 = 0x0800, 0x86DD
ETHERNET_BYTES = 14
_UDP = 17
_WITH_PORTS = (6, _UDP, 33, 132, 136)
"""TCP, UDP, DCCP, SCTP, UDP-Lite."""
_PORTS_BYTES = 4


class Reason(IntEnum):
    """Why a frame was not monitored. The value is the index of the counter of such frames."""

    NOT_NSH = 0
    """It carries no NSH."""
    NSH = 1
    """The NSH is malformed."""
    NOT_IP = 2
    """The NSH carries neither IPv4 nor IPv6."""
    IP = 3
    """The IP header is malformed, or the packet is too short for its ports."""
    TRUNCATED = 4
    """It ends inside a header."""


class Unparsed(Exception):
    """The frame is no packet to monitor."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.name.lower())
        self.reason = reason


def parse(frame: bytes) -> Packet:
    """Return the packet in a frame that carries an NSH. Raises Unparsed."""
    ethertype = int.from_bytes(_needed(frame, ETHERNET_BYTES)[12:14], "big")
    rest = frame[ETHERNET_BYTES:]
    if ethertype != NSH:
        rest = _vxlan_gpe(_udp(rest, ethertype))
    head = _needed(rest, 8)
    version, words, md_type = head[0] >> 6, head[1] & 0x3F, head[2] & 0x0F
    _require(version == 0 and ((md_type == 1 and words == 6) or (md_type == 2 and words >= 2)),
             Reason.NSH)  # fmt: skip
    _needed(rest, 4 * words)
    spi, si = int.from_bytes(head[4:7], "big"), head[7]
    ethertype, inner = _inner(head[3], rest[4 * words :])
    return parse_ip(inner, ethertype, spi, si)


def parse_ip(data: bytes, ethertype: int, spi: int, si: int) -> Packet:
    """Return the packet that starts with an IP header, as one of this path. `ethertype` is IPV4 or
    IPV6. Raises Unparsed."""
    return _ipv4(data, spi, si) if ethertype == IPV4 else _ipv6(data, spi, si)


def _needed(data: bytes, count: int) -> bytes:
    """Return the data as they are. Raises Unparsed (TRUNCATED) if there are fewer bytes than
    `count`."""
    _require(len(data) >= count, Reason.TRUNCATED)
    return data


def _require(holds: bool, reason: Reason) -> None:
    """Raise Unparsed with this reason unless the condition holds."""
    if not holds:
        raise Unparsed(reason)


def _udp(data: bytes, ethertype: int) -> bytes:
    """Return the UDP datagram of an IP packet, from the UDP header on. Raises Unparsed."""
    _require(ethertype in (IPV4, IPV6), Reason.NOT_NSH)
    if ethertype == IPV6:
        head = _needed(data, 40)
        _require(head[0] >> 4 == 6 and head[6] == _UDP, Reason.NOT_NSH)
        return data[40:]
    head = _needed(data, 20)
    length = 4 * (head[0] & 0x0F)
    fragment = int.from_bytes(head[6:8], "big") & 0x3FFF  # more fragments, or an offset
    _require(head[0] >> 4 == 4 and length >= 20 and head[9] == _UDP and not fragment,
             Reason.NOT_NSH)  # fmt: skip
    return _needed(data, length)[length:]


def _vxlan_gpe(data: bytes) -> bytes:
    """Return what follows the UDP and VXLAN-GPE headers: the NSH. Raises Unparsed."""
    _require(int.from_bytes(_needed(data, 8)[2:4], "big") == VXLAN_GPE, Reason.NOT_NSH)
    head = _needed(data[8:], 8)
    # Version 0 (mask 0x30) with the flags I (0x08) and P (0x04); next protocol 4 is the NSH.
    _require(head[0] & 0x3C == 0x0C and head[3] == 4, Reason.NOT_NSH)
    return head[8:]


def _inner(next_protocol: int, data: bytes) -> tuple[int, bytes]:
    """Return the EtherType and the bytes of the packet that the NSH carries. Raises Unparsed."""
    if next_protocol == 3:
        ethertype = int.from_bytes(_needed(data, ETHERNET_BYTES)[12:14], "big")
        _require(ethertype in (IPV4, IPV6), Reason.NOT_IP)
        return ethertype, data[ETHERNET_BYTES:]
    _require(next_protocol in (1, 2), Reason.NOT_IP)
    return IPV4 if next_protocol == 1 else IPV6, data


def _ipv4(data: bytes, spi: int, si: int) -> Packet:
    """Return the packet of an IPv4 header. The ports of a fragment are 0, also those of the first
    one. Raises Unparsed."""
    head = _needed(data, 20)
    length, total = 4 * (head[0] & 0x0F), int.from_bytes(head[2:4], "big")
    _require(head[0] >> 4 == 4 and length >= 20 and total >= length, Reason.IP)
    _needed(data, length)
    fragment = int.from_bytes(head[6:8], "big") & 0x3FFF  # more fragments, or an offset
    proto = head[9]
    ports = (0, 0)
    if proto in _WITH_PORTS and not fragment:
        ports = _ports(data[length:], total - length)
    flow = Flow(spi, si, IPv4Address(head[12:16]), IPv4Address(head[16:20]), proto, *ports)
    return Packet(flow, total)


def _ipv6(data: bytes, spi: int, si: int) -> Packet:
    """Return the packet of an IPv6 header. Behind an extension header, ports are not looked for:
    they are 0. Raises Unparsed."""
    head = _needed(data, 40)
    _require(head[0] >> 4 == 6, Reason.IP)
    payload, proto = int.from_bytes(head[4:6], "big"), head[6]
    ports = _ports(data[40:], payload) if proto in _WITH_PORTS else (0, 0)
    flow = Flow(spi, si, IPv6Address(head[8:24]), IPv6Address(head[24:40]), proto, *ports)
    return Packet(flow, 40 + payload)


def _ports(data: bytes, announced: int) -> tuple[int, int]:
    """Return source and destination port at the start of an IP packet's payload. `announced`: its
    length according to the IP header. Raises Unparsed."""
    _require(announced >= _PORTS_BYTES, Reason.IP)
    _needed(data, _PORTS_BYTES)
    return int.from_bytes(data[:2], "big"), int.from_bytes(data[2:4], "big")
