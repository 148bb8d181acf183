"""What a chain blocked of labelled traffic: the fate of each packet, judged flow by flow.

A flow is all packets of a 5-tuple, in both directions, with the same label. It is hit if the chain
stopped at least one of its packets. A hit flow was judged to be an attack, whatever its label.

Answers to an attack, from the side that did not begin the flow, are no packets of the attack: an
attacked server would not have sent those to packets that were stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from sfcperf.results.percentiles import percentiles
from sfcperf.traffic.agreement import matthews
from sfcperf.traffic.labels import BENIGN

_NS_PER_MS = 1e6
SHORT_NS = 2_000_000_000
"""Flows that last less are short: the window of the IDS in the SFCPerf paper."""


class PacketFate(NamedTuple):
    """What became of a packet that was sent."""

    flow: Hashable
    """Identifies the packet's flow; it is the same for both directions."""
    label: str
    size_bytes: int
    """Length of the frame, without its checksum."""
    sent_ns: int
    """When the packet was sent [ns]."""
    passed: bool
    """Whether the packet came out of the chain; otherwise it was stopped."""
    answer: bool = False
    """Whether the packet is from the side that did not begin the flow."""

    @property
    def counts(self) -> bool:
        """Whether the packet counts among the packets of its label. Answers to an attack do not:
        they are no packets of the attack."""
        return self.label == BENIGN or not self.answer


@dataclass
class BlockingCounts:
    """Counts of the packets and flows that have a label, or one of several labels."""

    packets: int = 0
    packets_stopped: int = 0
    bytes: int = 0
    bytes_passed: int = 0
    flows: int = 0
    flows_hit: int = 0
    flows_cut_off: int = 0
    """Hit flows of which no packet passed after the first that was stopped."""
    flows_stopped_at_once: int = 0
    """Hit flows whose first packet was stopped: a rule was there before them."""
    short_flows: int = 0
    """Flows between whose first and last packet less than `short_ns` went by."""
    short_flows_hit: int = 0
    times_to_block_ms: list[float] = field(default_factory=list)
    """Time to block of each hit flow whose first packet passed, in the order in which the flows
    were hit. It is the time from the sending of the flow's first packet to that of the first packet
    that was stopped, so it cannot be less than the time between two packets of the flow."""

    def __add__(self, other: BlockingCounts) -> BlockingCounts:
        """Return the counts of both together; `times_to_block_ms` of `other` come last."""
        return BlockingCounts(*(getattr(self, name) + getattr(other, name) for name in _COUNTS))

    @property
    def packets_stopped_ratio(self) -> float | None:
        """Return the share of the packets that was stopped; None without a packet."""
        return _ratio(self.packets_stopped, self.packets)

    @property
    def flows_hit_ratio(self) -> float | None:
        """Return the share of the flows that was hit; None without a flow."""
        return _ratio(self.flows_hit, self.flows)

    @property
    def time_to_block_ms(self) -> float | None:
        """Return the median of `times_to_block_ms`; None if it is empty."""
        return median(self.times_to_block_ms) if self.times_to_block_ms else None


_COUNTS = tuple(BlockingCounts.__dataclass_fields__)


@dataclass
class _Flow:
    """What has been seen of a flow so far. `stopped_ns` is when its first stopped packet was sent;
    None: none was stopped. `passed_again`: a packet that counts passed after that."""

    first_ns: int
    first_passed: bool
    last_ns: int = 0
    stopped_ns: int | None = None
    passed_again: bool = False


def blocked_by_label(
    fates: Iterable[PacketFate], short_ns: int = SHORT_NS
) -> dict[str, BlockingCounts]:
    """Count by label what was blocked. The fates must be in the order in which the packets were
    sent. `short_ns`: flows that last less are short."""
    found: defaultdict[str, BlockingCounts] = defaultdict(BlockingCounts)
    flows: dict[tuple[Hashable, str], _Flow] = {}
    for fate in fates:
        blocked = found[fate.label]
        blocked.packets += fate.counts
        blocked.bytes += fate.counts * fate.size_bytes
        flow = flows.setdefault((fate.flow, fate.label), _Flow(fate.sent_ns, fate.passed))
        flow.last_ns = fate.sent_ns
        if fate.passed:
            blocked.bytes_passed += fate.counts * fate.size_bytes
            flow.passed_again |= fate.counts and flow.stopped_ns is not None
            continue
        blocked.packets_stopped += fate.counts
        if flow.stopped_ns is None:
            flow.stopped_ns = fate.sent_ns
    # In this order, `times_to_block_ms` are in the order in which flows were hit. Flows that were
    # not hit have no time, so their place does not matter.
    in_order = sorted(flows.items(), key=lambda item: item[1].stopped_ns or 0)
    for (_, label), flow in in_order:
        _count(found[label], flow, short_ns)
    return dict(found)


def _count(blocked: BlockingCounts, flow: _Flow, short_ns: int) -> None:
    """Add a flow, of which all packets have been seen, to the counts of its label."""
    is_short = flow.last_ns - flow.first_ns < short_ns
    blocked.flows += 1
    blocked.short_flows += is_short
    if flow.stopped_ns is None:
        return
    blocked.flows_hit += 1
    blocked.short_flows_hit += is_short
    blocked.flows_cut_off += not flow.passed_again
    if not flow.first_passed:
        blocked.flows_stopped_at_once += 1
    else:
        blocked.times_to_block_ms.append((flow.stopped_ns - flow.first_ns) / _NS_PER_MS)


def attacks(by_label: Mapping[str, BlockingCounts]) -> BlockingCounts:
    """Return the counts of all kinds of attacks together."""
    return sum(
        (blocked for label, blocked in by_label.items() if label != BENIGN), BlockingCounts()
    )


def measures(by_label: Mapping[str, BlockingCounts]) -> dict[str, float | None]:
    """Return the metrics of the probe `labelled_traffic` by name. A value is None if the traffic
    does not tell it: a share of the attacks, for instance, when there were none."""
    bad, good = attacks(by_label), by_label.get(BENIGN, BlockingCounts())
    times = percentiles(bad.times_to_block_ms, (95, 99))
    return {
        "attack_packets_blocked_ratio": bad.packets_stopped_ratio,
        "attack_flows_blocked_ratio": _ratio(bad.flows_cut_off, bad.flows),
        "attack_bytes_passed_ratio": _ratio(bad.bytes_passed, bad.bytes),
        "benign_packets_lost_ratio": good.packets_stopped_ratio,
        "recall": bad.flows_hit_ratio,
        "short_flow_recall": _ratio(bad.short_flows_hit, bad.short_flows),
        "long_flow_recall": _ratio(
            bad.flows_hit - bad.short_flows_hit, bad.flows - bad.short_flows
        ),
        "fpr": good.flows_hit_ratio,
        "mcc": _mcc(bad, good),
        "time_to_block_ms": bad.time_to_block_ms,
        **{f"time_to_block_p{percent}_ms": value for percent, value in times.items()},
    }


def _mcc(bad: BlockingCounts, good: BlockingCounts) -> float | None:
    """Return the Matthews correlation coefficient between labels and hits, over flows: a hit attack
    is a true positive, a hit benign flow a false one."""
    missed, spared = bad.flows - bad.flows_hit, good.flows - good.flows_hit
    return matthews(bad.flows_hit, missed, good.flows_hit, spared)


def _ratio(part: int, whole: int) -> float | None:
    """Return the share of a part; None if there is no whole."""
    return part / whole if whole else None
