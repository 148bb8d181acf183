"""From a frame to the values of match fields, check by check (docs/reference/sdn-mon.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfcperf.dataplane.sdnmon.fields import Depth, Layout

IPV4, IPV6, NSH, OTHER = 0x0800, 0x86DD, 0x894F, 0
_VLAN_TYPES = (0x8100, 0x88A8)
_TAGS = 2
_LENGTH_MOST = 0x5FF
_VID_PRESENT = 0x1000
_TCP, _UDP, _SCTP, _ICMP, _ICMPV6 = 6, 17, 132, 1, 58
_FRAGMENT_HEADER, _AUTHENTICATION = 44, 51
_OPTIONS = (0, 43, 60)
_EXTENSIONS = 4
_VXLAN_PORT, _GPE_PORT = 4789, 4790
_GPE_PROTOCOLS = {1: IPV4, 2: IPV6}
_GPE_ETHERNET, _GPE_NSH = 3, 4
_NSH_PROTOCOLS = {1: IPV4, 2: IPV6}
_NSH_ETHERNET = 3


class MalformedError(Exception):
    """A frame that is not monitored. The argument is the name of the total that counts it."""


def _require(condition: bool, total: str) -> None:
    """Raise MalformedError with this total, unless the condition is met."""
    if not condition:
        raise MalformedError(total)


@dataclass
class _Reader:
    """Reads a frame from front to back. It has the bytes that are left, and what was found so
    far."""

    left: bytes
    values: dict[str, int] = field(default_factory=dict)
    """Name of a match field -> value."""
    headers: set[str] = field(default_factory=set)
    """Those of fields.HEADERS that the packet has."""
    protocol: int = OTHER
    """EtherType of what is at the start of `left`; OTHER if it is not read."""

    def peek(self, count: int) -> bytes:
        """Return the next `count` bytes. Raises MalformedError if there are fewer."""
        _require(len(self.left) >= count, "malformed_truncated")
        return self.left[:count]

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes, and move on behind them. Raises MalformedError."""
        taken = self.peek(count)
        self.left = self.left[count:]
        return taken


def read(frame: bytes, layout: Layout) -> bytes:
    """Return the key of a frame as it was on the wire. Raises MalformedError, with
    `without_fields` if the packet has none of the fields."""
    reader = _Reader(frame)
    _link(reader, outermost=True)
    if layout.depth > Depth.LINK:
        if layout.looks_into_tunnels:
            _tunnel(reader)
        if reader.protocol == IPV4:
            _ipv4(reader, layout.depth)
        elif reader.protocol == IPV6:
            _ipv6(reader, layout.depth)
    _require(layout.has_link_fields or bool(layout.headers & reader.headers), "without_fields")
    return layout.key(reader.values, reader.headers)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _link(reader: _Reader, *, outermost: bool) -> None:
    """Take an Ethernet header with its VLAN tags. Only the outermost header gives fields."""
    header = reader.take(14)
    reader.protocol = _number(header[12:])
    for _ in range(_TAGS):
        if reader.protocol not in _VLAN_TYPES:
            break
        tag = reader.take(4)
        if outermost and "vlan" not in reader.headers:
            tci = _number(tag[:2])
            reader.values |= {"vlan_vid": tci & 0xFFF | _VID_PRESENT, "vlan_pcp": tci >> 13}
            reader.headers.add("vlan")
        reader.protocol = _number(tag[2:])
    if reader.protocol <= _LENGTH_MOST:
        reader.protocol = _LENGTH_MOST
    if outermost:
        reader.values["eth_dst"] = _number(header[:6])
        reader.values["eth_src"] = _number(header[6:12])
        reader.values["eth_type"] = reader.protocol


def _nsh(reader: _Reader) -> None:
    """Take an NSH, and the Ethernet header that it carries, if any."""
    base = reader.peek(8)
    words, md_type = base[1] & 0x3F, base[2] & 0xF
    right = words == 6 if md_type == 1 else md_type == 2 and words >= 2
    _require(base[0] >> 6 == 0 and right, "malformed_nsh")
    reader.take(4 * words)
    reader.values |= {"nsh_spi": _number(base[4:7]), "nsh_si": base[7]}
    reader.headers.add("nsh")
    if base[3] == _NSH_ETHERNET:
        _link(reader, outermost=False)
    else:
        reader.protocol = _NSH_PROTOCOLS.get(base[3], OTHER)


def _ip_bytes_before_udp(reader: _Reader) -> int:
    """Return the length of the IP header if a whole UDP datagram follows it; 0 if none does."""
    ip = reader.left
    if reader.protocol == IPV4 and len(ip) >= 20:
        whole = not _number(ip[6:8]) & 0x3FFF
        if ip[0] >> 4 == 4 and ip[0] & 0xF >= 5 and ip[9] == _UDP and whole:
            return (ip[0] & 0xF) * 4
    if reader.protocol == IPV6 and len(ip) >= 40 and ip[0] >> 4 == 6 and ip[6] == _UDP:
        return 40
    return 0


def _tunnel(reader: _Reader) -> None:
    """Move the reader to the packet inside a tunnel or an NSH. It stays where it is if there is
    neither."""
    if reader.protocol == NSH:
        _nsh(reader)
        return
    before = _ip_bytes_before_udp(reader)
    if not before:
        return
    # A reader of its own, because IP and UDP are read again if this is no tunnel.
    inner = _Reader(reader.left)
    inner.take(before)
    udp = inner.peek(8)
    port, count = _number(udp[2:4]), _number(udp[4:6])
    if port not in (_VXLAN_PORT, _GPE_PORT):
        return
    _require(count >= 16, "malformed_transport")
    inner.left = inner.peek(count)
    inner.take(8)
    tunnel = inner.take(8)
    flags = tunnel[0]
    # VXLAN must have flag I, VXLAN-GPE flags I and P and version 0.
    if flags & 0x08 == 0 if port == _VXLAN_PORT else flags & 0x3C != 0x0C:
        return
    reader.left = inner.left
    reader.values["tunnel_id"] = _number(tunnel[4:7])
    reader.headers.add("tunnel")
    following = _GPE_ETHERNET if port == _VXLAN_PORT else tunnel[3]
    if following == _GPE_ETHERNET:
        _link(reader, outermost=False)
    elif following == _GPE_NSH:
        _nsh(reader)
    else:
        reader.protocol = _GPE_PROTOCOLS.get(following, OTHER)


def _found_ip(reader: _Reader, version: str, protocol: int, traffic_class: int) -> None:
    """Note the fields that IPv4 and IPv6 have in common. `version` is `ipv4` or `ipv6`."""
    reader.headers |= {"ip", version}
    reader.values |= {
        "ip_proto": protocol,
        "ip_dscp": traffic_class >> 2,
        "ip_ecn": traffic_class & 3,
    }


def _ipv4(reader: _Reader, depth: Depth) -> None:
    """Take an IPv4 header, and read the transport header behind it as far as `depth` says."""
    ip = reader.peek(20)
    total, count = _number(ip[2:4]), (ip[0] & 0xF) * 4
    _require(ip[0] >> 4 == 4 and count >= 20 and total >= count, "malformed_ip")
    reader.left = reader.peek(total)  # without what Ethernet padded it with
    reader.take(count)
    reader.values |= {"ipv4_src": _number(ip[12:16]), "ipv4_dst": _number(ip[16:20])}
    _found_ip(reader, "ipv4", ip[9], ip[1])
    # Only the first fragment, whose offset is 0, has a transport header.
    if depth == Depth.TRANSPORT and not _number(ip[6:8]) & 0x1FFF:
        _transport(reader, ip[9], _ICMP)


def _extension_bytes(protocol: int, length: int) -> int:
    """Return the length of an IPv6 extension header (RFC 8200, RFC 4302), of which `length` is
    the length field; 0 if `protocol` is none."""
    if protocol in _OPTIONS:
        return (length + 1) * 8
    if protocol == _FRAGMENT_HEADER:
        return 8
    return (length + 2) * 4 if protocol == _AUTHENTICATION else 0


def _ipv6(reader: _Reader, depth: Depth) -> None:
    """Take an IPv6 header with its extension headers, and read the transport header behind them as
    far as `depth` says."""
    ip = reader.take(40)
    _require(ip[0] >> 4 == 6, "malformed_ip")
    reader.left = reader.peek(_number(ip[4:6]))
    reader.values |= {"ipv6_src": _number(ip[8:24]), "ipv6_dst": _number(ip[24:40])}
    # `later`: this is a fragment other than the first, and has no transport header.
    protocol, later = ip[6], False
    for _ in range(_EXTENSIONS):
        if later or not _extension_bytes(protocol, 0):
            break
        _require(len(reader.left) >= 8, "malformed_ip")
        head = reader.left[:8]
        count = _extension_bytes(protocol, head[1])
        _require(len(reader.left) >= count, "malformed_ip")
        reader.take(count)
        later = protocol == _FRAGMENT_HEADER and bool(_number(head[2:4]) & 0xFFF8)
        protocol = head[0]
    _require(later or not _extension_bytes(protocol, 0), "too_many_headers")
    _found_ip(reader, "ipv6", protocol, _number(ip[:2]) >> 4 & 0xFF)
    if depth == Depth.TRANSPORT and not later:
        _transport(reader, protocol, _ICMPV6)


def _transport(reader: _Reader, protocol: int, icmp: int) -> None:
    """Read a header of TCP, UDP, SCTP or ICMP, if it is one. `icmp` is the protocol number of ICMP
    in this version of IP."""
    data = reader.left
    if protocol == icmp:
        _require(len(data) >= 4, "malformed_transport")
        reader.values |= {"icmp_type": data[0], "icmp_code": data[1]}
        reader.headers.add("icmp")
        return
    least = {_TCP: 20, _UDP: 8, _SCTP: 12}.get(protocol)
    if least is None:
        return
    _require(len(data) >= least, "malformed_transport")
    if protocol == _TCP:
        offset = (data[12] >> 4) * 4
        _require(least <= offset <= len(data), "malformed_transport")
        reader.values["tcp_flags"] = _number(data[12:14]) & 0xFFF
        reader.headers.add("tcp")
    reader.values |= {"tp_src": _number(data[:2]), "tp_dst": _number(data[2:4])}
    reader.headers.add("ports")
