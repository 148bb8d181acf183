"""What more CPU cores would do: a model, from what one and more cores were measured to do.

Cores share nothing (each has its own sketch and its own flows), so that n cores take n times the
packets of one, but for what they disturb each other by in caches and memory. The model takes the
efficiency of the most cores that were measured for that of any number, and the flows for evenly
spread; a link carries no more than its bits (frames with 20 bytes of preamble and gap, IEEE 802.3).
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


@dataclass(frozen=True)
class ModelledRate:
    """A rate that was computed, not measured."""

    cores: int
    pps: float
    low_pps: float
    high_pps: float
    """Interval of the measured rates on which it is based, at the confidence asked for."""
    of_link: bool
    """Whether the link is the limit."""


def line_rate_pps(link_bps: float, frame_bytes: int) -> float:
    """Frames that a link carries in a second."""
    return link_bps / ((frame_bytes + GAP_BYTES) * 8)


def modelled(
    rates_pps: Mapping[int, Sequence[float]],
    cores: int,
    *,
    frame_bytes: int,
    link_bps: float,
    confidence: float = 0.95,
) -> ModelledRate:
    """The rate of so many cores. `rates_pps`: cores -> rate of each round, of all cores together.
    The interval is that of the mean of logarithms of the rate per core of the most cores measured
    (Student's t). Raises ValueError for fewer rounds than LEAST_ROUNDS."""
    most = max(rates_pps)
    logs = [math.log(rate / most) for rate in rates_pps[most]]
    if len(logs) < LEAST_ROUNDS:
        raise ValueError(
            f"an interval needs {LEAST_ROUNDS} trials of the most cores, and has {len(logs)}"
        )
    half = t.ppf((1 + confidence) / 2, len(logs) - 1) * stdev(logs) / math.sqrt(len(logs))
    centre, line = fmean(logs), line_rate_pps(link_bps, frame_bytes)

    def rate(shift: float) -> float:
        return min(cores * math.exp(centre + shift), line)

    return ModelledRate(cores, rate(0), rate(-half), rate(half), of_link=rate(0) == line)


def cores_for_link(
    rates_pps: Mapping[int, Sequence[float]], *, frame_bytes: int, link_bps: float
) -> int:
    """The least number of cores that the model takes for a full link."""
    most = max(rates_pps)
    per_core = math.exp(fmean(math.log(rate / most) for rate in rates_pps[most]))
    return math.ceil(line_rate_pps(link_bps, frame_bytes) / per_core)
