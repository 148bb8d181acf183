"""The packets of a trace with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.pcap_file import frames
from sfcperf.traffic.labels import Labels

_NS_PER_S = 1e9


class LabelledPacket(NamedTuple):
    """A packet that belongs to a flow."""

    time_ns: int
    """Since the first frame of the capture."""
    frame: bytes
    """From its Ethernet header on."""
    flow: Flow
    """As in the packet: source to destination."""
    label: str | None
    """None if no row of the labels matches."""


def labelled_packets(pcap: Path, labels: Labels) -> Iterator[LabelledPacket]:
    """In the order of the capture; frames that belong to no flow are left out. Raises
    MeasurementError for a damaged capture."""
    first_ns: int | None = None
    for at_ns, frame in frames(pcap):
        first_ns = at_ns if first_ns is None else first_ns
        flow = flow_of(frame)
        if flow is not None:
            label = labels.of(flow, (at_ns - first_ns) / _NS_PER_S)
            yield LabelledPacket(at_ns - first_ns, frame, flow, label)
