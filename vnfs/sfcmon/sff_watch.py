"""SFCMon at an SFF, for the time of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import FlowWindow
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.sfcmon import sketch_parameters
from sfcperf.vnfs.sfcmon.running import RunningSfcmon


class SffWatch:
    """An sfc-sfcmon that monitors what an SFF looks up (FlowWatch). `start` makes it."""

    def __init__(self, name: str, running: RunningSfcmon) -> None:
        self._name = name
        self._running = running

    @classmethod
    def start(
        cls,
        name: str,
        host: Host,
        place: Sequence[str],
        parameters: Mapping[str, Any],
        output: Path,
    ) -> SffWatch:
        """Start sfc-sfcmon, and return when it monitors. `host`: in the SFF's network namespace;
        `place`: words for sfc-sfcmon that say where packets are seen; `parameters`: those of
        `sketch_parameters`; `output`: a new file. Raises DeploymentError, EnvironmentLacks."""
        options = ["--window-ms", str(sketch_parameters.window_ms(parameters))]
        options += [*sketch_parameters.options(parameters), *place]
        sizes = sketch_parameters.sizes(parameters)
        running = RunningSfcmon.launch(name, host, options, sizes, output)
        with kernel_forwarding.all_or_nothing(running):
            running.wait_ready()
        return cls(name, running)

    def stop(self) -> list[FlowWindow]:
        """Stop sfc-sfcmon and return the windows that it printed. Raises MeasurementError if it had
        failed before."""
        problem = self._running.problem()
        self._running.stop()
        if problem is not None:
            raise MeasurementError(f"SFCMon at {self._name} broke: {problem}")
        assert self._running.windows is not None, "it was started with sizes"
        return self._running.windows.rest()
