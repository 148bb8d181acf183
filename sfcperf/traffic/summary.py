"""Counts what a trace holds of each label."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from sfcperf.packets.five_tuple import Flow
from sfcperf.traffic import labels
from sfcperf.traffic.labelled import LabelledTrace
from sfcperf.traffic.making import Trace

UNLABELLED = "(no label)"
"""Stands for the label of packets that have none."""


@dataclass
class Content:
    """What a trace holds of one label."""

    packets: int = 0
    bytes: int = 0
    """Length of all frames, without frame check sequence."""
    flows: set[Flow] = field(default_factory=set)
    """Flows, of which both directions count as one."""


def contents(trace: LabelledTrace) -> dict[str, Content]:
    """Return what a trace holds of each label; the label with the most packets comes first. Raises
    InputError for a damaged capture."""
    found: defaultdict[str, Content] = defaultdict(Content)
    for packet in trace:
        content = found[packet.label or UNLABELLED]
        content.packets += 1
        content.bytes += len(packet.frame)
        content.flows.add(packet.flow.canonical)
    return dict(sorted(found.items(), key=lambda item: -item[1].packets))


def table(trace: Trace) -> str:
    """Return what a trace holds of each label as a table of text, with a line about frames that
    were left out. Raises InputError for damaged files."""
    packets = LabelledTrace(trace.pcap, labels.read(trace.labels))
    lines = [f"{'label':20}{'packets':>10}{'flows':>10}{'bytes':>14}"]
    for label, content in contents(packets).items():
        count = f"{content.packets:>10}{len(content.flows):>10}{content.bytes:>14}"
        lines.append(f"{label:20}{count}")
    return "\n".join([*lines, *packets.left_out.lines(packets.frames)])
