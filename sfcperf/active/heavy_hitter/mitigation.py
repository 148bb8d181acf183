"""Judges by what reached the server how much a chain let through of a large flow before it blocked
the flow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sfcperf.active.heavy_hitter.traffic import HEAVY
from sfcperf.active.labelled_traffic import Key, ReplayPlan

_NS_PER_S = 1_000_000_000
_NS_PER_MS = 1e6
_ROUNDING = 1e-9
"""Added to a quotient of floats before it is cut to a whole number, since it may be a little less
than the whole number that it should be."""


@dataclass(frozen=True)
class Mitigation:
    """What a chain let through of the large flow and of the small flows of a trial."""

    let_through: int
    """Packets of the large flow before the first one that did not arrive."""
    passed_again: int
    """Packets of the large flow that arrived after the first one that did not."""
    blocked: bool
    """Whether at least one packet of the large flow did not arrive."""
    time_to_block_ms: float | None
    """Time between the arrivals of the large flow's first packet and of the last one before it was
    blocked. None if the flow was not blocked, or no packet was let through before."""
    heavy_pps: tuple[float, ...]
    """Rate at which the large flow arrived, step by step."""
    background_pps: tuple[float, ...]
    """Rate at which all small flows together arrived, in the same steps."""


def mitigation(
    plan: ReplayPlan,
    arrivals: Iterable[tuple[Key, int]],
    lead_s: float,
    span_s: float,
    bin_s: float,
) -> Mitigation:
    """Judge what arrived of a plan. `arrivals` are the keys of packets, each with the Unix time at
    which it reached the server [ns].

    Rates are given in steps of `bin_s`, over `span_s`. The large flow's first packet that arrives
    begins the step after `lead_s` (rounded to whole steps), so that the series of all trials can be
    laid over each other.
    """
    times = _first_times(plan, arrivals)
    heavy = [
        time for time, packet in zip(times, plan.packets, strict=True) if packet.label == HEAVY
    ]
    small = [
        time for time, packet in zip(times, plan.packets, strict=True) if packet.label != HEAVY
    ]
    # Number of packets of the large flow before the first one that did not arrive.
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
    """Return when each packet of the plan arrived first [ns]; None for one that did not arrive."""
    places = {key: place for place, key in enumerate(plan.keys)}
    times: list[int | None] = [None] * len(plan.keys)
    for key, time_ns in arrivals:
        if (place := places.get(key)) is not None and times[place] is None:
            times[place] = time_ns
    return times


def _rates(times_ns: Iterable[int], start_ns: int, bin_ns: int, steps: int) -> tuple[float, ...]:
    """Return the packets per second in each of `steps` steps of `bin_ns` from `start_ns` on."""
    counts = Counter((time_ns - start_ns) // bin_ns for time_ns in times_ns)
    return tuple(counts[place] * _NS_PER_S / bin_ns for place in range(steps))
