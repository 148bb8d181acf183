"""Readings of the noise gate's sentinel, made up for tests."""

from __future__ import annotations

from typing import Any

from sfcperf.results.noise_gate import Reading


def reading(reading_id: str = "c001", **changes: Any) -> Reading:
    """A good one, unless `changes` say otherwise."""
    values: dict[str, Any] = {
        "reading_id": reading_id,
        "round": 0 if reading_id.startswith("c") else int(reading_id[1:4]),
        "started_at": "2025-06-15T15:06:35.000000+00:00",
        "ended_at": "2025-06-15T15:06:36.000000+00:00",
        "probe": "ping",
        "metric": "rtt_median_us",
        "unit": "us",
        "value": 100.0,
        "reference": 100.0,
        "change_ratio": 0.0,
        "allowed_ratio": 0.2,
        "departed": False,
        "block": (),
        "marks": "",
        "problem": "",
        "noise": {},
    }
    return Reading(**{**values, **changes})
