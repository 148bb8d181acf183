"""The firewall as a VNF type: kernel forwarding behind many rules that match nothing, and behind
rules by REST."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, choice, integer, object_schema
from sfcperf.vnfs.base import Attachment, RunningFunction
from sfcperf.vnfs.firewall.engines import ENGINES
from sfcperf.vnfs.kernel_forwarding import KernelForwarding, KernelFunction
from sfcperf.vnfs.packet_filter.rest import RunningRestFirewall
from sfcperf.vnfs.packet_filter.rules import LAST
from sfcperf.vnfs.rule_interface import policy, running
from sfcperf.vnfs.rule_interface.policy import KNOBS

MAX_RULES = 100_000


class RunningFirewall(KernelForwarding):
    """A host whose kernel filters and forwards."""

    rules_gone = "the firewall's rules are gone"

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        self._default = str(knobs["default"])
        engine = ENGINES[str(knobs["engine"])]
        self._engine = engine(host, int(knobs["rules"]), self._default)

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding, and the packets that reached the last rule:
        `passed_all_rules` if the knob `default` is accept, `dropped_by_rules` if it is drop; the
        other one is 0.

        With drop, nothing is forwarded, whatever the kernel's statistics say: some versions count
        before the rules. Raises MeasurementError.
        """
        counters = dict(super().counters())
        last = self._engine.counters()[LAST]
        dropped = last if self._default == "drop" else 0
        return counters | {
            "forwarded": 0 if self._default == "drop" else counters["forwarded"],
            "dropped": counters["dropped"] + dropped,
            "dropped_by_rules": dropped,
            "passed_all_rules": last - dropped,
        }


class Firewall(KernelFunction):
    """Forwards IPv4 and compares every packet with every rule; with `rules_by` `rest`, also with
    those that others set while packets cross it."""

    name = "firewall"
    title = "Packet filter of the Linux kernel that compares every packet with every rule"
    running = RunningFirewall
    parameters = object_schema(
        {
            "rules": integer(
                "Number of rules that match nothing; every packet is compared with all of them.",
                (0, MAX_RULES),
                default=20,
            ),
            "engine": choice(
                "`iptables` is iptables-nft, as in Debian; `iptables-legacy` uses the xtables of "
                "older kernels and of the paper.",
                ENGINES,
                default="nftables",
            ),
            "default": choice(
                "What happens to packets that match no rule. `drop` lets nothing through.",
                ["accept", "drop"],
                default="accept",
            ),
            "rules_by": choice(
                "`workflow`: the rules above are all. `rest`: others set rules by REST as well, in "
                "front of these (engine `nftables`, default `accept`); the remaining knobs are "
                "about them.",
                ["workflow", "rest"],
                default="workflow",
            ),
            **KNOBS,
        }
    )

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse rules by REST unless the engine is `nftables` and the default `accept`. Raises
        InputError."""
        policy.check(knobs)
        for knob, only in (("engine", "nftables"), ("default", "accept")):
            if knobs["rules_by"] == "rest" and knobs[knob] != only:
                raise InputError(
                    f"rules by REST do not work with {knob} {knobs[knob]!r}",
                    where=knob,
                    allowed=f"{only!r}, or the knob `rules_by` as 'workflow'",
                )

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the engine's commands, and what the rule interface needs."""
        needs = ENGINES[str(knobs["engine"])].requirements()
        return [*needs, running.requirement()] if knobs["rules_by"] == "rest" else needs

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Launch a RunningRestFirewall if `rules_by` is `rest`, else a RunningFirewall."""
        kind = RunningRestFirewall if knobs["rules_by"] == "rest" else RunningFirewall
        return kind.launch(host, attachment, knobs)
