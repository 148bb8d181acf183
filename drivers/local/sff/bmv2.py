"""Data plane `bmv2`: the SFC switch in P4 on the reference software switch, one per node."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfcperf.drivers.local.layout import LocalLayout, LocalNode
from sfcperf.drivers.local.sff.bmv2_entries import interfaces, sff_entries
from sfcperf.drivers.sff.base import UNPARSED, Sff
from sfcperf.drivers.sff.paths import ways
from sfcperf.errors import DeploymentError
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import (
    FlowReporter,
    FlowWindow,
    LookupCounts,
    SffCounts,
)
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings, sketch_settings
from sfcperf.workflow.model import Scenario

MONITOR = "sfcmon"
_TIMES = ("timed", "time_ns", "traced", "away_ns", "since_first_ns")
"""Fields of LookupCounts that the P4 program does not count."""


def monitored(parameters: Mapping[str, Any], node: str) -> bool:
    """Whether the monitor `sfcmon` with these parameters is at the SFF of a node. Without `nodes`
    it is at the SFFs of all."""
    nodes = parameters.get("nodes")
    return parameters["at"] != "functions" and (nodes is None or node in nodes)


class Bmv2Watch:
    """SFCMon at an SFF on bmv2, while somebody reads what it lists (FlowWatch)."""

    def __init__(self, reporter: FlowReporter, printed: Path, output: Path) -> None:
        """`reporter` has begun a window for this watch. `printed`: file with all windows of the
        SFF; those of this watch go to `output`."""
        self._reporter = reporter
        self._printed = printed
        self._output = output
        self._from_byte = printed.stat().st_size

    def stop(self) -> list[FlowWindow]:
        """End the open window, copy the windows printed since the start to `output`, and return
        them."""
        windows = self._reporter.end_window()
        self._output.write_bytes(self._printed.read_bytes()[self._from_byte :])
        return windows


class Bmv2Sff(Sff):
    """Classifier, SFF, SFC proxies and, if the scenario has the monitor `sfcmon`, SFCMon of a node
    as one switch, and the process that controls it."""

    def __init__(
        self,
        host: NamespaceHost,
        node: LocalNode,
        layout: LocalLayout,
        scenario: Scenario,
        *,
        bmv2_nodes: Collection[str],
    ) -> None:
        """`bmv2_nodes`: those that have this data plane."""
        super().__init__(host, node, layout, scenario)
        self._bmv2_nodes = bmv2_nodes
        # Imported only where bmv2 is used, because it imports sketches.
        from sfcperf.vnfs.sfcmon.bmv2.controlled import ControlledSwitch

        self._both = ControlledSwitch(host)
        """The switch, and the process that controls it."""
        self._output = node.folder / "windows.jsonl"
        """File to which the controlling process prints all windows of SFCMon."""
        self._parameters = next(
            (
                spec.parameters
                for spec in scenario.monitors
                if spec.monitor == MONITOR and monitored(spec.parameters, node.name)
            ),
            None,
        )
        """Parameters of SFCMon; None if it is not at this SFF."""

    def connect(self) -> None:
        """Start simple_switch_grpc at the node's ports and the process that writes its tables.
        Raises DeploymentError."""
        self._both.launch(
            f"sff@{self.node.name}",
            interfaces(self.layout, self.node),
            self._settings(),
            self._output,
        )

    def _settings(self) -> Settings:
        """Return program and table entries of the switch: with SFCMon if it is at this SFF, else
        the plain program."""
        entries = tuple(sff_entries(self.layout, self.scenario, self.node, self._bmv2_nodes))
        if self._parameters is None:
            return Settings(program=Program.PLAIN.value, entries=entries)
        return replace(sketch_settings(self._parameters), entries=entries)

    def read(self) -> SffCounts:
        """Return the P4 program's counters, and of its lookups those of the chain's paths. Times
        and traces are 0, because the program measures none."""
        counted = self._both.controller.counted()
        known = ways(self.layout, self.scenario)
        nothing: dict[str, Any] = dict.fromkeys(_TIMES, 0)
        return SffCounts(
            received=sum(counted.ways.values()) + sum(counted.drops.values()),
            forwarded=counted.ways["path"],
            bypassed=counted.ways["bypassed"],
            drops=counted.drops,
            lookups=tuple(
                LookupCounts(
                    spi=spi, si=si, packets=packets, bytes=size, **known[spi, si], **nothing
                )
                for (spi, si), (packets, size) in sorted(counted.paths.items())
                if (spi, si) in known
            ),
        )

    def trace(self, one_in: int) -> None:
        """Do nothing: the P4 program cannot trace packets, and `read` says that 0 were traced."""
        return

    @property
    def monitors(self) -> bool:
        """Whether SFCMon is at this SFF; only then may `watch` be called."""
        return self._parameters is not None

    def watch(self, parameters: Mapping[str, Any], output: Path) -> Bmv2Watch:
        """Begin a window of the SFCMon in the P4 program. Raises DeploymentError if the switch was
        started with other parameters."""
        reporter = self._both.controller.flows()
        if reporter is None or parameters != self._parameters:
            raise DeploymentError(
                "the P4 program was started with other parameters of SFCMon",
                where=f"sff@{self.node.name}",
                hint="use the monitor `sfcmon` once at SFFs on bmv2",
            )
        reporter.begin_window()
        return Bmv2Watch(reporter, self._output, output)

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """Return how many packets the P4 program has looked up with each (SPI, SI)."""
        counted = self._both.controller.counted()
        return {path: packets for path, (packets, _) in counted.paths.items()}

    def unparsed(self) -> int:
        """Return how many frames the P4 program has dropped for the reason `unparsed`."""
        return self._both.controller.counted().drops[UNPARSED]

    def problem(self) -> str | None:
        """Return None while the switch and its controlling process run, else which of them has
        ended."""
        return self._both.problem()

    def stop(self) -> None:
        """Stop the controlling process, which ends its last window, then the switch."""
        self._both.stop()
