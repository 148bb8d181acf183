"""The load balancer as a VNF type: connections to one port go to several."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.kernel_forwarding import CHECK_CHECKSUMS_KNOB, KernelForwarding
from sfcperf.vnfs.load_balancer.engines import ENGINES, Service, choose

_PORT = {"type": "integer", "minimum": 1, "maximum": 65535}


class LoadBalancer(NetworkFunction):
    """Sends each connection to a port of the server to one of its backends."""

    name: ClassVar[str] = "load_balancer"
    title: ClassVar[str] = "layer 4 load balancer by destination NAT (IPVS, or nftables)"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "port": {
                "description": "TCP and UDP port of the server that the client addresses; what "
                "goes to others is forwarded as it is.",
                **_PORT,
                "default": 80,
            },
            "backends": {
                "description": "Ports of the server that connections go to.",
                "type": "array",
                "items": _PORT,
                "minItems": 1,
                "maxItems": 64,
                "uniqueItems": True,
                "default": [8081, 8082],
            },
            "scheduler": {
                "description": "Who is next: each in turn, or by a hash of the client's address "
                "and port.",
                "enum": ["round-robin", "hash"],
                "default": "round-robin",
            },
            "engine": {
                "description": "`auto` is IPVS where the kernel has it and ipvsadm is installed, "
                "else nftables.",
                "enum": ["auto", *ENGINES],
                "default": "auto",
            },
            "check_checksums": CHECK_CHECKSUMS_KNOB,
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip`, `sysctl`, and the engine's; with `auto` those of nftables, which always does, and
        which engine that is on this machine."""
        wanted = str(knobs["engine"])
        if wanted != "auto":
            return [*kernel_forwarding.requirements(), *ENGINES[wanted].requirements()]
        lacking = [need.detail for need in ENGINES["ipvs"].requirements() if not need.met]
        found = f"nftables, since for IPVS: {'; '.join(lacking)}" if lacking else "ipvs"
        return [
            *kernel_forwarding.requirements(),
            *ENGINES["nftables"].requirements(),
            Requirement("engine of load_balancer", True, found),
        ]

    @classmethod
    def start(
        cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]
    ) -> RunningLoadBalancer:
        """Routes, the balanced service, then forwarding on."""
        service = Service(int(knobs["port"]), tuple(knobs["backends"]), str(knobs["scheduler"]))
        with kernel_forwarding.deployment_errors(host, attachment):
            name = choose(host, str(knobs["engine"]))
            running = RunningLoadBalancer(host, attachment, name, service)
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                ENGINES[name].load(host, attachment, service)
                if name == "nftables":
                    running.check_checksums(bool(knobs["check_checksums"]))
                running.forward()
        return running


class RunningLoadBalancer(KernelForwarding):
    """A host whose kernel balances and forwards."""

    def __init__(self, host: Host, attachment: Attachment, engine: str, service: Service) -> None:
        super().__init__(host, attachment)
        self._attachment = attachment
        self._name = engine
        self._engine = ENGINES[engine]
        self._service = service

    def facts(self) -> Mapping[str, Any]:
        """The engine that balances."""
        return {"engine": self._name}

    def counters(self) -> Mapping[str, int]:
        """As of kernel forwarding; `balanced`, packets both ways of balanced connections; and
        `connections_portN`, connections that each backend was given. Raises MeasurementError."""
        return {**super().counters(), **self._engine.counters(self._host, self._service)}

    def problem(self) -> str | None:
        """Also when the balanced service is gone."""
        if (problem := super().problem()) is not None:
            return problem
        try:
            self._engine.counters(self._host, self._service)
        except MeasurementError as error:
            return f"nothing is balanced any more: {error.message}"
        return None

    def take_away(self) -> None:
        """What is balanced."""
        self._engine.remove(self._host, self._attachment, self._service)
