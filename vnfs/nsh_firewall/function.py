"""The NSH-aware firewall as a VNF type (SFCPerf paper, section VI)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.management.deployment import RuleInterface
from sfcperf.plugins import Requirement, commands, object_schema
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.nftables import Table
from sfcperf.vnfs.nsh_firewall.tool import BINARY, Tool
from sfcperf.vnfs.packet_filter.rest import RunningRestFirewall
from sfcperf.vnfs.rule_interface import policy, running
from sfcperf.vnfs.rule_interface.policy import KNOBS, Policy
from sfcperf.vnfs.rule_interface.running import RunningRules


class RunningNshFirewall(RunningFunction):
    """The program on the interface, and its rule interface. After the constructor comes `launch`;
    if that fails, `stop` takes back what it has done."""

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        """Changes nothing on the host yet. Raises EnvironmentLacks."""
        self._policy = Policy.of(knobs)
        self._tool = Tool(host, attachment.interfaces[0])
        self._rules = RunningRules(attachment.name, self._policy, self._tool, attachment.outputs)

    def launch(self) -> None:
        """Attach the program and start the rule interface; return when it forwards and takes rules.
        Raises DeploymentError, MeasurementError."""
        self._tool.attach(self._policy)
        self._rules.start()

    def counters(self) -> Mapping[str, int]:
        """Packets since the start.

        `received`, `forwarded` and `dropped` count NSH packets sent to this function; `passed` are
        frames left to the kernel; `dropped_by_flow_rule`, `dropped_by_source_rule`,
        `dropped_unparsed` (no rule can judge it), `dropped_while_failed` (fail-closed), and
        the forwarder's `dropped_REASON`. `rule_interface_restarts`: how often its process was
        started again. Raises MeasurementError.
        """
        return {**self._tool.counters(), "rule_interface_restarts": self._rules.restarts}

    def problem(self) -> str | None:
        """Return None while the program is attached and its rule interface works, else what is
        wrong."""
        try:
            self._tool.counters()
        except MeasurementError as error:
            return error.message
        return self._rules.problem()

    def rule_interface(self) -> RuleInterface | None:
        """Return the URL of the rule interface and the token that it asks for."""
        return self._rules.interface()

    def stop(self) -> None:
        """Stop the rule interface, then detach the program, with which its rules go."""
        self._rules.stop()
        with suppress(MeasurementError):
            self._tool.detach()


class NshFirewall(NetworkFunction):
    """Drops packets by rules that others set by REST, decrements the service index of the other
    packets, and returns them to the SFF. Where the infrastructure chains plain IP, the kernel
    forwards and filters by nftables, with the same rule interface."""

    name = "nsh_firewall"
    title = "NSH-aware firewall in XDP, with rules by REST"
    nsh_aware = True
    plain_ip = True
    interfaces = 1
    kernel_path = False
    parameters = object_schema(KNOBS)

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool, and what the rule interface needs."""
        return [binaries.requirement(BINARY), running.requirement()]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands of kernel forwarding and nftables, which plain IP needs."""
        return commands([*kernel_forwarding.requirements(), *Table.requirements()])

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse entries of `allow` that are no IP prefixes. Raises InputError."""
        policy.check(knobs)

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True, because frames return by XDP_TX."""
        return True

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Attach the XDP program and start its rule interface; where packets are plain IP, launch a
        RunningRestFirewall instead. Raises DeploymentError, EnvironmentLacks."""
        if attachment.encapsulation == "none":
            # `rules` is a knob of the type `firewall`: rules that every packet crosses.
            return RunningRestFirewall.launch(host, attachment, {"rules": 0, **knobs})
        started = RunningNshFirewall(host, attachment, knobs)
        with (
            kernel_forwarding.all_or_nothing(started),
            kernel_forwarding.deploying(attachment.name, host),
        ):
            started.launch()
        return started
