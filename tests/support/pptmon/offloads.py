"""Packets with work left for the hardware, and what hardware makes of them."""

from __future__ import annotations

from scapy.packet import Packet
from scapy.utils import checksum

from support.pptmon.tap import NEEDS_CSUM, Offload
from support.pptmon.zoo import ethernet, network
from support.pptmon_model import packet
from support.pptmon_model.errors import FormatError
from support.pptmon_model.layers import Kind, walk

GSO_TCP = {4: 1, 6: 4}  # VIRTIO_NET_HDR_GSO_TCPV4, _TCPV6
CHECKSUM_AT = {Kind.TCP: 16, Kind.UDP: 6}


def unfinished(frame: bytes) -> tuple[bytes, Offload]:
    """The frame as a kernel hands it to hardware: the pseudo header's sum instead of a checksum."""
    layers = walk(frame)
    last, network_ = layers[-1], layers[-2]
    data = bytearray(frame)
    at = last.start + CHECKSUM_AT[last.kind]
    addresses = frame[network_.start + 12 : network_.start + 20]
    if network_.kind is Kind.IPV6:
        addresses = frame[network_.start + 8 : network_.start + 40]
    length = network_.end - last.start
    protocol = 6 if last.kind is Kind.TCP else 17
    pseudo = addresses + length.to_bytes(4, "big") + protocol.to_bytes(4, "big")
    data[at : at + 2] = (0xFFFF ^ checksum(pseudo)).to_bytes(2, "big")
    return bytes(data), Offload(last.start, CHECKSUM_AT[last.kind], flags=NEEDS_CSUM)


def finished_by_hardware(frame: bytes, offload: Offload) -> bytes:
    """What goes on the wire: the sum from the start to the end of the frame, as hardware does."""
    if not offload.flags & NEEDS_CSUM:
        return frame
    data = bytearray(frame)
    at = offload.csum_start + offload.csum_offset
    total = checksum(frame[offload.csum_start :])
    data[at : at + 2] = (total or 0xFFFF if offload.csum_offset == 6 else total).to_bytes(2, "big")
    return bytes(data)


def wrong_with(carried: bytes, frame: bytes, hops: int) -> str | None:
    """Why this is not the frame with a header of so many hops."""
    try:
        found = packet.read(carried)
        if found is None or len(found.header.hops) != hops:
            return f"header {found}"
        return None if packet.strip(carried) == frame else "changed"
    except FormatError as error:
        return str(error)


def super_packet(
    version: int, transport: Packet, gso_type: int, size: int
) -> tuple[bytes, Offload]:
    """One that is to be cut into segments of so many bytes of payload."""
    frame, offload = unfinished(bytes(ethernet() / network(version) / transport))
    headers = walk(frame)[-1].payload
    return frame, Offload(
        offload.csum_start, offload.csum_offset, gso_type, size, headers, NEEDS_CSUM
    )


def without_checksum(frame: bytes) -> bytes:
    """TCP's, which is whoever's who cuts the packet."""
    at = walk(frame)[-1].start + 16
    return frame[:at] + b"\0\0" + frame[at + 2 :]
