"""Gate: is the evidence of a trial within the limits?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf.results.gate import GATE_REASON
from sfcperf.workflow.model import NoiseGate


def outside(evidence: Mapping[str, Any], limits: NoiseGate) -> tuple[str, ...]:
    """Why a trial is outside the gate, as reasons of its record; empty when it is inside.

    What the machine does not tell (None) is not judged.
    """
    return tuple(f"{GATE_REASON}{finding}" for finding in _findings(evidence, limits))


def _findings(evidence: Mapping[str, Any], limits: NoiseGate) -> Iterator[str]:
    steal = evidence.get("steal_ratio")
    if steal is not None and limits.max_steal_ratio is not None:
        # One clock tick may belong to the time before or after: it proves nothing.
        least = steal - (evidence.get("steal_resolution_ratio") or 0)
        if least > limits.max_steal_ratio:
            yield f"steal {_ratio(steal, limits.max_steal_ratio)}"
    for key, words, limit in (
        ("run_queue", "run queue per CPU", limits.max_run_queue),
        ("other_cpu_ratio", "CPU used by others", limits.max_other_cpu_ratio),
        ("frequency_drop_ratio", "frequency drop", limits.max_frequency_drop_ratio),
    ):
        value = evidence.get(key)
        if value is not None and limit is not None and value > limit:
            yield f"{words} {_ratio(value, limit)}"
    throttled = evidence.get("throttle_events") or 0
    if throttled > 0 and limits.max_frequency_drop_ratio is not None:
        yield f"a CPU in use was throttled for heat ({throttled} events)"


def _ratio(value: float, limit: float) -> str:
    """`0.12 > 0.05`, with as many digits as tell them apart."""
    for digits in range(2, 6):
        text = f"{value:.{digits}g}"
        if float(text) > limit:
            break
    return f"{text} > {limit:g}"
