"""What a chain let through of a large flow before it blocked it, by what reached the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sfcperf.active.heavy_hitter.traffic import HEAVY
from sfcperf.active.labelled_traffic import Key, ReplayPlan

_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1e6
_ROUNDING = 1e-9
"""A quotient may be a little less than the whole number that it should be."""


@dataclass(frozen=True)
class Mitigation:
    """What reached the server of a plan of Traffic."""

    let_through: int
    """Packets of the large flow before the first one that did not arrive."""
    passed_again: int
    """Packets of it that arrived after that one."""
    blocked: bool
    """Whether one of its packets did not arrive."""
    time_to_block_ms: float | None
    """From the first packet to the last one that was let through, as they arrived; None if it was
    not blocked, or none was let through."""
    heavy_pps: tuple[float, ...]
    """Rate of the large flow, step by step."""
    background_pps: tuple[float, ...]
    """Rate of all small flows."""


def mitigation(
    plan: ReplayPlan,
    arrivals: Iterable[tuple[Key, int]],
    lead_s: float,
    span_s: float,
    bin_s: float,
) -> Mitigation:
    """Judge what arrived, at Unix times [ns]. Rates are in steps of `bin_s`, over `span_s`, so that
    all trials agree about time: the large flow's first packet that arrives begins the step after
    `lead_s`, rounded to whole steps."""
    times = _first_times(plan, arrivals)
    heavy = [
        time for time, packet in zip(times, plan.packets, strict=True) if packet.label == HEAVY
    ]
    small = [
        time for time, packet in zip(times, plan.packets, strict=True) if packet.label != HEAVY
    ]
    through = next((place for place, time in enumerate(heavy) if time is None), len(heavy))
    arrived = [time for time in heavy if time is not None]
    before = arrived[:through]
    bin_ns = round(bin_s * _NS_PER_S)
    lead_ns = round(lead_s / bin_s) * bin_ns
    steps = int(span_s / bin_s + _ROUNDING)
    others = [time for time in small if time is not None]
    start_ns = arrived[0] - lead_ns if arrived else min(others, default=0)
    blocked = through < len(heavy)
    took_ms = (before[-1] - before[0]) / _NS_PER_MS if blocked and before else None
    return Mitigation(
        let_through=through,
        passed_again=len(arrived) - through,
        blocked=blocked,
        time_to_block_ms=took_ms,
        heavy_pps=_rates(arrived, start_ns, bin_ns, steps),
        background_pps=_rates(others, start_ns, bin_ns, steps),
    )


def _first_times(plan: ReplayPlan, arrivals: Iterable[tuple[Key, int]]) -> list[int | None]:
    """Of each packet of the plan; None if it did not arrive."""
    places = {key: place for place, key in enumerate(plan.keys)}
    times: list[int | None] = [None] * len(plan.keys)
    for key, time_ns in arrivals:
        if (place := places.get(key)) is not None and times[place] is None:
            times[place] = time_ns
    return times


def _rates(times_ns: Iterable[int], start_ns: int, bin_ns: int, steps: int) -> tuple[float, ...]:
    counts = Counter((time_ns - start_ns) // bin_ns for time_ns in times_ns)
    return tuple(counts[place] * _NS_PER_S / bin_ns for place in range(steps))
