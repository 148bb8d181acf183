"""Ratios of measurements that were taken in turn."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from sfcperf.analysis.two_sample.ranks import SignedRank

_CONFIDENCE = 0.95


def ratio(of: Sequence[float], to: Sequence[float]) -> str:
    """`of` by `to`, pair by pair: Hodges-Lehmann's estimate, and the 95 % interval of Wilcoxon's
    signed-rank test, of the logarithms."""
    test = SignedRank([log(value) for value in to], [log(value) for value in of])
    interval = test.interval(_CONFIDENCE)
    bounds = "no interval" if interval is None else "{:.3f} to {:.3f}".format(*map(exp, interval))
    return f"{exp(test.shift):.3f} ({bounds})"
