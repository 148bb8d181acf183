"""Engine: the rules by which a host's kernel does a function's work."""

from __future__ import annotations

from collections.abc import Mapping

from sfcperf.plugins import Requirement


class Engine:
    """The rules of one function on one host; here those of a function that needs none."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Its commands, and the kernel's part."""
        return []

    def load(self) -> None:
        """Load them, instead of what an earlier function left. Raises MeasurementError."""

    def counters(self) -> Mapping[str, int]:
        """What they have counted since. Raises MeasurementError, also when they are gone."""
        return {}

    def remove(self) -> None:
        """Harmless when they are gone, or their host."""
