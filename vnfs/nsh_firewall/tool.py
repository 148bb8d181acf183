"""sfc-firewall on a host: the firewall of one interface."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Conversation, ConversationOver, Host
from sfcperf.vnfs.rule_interface.policy import Policy
from sfcperf.vnfs.rule_interface.rules import Flow, Rule
from sfcperf.vnfs.rule_interface.table import Operation, PutRule, RuleTable

BINARY = "sfc-firewall"
TIMEOUT_S = 30.0


class Tool(RuleTable):
    """The program on the interface, and its rules; they live as long as the interface does."""

    versions = frozenset((4, 6))

    def __init__(self, host: Host, interface: str) -> None:
        """Raises EnvironmentLacks when the tool was not compiled."""
        self._host = host
        self._argv = [host.program(binaries.find(BINARY)), "--interface", interface]
        self._changing: Conversation | None = None
        """Conversation with the process that makes changes. The process has no state, so that
        another one can go on."""

    def attach(self, policy: Policy) -> None:
        """Attach the program to the interface, without rules. Raises MeasurementError."""
        options = ["--max-rules", str(policy.max_rules)]
        self._run("attach", *options, *(["--fail-closed"] if policy.fail_closed else []))

    def change(self, operations: Sequence[Operation], lease_s: float | None) -> None:
        """Write the change to the process `sfc-firewall change`, and once more to a new process if
        that one was killed. Raises MeasurementError."""
        lines = [_line(operation) for operation in operations]
        if lease_s is not None:
            lines.append(f"lease {_ms(lease_s)}\n")
        change = "".join([*lines, "\n"]).encode()
        try:
            answer = self._ask(change)
        except ConversationOver:
            # It was killed: how much of the change was done is not known, and makes no difference.
            answer = self._ask(change)
        if answer != "done":
            raise MeasurementError(answer.removeprefix("failed: "))

    def counters(self) -> Mapping[str, int]:
        """Packets since `attach`. Raises MeasurementError, also when the program is gone."""
        counters: dict[str, int] = json.loads(self._run("counters"))
        return counters

    def detach(self) -> None:
        """Detach the program, with which its rules go. Raises MeasurementError."""
        if self._changing is not None:
            self._changing.close()
            self._changing = None
        self._run("detach")

    def _ask(self, change: bytes) -> str:
        """Return the answer to a change. Raises MeasurementError; the next change then starts
        another process."""
        changing, self._changing = self._changing, None
        changing = changing or self._host.converse([*self._argv, "change"])
        answer = changing.ask(change, TIMEOUT_S).decode(errors="replace")
        self._changing = changing
        return answer

    def _run(self, *arguments: str) -> bytes:
        """Run the tool, and return what it prints. Raises MeasurementError."""
        try:
            return self._host.run([*self._argv, *arguments], timeout_s=TIMEOUT_S).stdout
        except MeasurementError as error:
            # The message repeats the command line; only what the tool itself says is kept.
            message = error.message.rpartition(f"{BINARY}: ")[2]
            raise MeasurementError(message, where=error.where, hint=error.hint) from error


def _ms(seconds: float) -> int:
    return round(1000 * seconds)


def _line(operation: Operation) -> str:
    """Return a change as a line for the tool: kind of the rule, its time in ms (`-`: remove it),
    its fields."""
    rule = operation.rule
    # Not 0 ms, with which a rule would never be in force.
    time = max(_ms(operation.ttl_s), 1) if isinstance(operation, PutRule) else "-"
    return f"{'flow' if isinstance(rule, Flow) else 'source'} {time} {_fields(rule)}\n"


def _fields(rule: Rule) -> str:
    """Return what identifies a rule for the tool: an address, or a protocol and both ends of a
    flow."""
    if not isinstance(rule, Flow):
        return rule.address
    (low, low_port), (high, high_port) = rule.low, rule.high
    return f"{rule.protocol} {low} {low_port} {high} {high_port}"
