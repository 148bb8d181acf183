"""What a trace holds of each label."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from sfcperf.packets.five_tuple import Flow, flow_of
from sfcperf.packets.pcap_file import frames
from sfcperf.traffic import labels
from sfcperf.traffic.making import Trace

UNLABELLED = "(no label)"
_NS_PER_S = 1e9


@dataclass
class Content:
    """Of one label."""

    packets: int = 0
    bytes: int = 0
    """Of frames, without frame check sequence."""
    flows: set[Flow] = field(default_factory=set)
    """Both directions as one."""


def contents(trace: Trace) -> dict[str, Content]:
    """By label, most packets first. Raises InputError, MeasurementError for damaged files."""
    known = labels.read(trace.labels)
    found: defaultdict[str, Content] = defaultdict(Content)
    first_ns: int | None = None
    for at_ns, frame in frames(trace.pcap):
        first_ns = at_ns if first_ns is None else first_ns
        flow = flow_of(frame)
        if flow is None:
            continue
        label = known.of(flow, (at_ns - first_ns) / _NS_PER_S)
        content = found[label or UNLABELLED]
        content.packets += 1
        content.bytes += len(frame)
        content.flows.add(flow.canonical)
    return dict(sorted(found.items(), key=lambda item: -item[1].packets))


def table(trace: Trace) -> str:
    """The same as text."""
    lines = [f"{'label':20}{'packets':>10}{'flows':>10}{'bytes':>14}"]
    for label, content in contents(trace).items():
        count = f"{content.packets:>10}{len(content.flows):>10}{content.bytes:>14}"
        lines.append(f"{label:20}{count}")
    return "\n".join(lines)
