"""The sides of a comparison: a run, or one variant of a run."""

from __future__ import annotations

from dataclasses import dataclass

from sfcperf.results.store import RunStore

VARIANT = "variant"
"""The factor that names an interleaved run's variants."""


@dataclass(frozen=True)
class Side:
    """What is compared."""

    name: str
    """Shown everywhere, unique in a comparison: a run id, or the name of a variant."""
    store: RunStore
    variant: str | None = None
    """Only trials whose scenario has this `variant`; it is then left out of the scenario."""
