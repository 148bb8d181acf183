"""Data plane `bmv2`: the SFC switch in P4 on the reference software switch, one per node."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sfcperf.drivers.local.bmv2_entries import interfaces, sff_entries
from sfcperf.drivers.local.layout import Layout, NodeLayout
from sfcperf.drivers.local.paths import ways
from sfcperf.drivers.local.sff import Sff
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import FlowReporter, LookupCounts, SffCounts
from sfcperf.vnfs.sfcmon.bmv2.controlled import ControlledSwitch
from sfcperf.vnfs.sfcmon.bmv2.engine import Settings
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds
from sfcperf.workflow.model import Scenario

_MONITOR = "sfcmon"
WINDOW_MS = 1000


class Bmv2Sff(Sff):
    """Classifier, SFF, SFC proxies and, if the scenario has the monitor `sfcmon`, SFCMon of a node
    as one switch, and the process that controls it."""

    def __init__(
        self,
        host: NamespaceHost,
        node: NodeLayout,
        layout: Layout,
        scenario: Scenario,
        *,
        bmv2_nodes: Collection[str],
    ) -> None:
        """`bmv2_nodes` have this data plane."""
        super().__init__(host, node, layout, scenario)
        self._bmv2_nodes = bmv2_nodes
        self._both = ControlledSwitch(host)
        self._monitored = any(spec.monitor == _MONITOR for spec in scenario.monitors)

    def connect(self) -> None:
        """See Sff.connect."""
        program = Program.SKETCHES if self._monitored else Program.PLAIN
        settings = Settings(
            program=program.value,
            window_ms=WINDOW_MS,
            thresholds=Thresholds(),
            adaptive_flows=0,
            sizes=Sizes(),
            entries=tuple(sff_entries(self.layout, self.scenario, self.node, self._bmv2_nodes)),
        )
        self._both.launch(
            f"sff@{self.node.name}",
            interfaces(self.layout, self.node),
            settings,
            self.node.folder / "windows.jsonl",
        )

    def read(self) -> SffCounts:
        """See ReportingSff.read."""
        counted = self._both.controller.counted()
        known = ways(self.layout, self.scenario)
        nothing = dict.fromkeys(("timed", "time_ns", "traced", "away_ns", "since_first_ns"), 0)
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
        """See ReportingSff.trace. A P4 program on bmv2 has no clock to measure with: nothing is
        traced, and the counts say so."""
        return

    def flows(self) -> FlowReporter | None:
        """See Sff.flows."""
        return self._both.controller.flows()

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """See Sff.packets_by_path."""
        counted = self._both.controller.counted()
        return {path: packets for path, (packets, _) in counted.paths.items()}

    def problem(self) -> str | None:
        """See Sff.problem."""
        return self._both.problem()

    def stop(self) -> None:
        """See Sff.stop."""
        self._both.stop()
