"""Engine: the rules by which a host's kernel does a function's work."""

from __future__ import annotations

from collections.abc import Mapping

from sfcperf.plugins import Requirement


class Engine:
    """The rules of one function on one host. Subclasses have some; this base class has none.

    KernelForwarding calls `load` when it sets the function up, `counters` while the function works,
    and `remove` at its end."""

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the engine's commands, and what the kernel must have."""
        return []

    def load(self) -> None:
        """Load the rules, in place of those that an earlier function left. Raises
        MeasurementError."""

    def counters(self) -> Mapping[str, int]:
        """Return name -> what the rules have counted since they were loaded. Raises
        MeasurementError, also when the rules are gone."""
        return {}

    def remove(self) -> None:
        """Remove the rules. Harmless when they are gone, or their host."""
