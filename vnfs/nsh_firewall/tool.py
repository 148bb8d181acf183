"""sfc-firewall on a host: the firewall of one interface."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.vnfs import binaries
from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.rules import Flow, Rule
from sfcperf.vnfs.rule_interface.table import Operation, Put, RuleTable

BINARY = "sfc-firewall"
TIMEOUT_S = 30.0


class Tool(RuleTable):
    """The program on the interface, and its rules; they live as long as the interface does."""

    versions = frozenset((4, 6))

    def __init__(self, host: Host, interface: str) -> None:
        """Raises EnvironmentLacks when the tool was not compiled."""
        self._host = host
        self._argv = [host.program(binaries.find(BINARY)), "--interface", interface]

    def attach(self, policy: Policy) -> None:
        """Start, without rules. Raises MeasurementError."""
        options = ["--max-rules", str(policy.max_rules)]
        self._run("attach", *options, *(["--fail-closed"] if policy.fail_closed else []))

    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """See RuleTable.change."""
        lines = [_line(operation) for operation in operations]
        if lease_s is not None:
            lines.append(f"lease {_ms(lease_s)}\n")
        self._run("change", stdin="".join(lines).encode())

    def counters(self) -> Mapping[str, int]:
        """Since the start. Raises MeasurementError, also when the program is gone."""
        counters: dict[str, int] = json.loads(self._run("counters"))
        return counters

    def detach(self) -> None:
        """End, and forget the rules. Raises MeasurementError."""
        self._run("detach")

    def _run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        try:
            return self._host.run(
                [*self._argv, *arguments], timeout_s=TIMEOUT_S, stdin=stdin
            ).stdout
        except MeasurementError as error:
            # Not the options, of which the message has a copy.
            said = error.message.rpartition(f"{BINARY}: ")[2]
            raise MeasurementError(said, where=error.where, hint=error.hint) from error


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


def _line(operation: Operation) -> str:
    rule = operation.rule
    time = max(_ms(operation.ttl_s), 1) if isinstance(operation, Put) else "-"
    return f"{'flow' if isinstance(rule, Flow) else 'source'} {time} {_fields(rule)}\n"


def _fields(rule: Rule) -> str:
    if not isinstance(rule, Flow):
        return rule.address
    (low, low_port), (high, high_port) = rule.low, rule.high
    return f"{rule.protocol} {low} {low_port} {high} {high_port}"
