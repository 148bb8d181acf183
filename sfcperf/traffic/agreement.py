"""Compares labels with those that are known to be true, over the packets of a capture."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from math import sqrt

from sfcperf.packets.five_tuple import Flow
from sfcperf.traffic.labelled import LabelledTrace
from sfcperf.traffic.labels import BENIGN, Labels
from sfcperf.traffic.summary import UNLABELLED

_NS_PER_S = 1e9


def matthews(
    true_positives: int, false_negatives: int, false_positives: int, true_negatives: int
) -> float | None:
    """Return the Matthews correlation coefficient (Matthews 1975). It is 0 if all items are judged
    alike (Chicco & Jurman 2020), and None if all items are of one kind."""
    bad, good = true_positives + false_negatives, false_positives + true_negatives
    if not bad or not good:
        return None
    alarms, passed = true_positives + false_positives, false_negatives + true_negatives
    if not alarms or not passed:
        return 0.0
    product = bad * good * alarms * passed
    return (true_positives * true_negatives - false_positives * false_negatives) / sqrt(product)


@dataclass
class AlarmCounts:
    """Counts of the packets and flows with one true label, and of those among them that the judged
    labels call an attack."""

    packets: int = 0
    packets_alarmed: int = 0
    flows: set[Flow] = field(default_factory=set)
    """Flows, of which both directions count as one."""
    flows_alarmed: set[Flow] = field(default_factory=set)
    """Flows with at least one packet that is called an attack."""


def agreement(trace: LabelledTrace, judged: Labels) -> dict[str, AlarmCounts]:
    """Count by true label how many packets and flows the labels `judged` call an attack. The true
    labels are those of the trace; the result begins with the one that has the most packets. A
    packet for which `judged` has no label is not called an attack. Raises InputError for a damaged
    capture."""
    found: defaultdict[str, AlarmCounts] = defaultdict(AlarmCounts)
    for packet in trace:
        counts, flow = found[packet.label or UNLABELLED], packet.flow.canonical
        alarm = judged.of(packet.flow, packet.time_ns / _NS_PER_S) not in (BENIGN, None)
        counts.packets += 1
        counts.packets_alarmed += alarm
        counts.flows.add(flow)
        if alarm:
            counts.flows_alarmed.add(flow)
    return dict(sorted(found.items(), key=lambda item: -item[1].packets))


def flows_mcc(found: dict[str, AlarmCounts]) -> float | None:
    """Return the Matthews correlation coefficient over flows: whether they are attacks, and whether
    they are called attacks. Flows without a true label do not count. None: all are of one kind."""
    good = found.get(BENIGN, AlarmCounts())
    bad = [counts for label, counts in found.items() if label not in (BENIGN, UNLABELLED)]
    flows = sum(len(counts.flows) for counts in bad)
    hit = sum(len(counts.flows_alarmed) for counts in bad)
    wrong = len(good.flows_alarmed)
    return matthews(hit, flows - hit, wrong, len(good.flows) - wrong)


def table(found: dict[str, AlarmCounts]) -> str:
    """Return the result of `agreement` as a table of text."""
    lines = [
        f"{'true label':20}{'packets':>10}{'called attack':>16}{'flows':>10}{'called attack':>16}"
    ]
    for label, counts in found.items():
        packets = f"{counts.packets:>10}{_percent(counts.packets_alarmed, counts.packets):>16}"
        flows = (
            f"{len(counts.flows):>10}{_percent(len(counts.flows_alarmed), len(counts.flows)):>16}"
        )
        lines.append(f"{label:20}{packets}{flows}")
    mcc = flows_mcc(found)
    lines.append(f"MCC of flows: {'-' if mcc is None else f'{mcc:.3f}'}")
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    """Return a share as text; `-` if there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"
