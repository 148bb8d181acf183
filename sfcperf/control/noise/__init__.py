"""Noise: what else this machine did while a trial was measured (docs/explanation/noise.md)."""

from sfcperf.control.noise.watch import (
    NoiseWatch,
    TrialNoise,
    cpus_in_use,
    quiet_evidence,
    under_load,
    usable_cpus,
)

__all__ = ["NoiseWatch", "TrialNoise", "cpus_in_use", "quiet_evidence", "under_load", "usable_cpus"]
