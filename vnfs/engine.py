"""Engine: the rules by which a host's kernel does a function's work."""

from __future__ import annotations

from collections.abc import Mapping

from sfcperf.plugins import Requirement


class Engine:
    """The rules of one function in the kernel of its host. This class is for a function that
    needs none."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Return what the rules need: commands, and features of the kernel."""
        return []

    def load(self) -> None:
        """Load the rules, instead of those that an earlier function left. Raises
        MeasurementError."""

    def counters(self) -> Mapping[str, int]:
        """Return what the rules have counted since they were loaded. Raises MeasurementError,
        also when the rules are gone."""
        return {}

    def remove(self) -> None:
        """Remove the rules. Harmless when they or their host are gone."""
