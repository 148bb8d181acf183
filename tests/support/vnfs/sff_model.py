"""What sfc-sff has to do with a frame from a function or a link, by the Python codec of the NSH.

It knows the tables of SffBench with some paths. Scapy reads the same headers once more.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from scapy.contrib.nsh import NSH
from scapy.utils import checksum

from sfcperf.dataplane.nsh.header import Nsh, NshError
from support.vnfs.sff_bench import (
    CLIENT,
    FAR_ADDRESS,
    FAR_NODE,
    FAR_SERVER,
    GPE_SF,
    GPE_SF_ADDRESS,
    LEAVES,
    NODE,
    NODE_ADDRESS,
    NSH_SF,
    PLAIN_SF,
    PORT_CLIENT,
    PORT_GPE,
    PORT_LINK,
    PORT_NSH,
    PORT_SERVER,
    SERVER,
    gpe_headers,
)

_ETHERNET, _TUNNEL, _CONTEXTS = 14, 50, 24
_ROUTES = {FAR_ADDRESS: PORT_LINK, GPE_SF_ADDRESS: PORT_GPE}
_PORTS = {CLIENT: PORT_CLIENT, SERVER: PORT_SERVER}


class Dropped(Exception):
    """The frame is dropped; `reason` is that of the counters."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Sent:
    """A frame that leaves; its UDP source port is zero where it is the sender's choice."""

    port: int
    frame: bytes


def expected(port: int, frame: bytes, paths: Mapping[tuple[int, int], str]) -> Sent:
    """What becomes of a frame. `paths`: (SPI, SI) -> key of `TO`. Raises Dropped."""
    if port == PORT_NSH:
        if frame[12:14] != b"\x89\x4f" or frame[:6] != _mac(NODE):
            raise Dropped("encapsulation")
        return _along_path(frame[_ETHERNET:], paths)
    return _from_underlay(frame, paths)


def without_choice(port: int, frame: bytes) -> Sent:
    """A frame that left, to be compared."""
    if frame[12:14] == b"\x08\x00" and frame[6:12] == _mac(NODE) and port in (PORT_LINK, PORT_GPE):
        frame = frame[:34] + bytes(2) + frame[36:]
    return Sent(port, frame)


def _from_underlay(frame: bytes, paths: Mapping[tuple[int, int], str]) -> Sent:
    if len(frame) < _TUNNEL:
        raise Dropped("truncated")
    if frame[12:14] != b"\x08\x00":
        raise Dropped("encapsulation")
    address = ".".join(map(str, frame[30:34]))
    if address != NODE_ADDRESS:
        if address not in _ROUTES:
            raise Dropped("no_station")
        return Sent(_ROUTES[address], frame)
    fragment, destination = (struct.unpack_from("!H", frame, at)[0] for at in (20, 36))
    sound = (
        frame[14] == 0x45
        and frame[23] == 17
        and not fragment & 0x3FFF
        and destination == 4790
        and frame[46:49] == bytes(3)
        and checksum(frame[14:34]) == 0
    )
    if not sound:
        raise Dropped("encapsulation")
    ip_bytes, udp_bytes = (struct.unpack_from("!H", frame, at)[0] for at in (16, 38))
    if not 16 <= udp_bytes <= ip_bytes - 20 or ip_bytes > len(frame) - _ETHERNET:
        raise Dropped("truncated")
    packet = frame[_TUNNEL : 34 + udp_bytes]
    # Version 0, I and P set.
    if frame[42] & 0x3C != 0x0C or frame[45] not in (3, 4):
        raise Dropped("encapsulation")
    return _along_path(packet, paths) if frame[45] == 4 else _bypass(packet)


def _bypass(packet: bytes) -> Sent:
    if len(packet) < _ETHERNET:
        raise Dropped("truncated")
    for mac, port in _PORTS.items():
        if packet[:6] == _mac(mac):
            return Sent(port, packet)
    if packet[:6] == _mac(FAR_SERVER):
        return _tunnelled(PORT_LINK, FAR_NODE, FAR_ADDRESS, 3, packet)
    raise Dropped("no_station")


def _along_path(packet: bytes, paths: Mapping[tuple[int, int], str]) -> Sent:
    try:
        header, _ = Nsh.decode(packet)
        _scapy_agrees(packet, header)
    except NshError as error:
        # Metadata of MD type 2 are not for the SFF.
        if error.reason != "metadata":
            raise Dropped(error.reason) from error
        header, _ = Nsh.decode(packet[:1] + bytes([packet[1] & 0xC0 | 2]) + packet[2:8])
    if header.oam:
        raise Dropped("oam")
    if header.si == 0:
        raise Dropped("si_zero")
    ttl = (header.ttl - 1) & 0x3F
    if ttl == 0:
        raise Dropped("ttl")
    action = paths.get((header.spi, header.si))
    if action is None:
        raise Dropped("no_path")
    size = (packet[1] & 0x3F) * 4
    return _leave(action, packet, size, ttl)


def _scapy_agrees(packet: bytes, header: Nsh) -> None:
    seen = NSH(packet[:_CONTEXTS] if packet[2] & 0x0F == 1 else packet[:8])
    read = (seen.spi, seen.si, seen.ttl, seen.nextproto, bool(seen.oam))
    assert read == (header.spi, header.si, header.ttl, header.next_protocol, header.oam)


def _leave(action: str, packet: bytes, size: int, ttl: int) -> Sent:
    port, next_protocol, inner = LEAVES[action], packet[3], packet[size:]
    if action in ("nsh", "gpe", "link"):
        first = struct.unpack_from("!H", packet)[0] & ~(0x3F << 6) | ttl << 6
        onward = first.to_bytes(2, "big") + packet[2:]
        if action == "nsh":
            return Sent(port, _mac(NSH_SF) + _mac(NODE) + b"\x89\x4f" + onward)
        if action == "gpe":
            return _tunnelled(port, GPE_SF, GPE_SF_ADDRESS, 4, onward)
        return _tunnelled(port, FAR_NODE, FAR_ADDRESS, 4, onward)
    ethertype = {1: b"\x08\x00", 2: b"\x86\xdd"}.get(next_protocol)
    if action == "plain" and ethertype:
        return Sent(port, _mac(PLAIN_SF) + _mac(NODE) + ethertype + inner)
    if next_protocol != 3:
        raise Dropped("next_protocol")
    if len(inner) < _ETHERNET:
        raise Dropped("truncated")
    if action == "plain":
        return Sent(port, _mac(PLAIN_SF) + inner[6:])
    if action == "end":
        return Sent(port, inner)
    return _tunnelled(port, FAR_NODE, FAR_ADDRESS, 3, inner)


def _tunnelled(port: int, mac: str, address: str, next_protocol: int, packet: bytes) -> Sent:
    headers = gpe_headers(bytes(_TUNNEL + len(packet)), mac, address, next_protocol)
    return Sent(port, headers + packet)


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))
