"""Probes of heavy hitters: the engines alone, and how soon a chain blocks a large flow."""

from sfcperf.active.heavy_hitter.engine import HeavyHitterAccuracy, HeavyHitterThroughput
from sfcperf.active.heavy_hitter.mitigation_probe import HeavyHitterMitigation

__all__ = ["HeavyHitterAccuracy", "HeavyHitterMitigation", "HeavyHitterThroughput"]
