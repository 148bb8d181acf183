"""Payloads and frames that fit the MTU. Larger packets would be fragmented, and since only the
first fragment has ports, the chain would see other packets."""

from __future__ import annotations

from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Endpoint

IPV4_HEADER_BYTES = 20
UDP_HEADER_BYTES = 8
ICMP_HEADER_BYTES = 8
ETHERNET_BYTES = 18
"""Ethernet header and frame check sequence, without VLAN tag."""


def largest_payload_bytes(client: Endpoint, header_bytes: int) -> int:
    """Return the largest payload of an unfragmented IPv4 packet whose transport header has
    `header_bytes`."""
    return client.mtu - IPV4_HEADER_BYTES - header_bytes


def check_payload(client: Endpoint, payload_bytes: int, header_bytes: int) -> None:
    """Check the size of a payload behind a transport header of `header_bytes`. Raises
    MeasurementError when its packets would be fragmented."""
    largest = largest_payload_bytes(client, header_bytes)
    if payload_bytes > largest:
        raise MeasurementError(
            f"payload_bytes {payload_bytes} would be fragmented: {client.interface} of the client "
            f"has an MTU of {client.mtu} bytes",
            allowed=f"payload_bytes up to {largest}",
        )


def check_frame(client: Endpoint, frame_bytes: int) -> None:
    """Check a frame size, which includes the frame check sequence. Raises MeasurementError when the
    packet in such a frame exceeds the MTU."""
    largest = client.mtu + ETHERNET_BYTES
    if frame_bytes > largest:
        raise MeasurementError(
            f"frames of {frame_bytes} bytes are too large: {client.interface} of the client has an "
            f"MTU of {client.mtu} bytes",
            allowed=f"frame_bytes up to {largest}",
        )
