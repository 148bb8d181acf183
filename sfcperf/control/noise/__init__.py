"""Noise: what else the machines did while a trial was measured (docs/explanation/noise.md)."""

from sfcperf.control.noise.watch import NoiseWatch, TrialNoise, cpus_in_use

__all__ = ["NoiseWatch", "TrialNoise", "cpus_in_use"]
