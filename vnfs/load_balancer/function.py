"""The load balancer as a VNF type: connections to one port go to several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, array, choice, object_schema, port
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.connection_tracking import CHECK_CHECKSUMS_KNOB, ConnectionTracking
from sfcperf.vnfs.kernel_forwarding import KernelForwarding, KernelFunction
from sfcperf.vnfs.load_balancer.engines import ENGINES, Service, choose


class RunningLoadBalancer(KernelForwarding):
    """A host whose kernel balances and forwards."""

    rules_gone = "nothing is balanced any more"

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._name = choose(host, str(knobs["engine"]))
        service = Service(int(knobs["port"]), tuple(knobs["backends"]), str(knobs["scheduler"]))
        self._engine = ENGINES[self._name](host, attachment, service)
        # IPVS keeps a table of its own.
        self._tracking = (
            ConnectionTracking(host, self._settings) if self._name == "nftables" else None
        )

    def set_up(self) -> None:
        """Load the rules that balance; with nftables, also set up connection tracking."""
        super().set_up()
        if self._tracking is not None:
            self._tracking.set_up(check_checksums=self._knobs["check_checksums"])

    def facts(self) -> Mapping[str, Any]:
        """Return the engine that balances."""
        return {"engine": self._name}

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding; `balanced`, packets both ways of balanced
        connections; and `connections_portN`, connections that each backend was given. With
        nftables, ConnectionTracking adds its reasons for drops. Raises MeasurementError."""
        forwarding = super().counters()
        if self._tracking is not None:
            forwarding = self._tracking.counters(forwarding)
        return {**forwarding, **self._engine.counters()}


class LoadBalancer(KernelFunction):
    """Distributes connections to a port of the server over other ports of it, the backends."""

    name = "load_balancer"
    title = "Layer 4 load balancer by destination NAT (IPVS or nftables)"
    running = RunningLoadBalancer
    parameters = object_schema(
        {
            "port": port(
                "TCP and UDP port of the server that the client addresses. Packets to other ports "
                "are forwarded unchanged.",
                default=80,
            ),
            "backends": array(
                "Ports of the server that connections are distributed to.",
                {"type": "integer", "minimum": 1, "maximum": 65535},
                minItems=1,
                maxItems=64,
                uniqueItems=True,
                default=[8081, 8082],
            ),
            "scheduler": choice(
                "How to choose a backend: each in turn, or by a hash of the client's address and "
                "port.",
                ["round-robin", "hash"],
                default="round-robin",
            ),
            "engine": choice(
                "`auto` is IPVS if the kernel has it and ipvsadm is installed, otherwise nftables.",
                ["auto", *ENGINES],
                default="auto",
            ),
            "check_checksums": CHECK_CHECKSUMS_KNOB,
        }
    )

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require what the engine needs. With `auto`, that is what nftables needs, which always
        works; and say which engine `auto` is on this machine."""
        wanted = str(knobs["engine"])
        if wanted != "auto":
            return ENGINES[wanted].requirements()
        lacking = [need.detail for need in ENGINES["ipvs"].requirements() if not need.met]
        found = (
            f"nftables, because IPVS cannot be used: {'; '.join(lacking)}" if lacking else "ipvs"
        )
        engine = Requirement("engine of load_balancer", True, found)
        return [*ENGINES["nftables"].requirements(), engine]
