"""heavy_hitter_mitigation: a large flow beside many small ones: how soon is it blocked?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from sfcperf.active.base import ProbeResult, samples
from sfcperf.active.heavy_hitter.mitigation import Mitigation, mitigation
from sfcperf.active.heavy_hitter.traffic import (
    BACKGROUND,
    HEAVY,
    LEAST_FRAME_BYTES,
    MOST_BACKGROUND_FLOWS,
    Traffic,
)
from sfcperf.active.labelled_traffic import KEEP_CAPTURES, ReplayOutcome, ReplayProbe
from sfcperf.active.pktgen import USUAL_PORT
from sfcperf.active.server import port_parameter
from sfcperf.counts import count_text
from sfcperf.errors import InputError, MeasurementError
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import integer, number, object_schema
from sfcperf.results.values import Metric

_MOST_PACKETS = 1_000_000
"""Most packets of a trial. All of them are made before it and kept in memory, since they are
recognised by their bytes."""
_MOST_STEPS = 100_000
_BLOCKED = "dropped_blocked"
"""Counter that functions have which block flows."""
_trials = itertools.count()
"""Numbers of the trials of this process, each of which has flows of its own. Functions may outlive
a trial and still block its flows, but they do not outlive the process that measures."""

_METRICS = (
    Metric(
        "let_through_packets", "1",
        "packets of the heavy hitter that arrived before the first one that did not",
        better="lower", primary=True, tick=1,
    ),
    Metric(
        "time_to_block_ms", "ms",
        "from the heavy hitter's first packet to the last one that was let through, as they "
        "arrived",
        better="lower",
    ),
    Metric(
        "passed_again_packets", "1",
        "packets of the heavy hitter that arrived after it was blocked: the function forgot it "
        "(expiry_s)",
        better="lower", tick=1,
    ),
    Metric(
        "background_loss_ratio", "1", "share of the packets of all other flows that did not arrive",
        better="lower", out_of="background_packets",
    ),
    Metric("heavy_hitter_pps", "1/s", "packets of the heavy hitter per second, at the server"),
    Metric(
        "background_pps", "1/s", "packets of all other flows per second, at the server",
        better="higher",
    ),
)  # fmt: skip


class HeavyHitterMitigation(ReplayProbe):
    """Sends one flow at a high rate beside many at low rates, and tells packet by packet what
    reached the server. Each trial has flows that the functions have not seen before. Addresses are
    those of benchmarks (198.18.0.0/15) and documentation (192.0.2.1); functions in the chain must
    not change them."""

    name = "heavy_hitter_mitigation"
    reported = _METRICS
    title = "What passes of a heavy hitter before it is blocked, and what the other flows lose"
    protocols = frozenset({"udp"})
    parameters = object_schema(
        {
            "rate_pps": integer(
                "Packets per second of the heavy hitter.", (1, 200_000), default=10_000
            ),
            "lead_s": number(
                "How long only the background is sent before the heavy hitter starts, seconds.",
                (0, 600),
                default=0.25,
            ),
            "duration_s": number("How long to send, seconds.", (0.05, 600), default=2),
            "background_pps": integer(
                "Packets per second of all other flows together.",
                (1, 200_000),
                default=2000,
            ),
            "background_flows": integer(
                "Number of other flows, which take turns. None of them should send so many packets "
                "that it is a heavy hitter itself.",
                (1, MOST_BACKGROUND_FLOWS),
                default=200,
            ),
            "bin_s": number("Time step of the series, seconds.", (0.0001, 60), default=0.01),
            "frame_bytes": integer(
                "Size of all frames, with header and frame check sequence, bytes.",
                (LEAST_FRAME_BYTES, 1518),
                default=LEAST_FRAME_BYTES,
            ),
            "port": port_parameter("Destination port of all packets.", USUAL_PORT, lowest=1),
            **KEEP_CAPTURES,
        }
    )

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters with which the large flow sends no packet, or packets or time steps are
        too many. Raises InputError."""
        duration_s = parameters["duration_s"]
        traffic = _traffic(parameters)
        if traffic.heavy_packets < 1:
            raise InputError(
                "the heavy hitter sends no packet",
                where="lead_s",
                allowed=f"less than duration_s, {duration_s:g}",
            )
        packets = traffic.heavy_packets + traffic.background_packets
        if packets > _MOST_PACKETS:
            most_s = duration_s * _MOST_PACKETS / packets
            raise InputError(
                f"{packets} packets are too many for a trial",
                where="duration_s",
                allowed=f"at most {_MOST_PACKETS} packets, at these rates {most_s:.4g} s",
            )
        least_s, most_s = duration_s / _MOST_STEPS, duration_s / 2
        if not least_s <= parameters["bin_s"] <= most_s:
            raise InputError(
                "a series has 2 to 100,000 steps",
                where="bin_s",
                allowed=f"{least_s:g} to {most_s:g}, with duration_s {duration_s:g}",
            )

    @classmethod
    def duration_s(cls, parameters: Mapping[str, Any]) -> float:
        """Return the parameter `duration_s`."""
        return float(parameters["duration_s"])

    @classmethod
    def expected_packets(cls, parameters: Mapping[str, Any]) -> int:
        """Return half of the packets of the background. The heavy hitter does not count, because a
        chain may stop almost all of its packets."""
        return max(1, _traffic(parameters).background_packets // 2)

    def prepare(self, deployment: Deployment, raw_dir: Path) -> None:
        """Make the packets of this trial, and get both endpoints ready to replay them. Raises
        MeasurementError."""
        plan = _traffic(self.parameters).plan(next(_trials))
        self._get_ready(plan, 1, deployment, raw_dir)  # 1: at the plan's own speed

    def measure(self, deployment: Deployment, raw_dir: Path) -> ProbeResult:
        """Send the packets, and judge what arrived. Raises MeasurementError when nothing
        arrived."""
        assert self._replay is not None, "prepare comes first"
        parameters = self.parameters
        before = _blocked(deployment)
        sent, doubts = self._replay.send()
        blocked = None if before is None else (_blocked(deployment) or 0) - before
        if not sent.arrived:
            raise MeasurementError(f"none of {sent.sent} packets arrived")
        found = mitigation(
            self._replay.plan,
            self._replay.arrivals(),
            parameters["lead_s"],
            parameters["duration_s"],
            parameters["bin_s"],
        )
        doubts += [*sent.doubts(), *losses(sent, found, blocked)]
        series = {"heavy_hitter_pps": found.heavy_pps, "background_pps": found.background_pps}
        values = _values(sent, found) | {name: fmean(rates) for name, rates in series.items()}
        return ProbeResult(
            samples(_METRICS, values),
            tuple(doubts),
            _notes(sent, blocked),
            series,
            parameters["bin_s"],
        )


def losses(sent: ReplayOutcome, found: Mitigation, blocked: int | None) -> Iterator[str]:
    """Say why the losses may not show what was blocked: packets were lost elsewhere, or the heavy
    hitter was not blocked. `blocked` is how many packets the functions blocked meanwhile by their
    own counters; None if no function blocks flows."""
    missing = sent.sent - sent.arrived
    if blocked is None:
        if missing:
            yield f"{missing} of {sent.sent} packets were lost, and no function blocks flows"
        return
    if missing != blocked:
        yield (
            f"{count_text(missing, 'packet')} did not arrive, and the functions blocked {blocked}: "
            "it is not known which were lost elsewhere"
        )
    if not found.blocked:
        yield f"the heavy hitter was not blocked: all of its {found.let_through} packets passed"


def _traffic(parameters: Mapping[str, Any]) -> Traffic:
    """Return the traffic that the probe's parameters describe."""
    names = ("rate_pps", "background_pps", "background_flows", "lead_s", "duration_s")
    settings = {name: parameters[name] for name in (*names, "frame_bytes")}
    return Traffic(**settings, port=parameters.get("port", USUAL_PORT))


def _blocked(deployment: Deployment) -> int | None:
    """Return how many packets the functions have blocked since they started; None if no function
    blocks flows."""
    counters = [function.counters() for function in deployment.functions]
    blocked = [by_name[_BLOCKED] for by_name in counters if _BLOCKED in by_name]
    return sum(blocked) if blocked else None


def _values(sent: ReplayOutcome, found: Mitigation) -> dict[str, float | None]:
    """Return the metrics by name, except the two rates."""
    background = [fate.passed for fate in sent.fates if fate.label == BACKGROUND]
    lost = len(background) - sum(background)
    return {
        "let_through_packets": found.let_through,
        "time_to_block_ms": found.time_to_block_ms,
        "passed_again_packets": found.passed_again,
        "background_loss_ratio": lost / len(background) if background else None,
    }


def _notes(sent: ReplayOutcome, blocked: int | None) -> dict[str, Any]:
    """Return the facts for the record of the trial. `blocked` is as in `losses`."""
    of_label = [fate.label for fate in sent.fates]
    return {
        "heavy_hitter_packets": of_label.count(HEAVY),
        "background_packets": of_label.count(BACKGROUND),
        "packets_arrived": sent.arrived,
        "packets_blocked_by_functions": blocked,
        "sent_late_p50_ms": sent.late_ms[50],
        "sent_late_p99_ms": sent.late_ms[99],
    }
