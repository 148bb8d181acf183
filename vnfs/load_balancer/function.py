"""The load balancer as a VNF type: connections to one port go to several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, array, choice, object_schema, port
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.kernel_forwarding import CHECK_CHECKSUMS_KNOB, KernelForwarding, KernelFunction
from sfcperf.vnfs.load_balancer.engines import ENGINES, Service, choose


class RunningLoadBalancer(KernelForwarding):
    """A host whose kernel balances and forwards."""

    rules_gone = "nothing is balanced any more"

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._name = choose(host, str(knobs["engine"]))
        service = Service(int(knobs["port"]), tuple(knobs["backends"]), str(knobs["scheduler"]))
        self._engine = ENGINES[self._name](host, attachment, service)

    def set_up(self) -> None:
        """Load the engine's rules, and for nftables set whether checksums are verified."""
        super().set_up()
        if self._name == "nftables":
            self.check_checksums()

    def facts(self) -> Mapping[str, Any]:
        """Return the engine that balances: `auto` may have become either."""
        return {"engine": self._name}

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding; `balanced`, packets both ways of balanced
        connections; and `connections_portN`, connections that each backend was given. Raises
        MeasurementError."""
        return {**super().counters(), **self._engine.counters()}


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
        """Return what the engine needs. For `auto` that is what nftables needs, because it
        always works, and a note which engine this machine would use."""
        wanted = str(knobs["engine"])
        if wanted != "auto":
            return ENGINES[wanted].requirements()
        lacking = [need.detail for need in ENGINES["ipvs"].requirements() if not need.met]
        found = (
            f"nftables, because IPVS cannot be used: {'; '.join(lacking)}" if lacking else "ipvs"
        )
        engine = Requirement("engine of load_balancer", True, found)
        return [*ENGINES["nftables"].requirements(), engine]
