"""Data plane `ebpf`: sfc-sff, whose BPF programs forward in the receive path of the ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Lock
from typing import Any

from sfcperf.drivers.local import network
from sfcperf.drivers.local.ebpf_tables import TAP, sff_tables
from sfcperf.drivers.local.layout import WIRE_MTU, Layout, NodeLayout
from sfcperf.drivers.local.sff import Sff
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host
from sfcperf.vnfs.sff.process import TAP_HEADER_BYTES, SffProcess
from sfcperf.workflow.model import Scenario

OUTER_MTU = WIRE_MTU + TAP_HEADER_BYTES
"""MTU of the SFF's interfaces: a packet of WIRE_MTU goes round by the tap with a header more. The
SFF itself keeps to the MTU of each port."""


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

    def connect(self) -> None:
        """See Sff.connect."""
        near, far = TAP
        network.add_veth(
            self.node.namespace, near, self.node.namespace, far, mtu=OUTER_MTU, peer_mtu=OUTER_MTU
        )
        self._process = SffProcess.launch(
            f"sff@{self.node.name}", self.host, self._tables(shown=False)
        )

    def counters(self) -> dict[str, Any]:
        """What sfc-sff counts (vnfs/sff/README.md). Raises MeasurementError."""
        return self._running.fresh()

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """See Sff.packets_by_path."""
        return {(hop["spi"], hop["si"]): hop["packets"] for hop in self.counters()["hops"]}

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
        )
