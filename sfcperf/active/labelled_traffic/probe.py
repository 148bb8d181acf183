"""labelled_traffic: attacks and benign traffic through the chain: what does it block, how soon?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.labelled_traffic.blocking import (
    BlockingCounts,
    attacks,
    blocked_by_label,
    measures,
)
from sfcperf.active.labelled_traffic.replay_plan import ReplayOutcome, ReplayPlan, plan
from sfcperf.active.labelled_traffic.replay_probe import KEEP_CAPTURES, ReplayProbe
from sfcperf.errors import MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number, object_schema
from sfcperf.results.kinds import PROBE, of_kind
from sfcperf.results.values import Metric, Sample
from sfcperf.traffic.capture_files import check_absolute, check_both
from sfcperf.traffic.kept import kept
from sfcperf.traffic.labels import BENIGN

_SOME_TRACE_S = 60.0
"""Assumed length of a file, for plans only: files are not read when a workflow is loaded."""
_CROSSED = 0.99
"""Share of the sent packets that the first function must have counted."""
_BY_RULES = "dropped_by_"
"""First part of the names of counters of packets that a rule of a function dropped."""
_WHILE_FAILED = "dropped_while_failed"
_NS_PER_S = 1e9

_METRICS = (
    Metric(
        "attack_packets_blocked_ratio", "1",
        "share of the attack packets that were stopped; answers to attacks are none of them",
        better="higher", primary=True, out_of="attack_packets",
    ),
    Metric(
        "benign_packets_lost_ratio", "1",
        "share of the benign packets that were stopped, for whatever reason",
        better="lower", primary=True, out_of="benign_packets",
    ),
    Metric(
        "mcc", "1",
        "Matthews correlation coefficient over flows: attack or benign, hit or not; a flow is hit "
        "if at least one of its packets was stopped",
        better="higher", primary=True,
    ),
    Metric(
        "recall", "1", "share of the attack flows that were hit",
        better="higher", out_of="attack_flows",
    ),
    Metric(
        "short_flow_recall", "1",
        "share of the attack flows that were hit, of those that last less than `short_flow_s`",
        better="higher", out_of="short_attack_flows",
    ),
    Metric("long_flow_recall", "1", "the same of the other attack flows", better="higher"),
    Metric(
        "fpr", "1", "share of the benign flows that were hit", better="lower",
        out_of="benign_flows",
    ),
    Metric(
        "attack_flows_blocked_ratio", "1",
        "share of the attack flows of which no packet passed after the first that was stopped, but "
        "for answers",
        better="higher", out_of="attack_flows",
    ),
    Metric(
        "attack_bytes_passed_ratio", "1", "share of the bytes of attacks that passed",
        better="lower",
    ),
    Metric(
        "time_to_block_ms", "ms",
        "from an attack flow's first packet to its first packet that was stopped, median over the "
        "flows that were hit and whose first packet passed",
        better="lower",
    ),
    Metric("time_to_block_p95_ms", "ms", "95th percentile of the same", better="lower"),
    Metric("time_to_block_p99_ms", "ms", "99th percentile of the same", better="lower"),
)  # fmt: skip


class LabelledTraffic(ReplayProbe):
    """Sends a trace with labels through the chain, at its own times, and tells packet by packet
    what was stopped. Flows that train a classifier are not sent. Functions in the chain must not
    change addresses or ports."""

    name = PROBE
    reported = _METRICS
    title = "Attack packets and flows blocked, benign ones hit, and the time that it takes"
    protocols = frozenset({"icmp", "tcp", "udp"})
    parameters = object_schema(
        {
            "seed": integer(
                "Seed of the trace, which is made once on a machine (`sfcperf traffic make`), and "
                "of the choice of the flows that train.",
                (0, 2**32),
                default=1,
            ),
            "duration_s": number(
                "Length of the trace that is made, seconds.", (5, 3600), default=60
            ),
            "pcap": {
                "type": "string",
                "minLength": 1,
                "description": "Absolute path of a capture instead: pcap or pcapng, Ethernet, "
                "whole packets.",
            },
            "labels": {
                "type": "string",
                "minLength": 1,
                "description": "Absolute path of its labels (how-to/label-traffic).",
            },
            "training_share": number(
                "Share of the flows that train a classifier and are not sent.",
                (0, 0.99),
                default=0.2,
            ),
            "short_flow_s": number(
                "Flows that last less are short, seconds; at `speed`.", (0, 3600), default=2
            ),
            "speed": number("1: as captured; 2: twice as fast.", (0.01, 100), default=1),
            "loss_tolerance": number(
                "The trial is untrusted if more than this share of the packets was lost without a "
                "rule: by a full queue, for instance.",
                (0, 1),
                default=0.001,
            ),
            **KEEP_CAPTURES,
        }
    )

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse relative paths, and a capture without labels or labels without a capture. Whether
        the files exist is not checked, because a run must be readable on machines that lack its
        trace. Raises InputError."""
        pcap, labels = parameters.get("pcap"), parameters.get("labels")
        check_both(pcap, labels)
        check_absolute(pcap, "pcap")
        check_absolute(labels, "labels")

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the time to replay the trace; for a file it is a guess, since files are not read
        before a run."""
        length_s = _SOME_TRACE_S if "pcap" in parameters else parameters["duration_s"]
        return float(length_s / parameters["speed"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return 1: a chain may stop almost all packets, and this is what is measured."""
        return 1

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Make or find the trace, and get both endpoints ready to replay it. Raises
        MeasurementError, EnvironmentLacks, and InputError for files that cannot be read."""
        self._get_ready(self._plan(), self.parameters["speed"], deployment, raw_dir)

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the trace, and count what the chain stopped. Raises MeasurementError when no packet
        was sent."""
        assert self._replay is not None, "prepare comes first"
        before = _received_and_dropped(deployment)
        found, doubts = self._replay.send()
        received, by_rules = (
            now - then for now, then in zip(_received_and_dropped(deployment), before, strict=True)
        )
        if not found.sent:
            raise MeasurementError("no packet of the trace left the client")
        lost = max(0, found.sent - found.arrived - by_rules)
        short_ns = round(self.parameters["short_flow_s"] * _NS_PER_S)
        by_label = blocked_by_label(found.fates, short_ns)
        doubts += self._doubts(found, lost)
        if deployment.functions and received < _CROSSED * found.sent:
            doubts.append(
                f"the chain got {received} of {found.sent} packets: the classifier may match less"
            )
        found_samples, counts, series = result_of(by_label)
        return ProbeResult(
            found_samples,
            tuple(doubts),
            {
                **counts,
                **_sending(self._replay.plan, found),
                "dropped_by_rules": by_rules,
                "lost_without_rule": lost,
            },
            series,
        )

    def _plan(self) -> ReplayPlan:
        """Plan to replay the user's capture, or the trace of the seed, which is made if needed."""
        parameters = self.parameters
        if "pcap" in parameters:
            pcap, labels = Path(parameters["pcap"]), Path(parameters["labels"])
        else:
            trace = kept(parameters["seed"], parameters["duration_s"])
            pcap, labels = trace.pcap, trace.labels
        return plan(pcap, labels, parameters["seed"], parameters["training_share"])

    def _doubts(self, found: ReplayOutcome, lost: int) -> Iterator[str]:
        """Say why the numbers should not be believed: packets were `lost` without a rule, were not
        sent as planned, or could not be read in the trace."""
        if lost > self.parameters["loss_tolerance"] * found.sent:
            yield (
                f"{lost} of {found.sent} packets were stopped, but no function says that a rule "
                "dropped them: they were lost, and it is not known which they are"
            )
        yield from found.doubts()
        assert self._replay is not None
        yield from self._replay.plan.left_out.doubts(self._replay.plan.frames)


def result_of(
    by_label: Mapping[str, BlockingCounts],
) -> tuple[tuple[Sample, ...], dict[str, Any], dict[str, list[float]]]:
    """Return the samples, notes and series of a trial from what was blocked by label."""
    times_ms = attacks(by_label).times_to_block_ms
    return (
        (*samples(_METRICS, measures(by_label)), *_of_kinds(by_label)),
        _packet_and_flow_counts(by_label),
        {"time_to_block_ms": times_ms} if times_ms else {},
    )


def _received_and_dropped(deployment: Deployment) -> tuple[int, int]:
    """Return how many packets the first function received, and how many the rules of all functions
    dropped, since the functions started. The first is 0 for a chain without functions."""
    counters = [function.counters() for function in deployment.functions]
    by_rules = sum(
        count
        for function in counters
        for name, count in function.items()
        if name.startswith(_BY_RULES) or name == _WHILE_FAILED
    )
    return (counters[0]["received"] if counters else 0), by_rules


def _of_kinds(by_label: Mapping[str, BlockingCounts]) -> Iterator[Sample]:
    """Give the samples of each kind of attack: counts, shares and the time to block. Where only
    answers of a kind were sent, it has no packets, and no share of them."""
    for label, blocked in sorted(by_label.items()):
        if label == BENIGN:
            continue
        yield of_kind(label, "flows", "1", blocked.flows)
        yield of_kind(label, "recall", "1", blocked.flows_hit / blocked.flows)
        yield of_kind(label, "packets", "1", blocked.packets)
        if blocked.packets_stopped_ratio is not None:
            yield of_kind(label, "packets_blocked_ratio", "1", blocked.packets_stopped_ratio)
        if blocked.time_to_block_ms is not None:
            yield of_kind(label, "time_to_block_ms", "ms", blocked.time_to_block_ms)


def _packet_and_flow_counts(by_label: Mapping[str, BlockingCounts]) -> dict[str, Any]:
    """Return the notes that count packets and flows. A hit attack is a true positive."""
    bad, good = attacks(by_label), by_label.get(BENIGN, BlockingCounts())
    return {
        "attack_packets": bad.packets,
        "benign_packets": good.packets,
        "attack_flows": bad.flows,
        "short_attack_flows": bad.short_flows,
        "benign_flows": good.flows,
        "true_positive_flows": bad.flows_hit,
        "false_negative_flows": bad.flows - bad.flows_hit,
        "false_positive_flows": good.flows_hit,
        "true_negative_flows": good.flows - good.flows_hit,
        "attack_flows_stopped_at_once": bad.flows_stopped_at_once,
        "attack_flows_timed": len(bad.times_to_block_ms),
    }


def _sending(plan: ReplayPlan, found: ReplayOutcome) -> dict[str, Any]:
    """Return the notes about what was sent, and how late."""
    return {
        "packets_sent": found.sent,
        "packets_arrived": found.arrived,
        "packets_without_label": found.sent - len(found.fates),
        "packets_left_out": dict(plan.left_out),
        "packets_ambiguous": found.ambiguous,
        "sent_late_p50_ms": found.late_ms[50],
        "sent_late_p99_ms": found.late_ms[99],
    }
