"""The firewall as a VNF type: kernel forwarding behind many rules that match nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.firewall.engines import ENGINES, Engine
from sfcperf.vnfs.kernel_forwarding import KernelForwarding

MAX_RULES = 100_000


class Firewall(NetworkFunction):
    """Forwards IPv4 and compares every packet with every rule."""

    name: ClassVar[str] = "firewall"
    title: ClassVar[str] = "packet filter of the Linux kernel: rules that every packet is held to"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "rules": {
                "description": "Rules that match nothing; every packet is compared with all.",
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_RULES,
                "default": 20,
            },
            "engine": {
                "description": "`iptables` is iptables-nft, Debian's iptables; `iptables-legacy` "
                "the xtables that iptables was before, and in the paper.",
                "enum": list(ENGINES),
                "default": "nftables",
            },
            "default": {
                "description": "What becomes of packets that no rule matches: `drop` lets nothing "
                "through.",
                "enum": ["accept", "drop"],
                "default": "accept",
            },
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip`, `sysctl`, and the engine's commands."""
        engine = ENGINES[str(knobs["engine"])]
        return [*kernel_forwarding.requirements(), *engine.requirements()]

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFirewall:
        """Routes, all rules, then forwarding on."""
        engine, default = ENGINES[str(knobs["engine"])], str(knobs["default"])
        with kernel_forwarding.deployment_errors(host, attachment):
            running = RunningFirewall(host, attachment, engine, default)
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                engine.load(host, int(knobs["rules"]), default)
                running.forward()
        return running


class RunningFirewall(KernelForwarding):
    """A host whose kernel filters and forwards."""

    def __init__(self, host: Host, attachment: Attachment, engine: Engine, default: str) -> None:
        super().__init__(host, attachment)
        self._engine = engine
        self._default = default

    def counters(self) -> Mapping[str, int]:
        """As of kernel forwarding, and `passed_all_rules`: packets that met the last rule.

        With `default` drop these are `dropped_by_rules`, and nothing is forwarded, whatever the
        kernel's statistics say: some versions count before the rules. Raises MeasurementError.
        """
        counters = dict(super().counters())
        last = self._engine.last_rule_packets(self._host, self._default)
        dropped = last if self._default == "drop" else 0
        return counters | {
            "forwarded": 0 if self._default == "drop" else counters["forwarded"],
            "dropped": counters["dropped"] + dropped,
            "dropped_by_rules": dropped,
            "passed_all_rules": last - dropped,
        }

    def problem(self) -> str | None:
        """Also when the rules are gone."""
        if (problem := super().problem()) is not None:
            return problem
        try:
            self._engine.last_rule_packets(self._host, self._default)
        except MeasurementError as error:
            return f"the firewall's rules are gone: {error.message}"
        return None

    def take_away(self) -> None:
        """The rules."""
        self._engine.remove(self._host)
