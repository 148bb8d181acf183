"""Data plane `ebpf`: sfc-sff, whose BPF programs forward in the receive path of the ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Lock

from sfcperf.dataplane.sff.process import TAP_HEADER_BYTES, SffProcess
from sfcperf.drivers.local import network
from sfcperf.drivers.local.layout import Layout, NodeLayout
from sfcperf.drivers.local.paths import ways
from sfcperf.drivers.local.sff.base import UNPARSED, Sff
from sfcperf.drivers.local.sff.ebpf_tables import TAP, sff_tables
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import LookupCounts, SffCounts
from sfcperf.workflow.model import Scenario


def outer_mtu(layout: Layout) -> int:
    """MTU of the SFF's interfaces, bytes: a packet as large as the wire takes goes round by the tap
    with a header more. The SFF itself keeps to the MTU of each port."""
    return layout.wire_mtu + TAP_HEADER_BYTES


class EbpfSff(Sff):
    """Classifier, SFF and SFC proxies of a node as BPF programs."""

    def __init__(
        self,
        host: Host,
        node: NodeLayout,
        layout: Layout,
        scenario: Scenario,
        *,
        ebpf_nodes: Collection[str],
    ) -> None:
        """`ebpf_nodes` have this data plane."""
        super().__init__(host, node, layout, scenario)
        self._ebpf_nodes = ebpf_nodes
        self._process: SffProcess | None = None
        self._lock = Lock()
        self._shown = 0
        """How many captures want to see packets."""
        self._traced = 0

    def connect(self) -> None:
        """See Sff.connect."""
        near, far = TAP
        mtu = outer_mtu(self.layout)
        network.add_veth(self.node.namespace, near, self.node.namespace, far, mtu=mtu, peer_mtu=mtu)
        self._process = SffProcess.launch(
            f"sff@{self.node.name}", self.host, self._tables(shown=False)
        )

    def read(self) -> SffCounts:
        """See ReportingSff.read."""
        event = self._running.fresh()
        known = ways(self.layout, self.scenario)
        return SffCounts(
            received=event["received"],
            forwarded=event["forwarded"],
            bypassed=event["bypassed"],
            drops=event["drops"],
            lookups=tuple(
                LookupCounts(**lookup, **known[lookup["spi"], lookup["si"]])
                for lookup in event["hops"]
                if (lookup["spi"], lookup["si"]) in known
            ),
        )

    def trace(self, one_in: int) -> None:
        """See ReportingSff.trace."""
        with self._lock:
            self._traced = one_in
            self._running.change(self._tables(shown=self._shown > 0))

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """See Sff.packets_by_path."""
        return {(c.spi, c.si): c.packets for c in self.read().lookups}

    def unparsed(self) -> int:
        """See Sff.unparsed."""
        return self.read().drops[UNPARSED]

    def watched_at(self) -> list[str]:
        """See Sff.watched_at. Its programs are the same at all interfaces."""
        return ["--sff", TAP[1]]

    def problem(self) -> str | None:
        """See Sff.problem."""
        return self._running.problem()

    def show_packets(self, shown: bool) -> None:
        """See Sff.show_packets. Packets then go once more through the kernel, in the same form."""
        with self._lock:
            before = self._shown > 0
            self._shown += 1 if shown else -1
            now = self._shown > 0
            if before != now:
                self._running.change(self._tables(shown=now))

    def stop(self) -> None:
        """See Sff.stop."""
        if self._process is not None:
            self._process.stop()

    @property
    def _running(self) -> SffProcess:
        if self._process is None:
            raise DeploymentError(f"the SFF of {self.node.name} is not connected")
        return self._process

    def _tables(self, *, shown: bool) -> str:
        return sff_tables(
            self.layout,
            self.scenario,
            self.node.name,
            take_xdp=self._ebpf_nodes,
            shown=shown,
            trace=self._traced,
        )
