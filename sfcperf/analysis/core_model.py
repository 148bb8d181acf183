"""What rate more CPU cores would reach: a model, based on rates measured with one and more cores.

Cores share nothing (each has its own sketch and its own flows), so n cores process n times the
packets of one, except that they disturb each other in caches and memory. The model assumes that
any number of cores has the rate per core of the largest number that was measured, and that flows
are spread evenly. A link limits the rate (frames with 20 bytes of preamble and gap, IEEE 802.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.stats import t

GAP_BYTES = 20
"""Preamble, start of frame and gap between frames."""
LEAST_ROUNDS = 3
"""Fewest rounds with the most cores that an interval can be based on."""


@dataclass(frozen=True)
class ModelledRate:
    """A rate that was computed, not measured."""

    cores: int
    pps: float
    """Rate of all cores together."""
    low_pps: float
    """Low end of the interval of `pps`; like `pps` and `high_pps` at most the rate of the link."""
    high_pps: float
    of_link: bool
    """Whether the link limits the rate, not the cores."""


def line_rate_pps(link_bps: float, frame_bytes: int) -> float:
    """Return how many frames of this size a link carries in a second."""
    return link_bps / ((frame_bytes + GAP_BYTES) * 8)


def modelled(
    rates_pps: Mapping[int, Sequence[float]],
    cores: int,
    *,
    frame_bytes: int,
    link_bps: float,
    confidence: float = 0.95,
) -> ModelledRate:
    """Model the rate of `cores` cores together. `rates_pps`: number of cores -> measured rate of
    all of them together, in each round.

    Only the rates with the most cores count. The interval, at this confidence, is Student's t of
    the mean logarithm of their rates per core. Raises ValueError if they are fewer than
    LEAST_ROUNDS.
    """
    most = max(rates_pps)
    logs = [math.log(rate / most) for rate in rates_pps[most]]
    if len(logs) < LEAST_ROUNDS:
        raise ValueError(
            f"an interval needs {LEAST_ROUNDS} trials of the most cores, and has {len(logs)}"
        )
    half = t.ppf((1 + confidence) / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    centre, line = fmean(logs), line_rate_pps(link_bps, frame_bytes)

    def rate(shift: float) -> float:
        """Return the rate if the mean logarithm of the rate per core were larger by `shift`."""
        return min(cores * math.exp(centre + shift), line)

    return ModelledRate(cores, rate(0), rate(-half), rate(half), of_link=rate(0) == line)


def cores_for_link(
    rates_pps: Mapping[int, Sequence[float]], *, frame_bytes: int, link_bps: float
) -> int:
    """Return the least number of cores that fill a link with frames of this size, by the same
    model. `rates_pps`: as for `modelled`; one round is enough."""
    most = max(rates_pps)
    per_core = math.exp(fmean(math.log(rate / most) for rate in rates_pps[most]))
    return math.ceil(line_rate_pps(link_bps, frame_bytes) / per_core)
