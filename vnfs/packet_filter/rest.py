"""A packet filter whose rules others set by REST."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.hosts.base import Host
from sfcperf.management.deployment import RuleInterface
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.packet_filter.rules import LAST, TABLE, nftables_rules
from sfcperf.vnfs.packet_filter.sets import DROPS, SetTable
from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.running import RunningRules


class RunningRestFirewall(KernelForwarding):
    """A host whose kernel filters and forwards, by rules that others set by REST while packets
    cross it."""

    rules_gone = "the firewall's rules are gone"
    _engine: SetTable

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        policy = Policy.of(knobs)
        more = nftables_rules(int(knobs["rules"]), "accept")
        self._engine = SetTable(host, TABLE, more, fail_closed=policy.fail_closed)
        self._rules = RunningRules(attachment.name, policy, self._engine, attachment.outputs)

    def set_up(self) -> None:
        """Load the sets, then take rules. Raises MeasurementError, DeploymentError."""
        super().set_up()
        self._rules.start()

    def facts(self) -> Mapping[str, Any]:
        """Return the engine, which for the type `nsh_firewall` depends on the infrastructure."""
        return {"engine": "nftables"}

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding; `dropped_by_flow_rule`,
        `dropped_by_source_rule`, `dropped_while_failed` (fail-closed); `passed_all_rules`: packets
        that reached the last rule. `rule_interface_restarts`: how often its process was started
        again. Raises MeasurementError."""
        kernel = super().counters()
        own = self._engine.counters()
        drops = {f"dropped_{cause}": own[counter] for cause, counter in DROPS.items()}
        return {
            **kernel,
            **drops,
            # Some kernels count a packet as forwarded before the rules, which may drop it.
            "forwarded": min(kernel["forwarded"], own[LAST]),
            "dropped": kernel["dropped"] + sum(drops.values()),
            "passed_all_rules": own[LAST],
            "rule_interface_restarts": self._rules.restarts,
        }

    def problem(self) -> str | None:
        """Return what is wrong with kernel forwarding or the rule interface, None while both
        work."""
        return super().problem() or self._rules.problem()

    def rule_interface(self) -> RuleInterface | None:
        """Return the URL of the rule interface and the token that it asks for."""
        return self._rules.interface()

    def take_away(self) -> None:
        """Stop the rule interface, then remove the sets."""
        self._rules.stop()
        super().take_away()
