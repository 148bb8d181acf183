"""Data plane `ebpf`: sfc-sff, whose BPF programs forward in the receive path of the ports."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from threading import Lock

from sfcperf.dataplane.sff.process import TAP_HEADER_BYTES, SffProcess
from sfcperf.drivers.sff.base import UNPARSED, Sff
from sfcperf.drivers.sff.ebpf_tables import TAP, sff_tables
from sfcperf.drivers.sff.layout import Layout, NodeLayout
from sfcperf.drivers.sff.paths import ways
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.base import Host
from sfcperf.hosts.ip_batch import ip_batch
from sfcperf.management.deployment import LookupCounts, SffCounts
from sfcperf.workflow.model import Scenario

QUEUE_PACKETS = 1000
"""Length of the queue of an endpoint's interface: as Linux gives network cards (txqueuelen)."""


def outer_mtu(layout: Layout) -> int:
    """Return the MTU of the SFF's interfaces, bytes. It has room for the header that a packet gets
    on its way round by the tap, even if the packet is as large as the wire takes. The SFF itself
    keeps to the MTU of each port."""
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
        """`ebpf_nodes`: those that have this data plane."""
        super().__init__(host, node, layout, scenario)
        self._ebpf_nodes = ebpf_nodes
        self._process: SffProcess | None = None
        """sfc-sff; None before `connect`."""
        self._lock = Lock()
        self._shown = 0
        """How many captures want to see packets now."""
        self._traced = 0
        """One packet in so many is traced; 0: none."""

    def connect(self) -> None:
        """Create the tap, a veth pair, then start sfc-sff with the node's tables and wait until it
        forwards. Raises DeploymentError."""
        near, far = TAP
        mtu = outer_mtu(self.layout)
        lines = [
            f"link add {near} mtu {mtu} type veth peer name {far} mtu {mtu}",
            *(f"link set dev {end} addrgenmode none up" for end in TAP),
        ]
        with errors_as(DeploymentError, MeasurementError, where=self.host.name):
            ip_batch(self.host, lines)
        self._process = SffProcess.launch(
            f"sff@{self.node.name}", self.host, self._tables(shown=False)
        )

    def read(self) -> SffCounts:
        """Have sfc-sff write its counters and return them, with the lookups of the chain's
        paths."""
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
        """Trace one packet in `one_in` (0: none): reload sfc-sff's tables with this rate."""
        with self._lock:
            self._traced = one_in
            self._running.change(self._tables(shown=self._shown > 0))

    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """Return how many packets sfc-sff has looked up with each (SPI, SI) of the chain's
        paths."""
        return {(c.spi, c.si): c.packets for c in self.read().lookups}

    def unparsed(self) -> int:
        """Return how many frames sfc-sff has dropped for the reason `unparsed`."""
        return self.read().drops[UNPARSED]

    def watched_at(self) -> list[str]:
        """Return `--sff tap-far`: sfc-sfcmon finds sfc-sff by one of its interfaces, and its
        programs are the same at all of them."""
        return ["--sff", TAP[1]]

    def attached(self) -> Mapping[str, str]:
        """Interface -> how the SFF's program is attached there: by `native` or `generic` XDP.
        Raises DeploymentError, MeasurementError."""
        return dict(self._running.fresh()["xdp"])

    def problem(self) -> str | None:
        """Return None while sfc-sff runs, else why it has ended. Raises DeploymentError before
        `connect`."""
        return self._running.problem()

    def show_packets(self, shown: bool) -> None:
        """Reload sfc-sff's tables when the first capture begins and when the last one ends. Between
        the two, packets cross the kernel once more, in the same form."""
        with self._lock:
            before = self._shown > 0
            self._shown += 1 if shown else -1
            now = self._shown > 0
            if before != now:
                self._running.change(self._tables(shown=now))

    def stop(self) -> None:
        """Stop sfc-sff if it was started; its BPF programs end with it."""
        if self._process is not None:
            self._process.stop()

    @property
    def _running(self) -> SffProcess:
        """The process of sfc-sff. Raises DeploymentError before `connect`."""
        if self._process is None:
            raise DeploymentError(f"the SFF of {self.node.name} is not connected")
        return self._process

    def _tables(self, *, shown: bool) -> str:
        """Return the text of the node's tables, by which captures see all packets if `shown`."""
        return sff_tables(
            self.layout,
            self.scenario,
            self.node.name,
            take_xdp=self._ebpf_nodes,
            shown=shown,
            trace=self._traced,
        )
