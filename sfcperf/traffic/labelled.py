"""Reads the packets of a trace with their labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.left_out import LeftOutCounts, reason_of
from sfcperf.packets.pcap_file import frames
from sfcperf.traffic.labels import Labels

_NS_PER_S = 1e9


class LabelledPacket(NamedTuple):
    """A packet that belongs to a flow, with its label."""

    time_ns: int
    """Time since the first frame of the capture."""
    frame: bytes
    """Bytes of the packet from its Ethernet header on."""
    flow: Flow
    """Flow of the packet in its own direction, from source to destination."""
    label: str | None
    """None if no row of the labels matches."""


class LabelledTrace:
    """The packets of a capture that belong to flows, in the order of the capture. Iteration reads
    the capture, and raises InputError if it is damaged."""

    def __init__(self, pcap: Path, labels: Labels) -> None:
        self._pcap, self._labels = pcap, labels
        self.frames = 0
        """Number of frames that were read so far."""
        self.left_out = LeftOutCounts()
        """Frames among these that belong to no flow, by reason."""

    def __iter__(self) -> Iterator[LabelledPacket]:
        """Give the packets, and count frames and what is left out on the way. Iterate once: the
        counts are not reset."""
        first_ns: int | None = None
        for at_ns, frame in frames(self._pcap):
            first_ns = at_ns if first_ns is None else first_ns
            self.frames += 1
            flow = flow_of(frame)
            if flow is None:
                self.left_out.add(reason_of(frame))
                continue
            label = self._labels.of(flow, (at_ns - first_ns) / _NS_PER_S)
            yield LabelledPacket(at_ns - first_ns, frame, flow, label)
