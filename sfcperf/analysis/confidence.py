"""The confidence level of a run's intervals."""

from __future__ import annotations

from sfcperf.results.store import RunStore

DEFAULT_CONFIDENCE = 0.95
"""The workflow schema's default of `design.confidence`."""


def confidence_of(store: RunStore) -> float:
    """Confidence that the run's workflow asked for, e.g. 0.95.

    From run.json, or from workflow.json (where it may be left to its default) for a run folder
    whose manifest does not carry the design.
    """
    design = store.manifest().get("design")
    if not isinstance(design, dict):
        design = store.workflow()[0].get("design", {})
    return float(design.get("confidence", DEFAULT_CONFIDENCE))
