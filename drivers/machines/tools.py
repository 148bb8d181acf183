"""Commands that a scenario calls on each machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfcperf import plugins
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts.agent import Agent
from sfcperf.hosts.carry import missing
from sfcperf.vnfs.base import function_type
from sfcperf.workflow.model import Scenario

_OWN = ("ip", "ping")
"""Commands that the driver calls on every machine."""


def check_tools(node: str, agent: Agent, scenarios: Sequence[Scenario]) -> None:
    """Raise EnvironmentLacks if the machine of a node lacks a command that functions, probes or
    monitors of these scenarios call there."""
    wanted = {*_OWN, *(tool for each in scenarios for tool in _tools(node, each))}
    _, absent = missing(agent.host(node, None, Path("/"), ()), wanted)
    if absent:
        raise EnvironmentLacks(
            f"it lacks {', '.join(absent)}",
            hint="`ansible-playbook -i lab.ini --tags run playbooks/host.yml` installs it",
        )


def _tools(node: str, scenario: Scenario) -> set[str]:
    """Return the commands that a scenario calls on the machine of a node."""
    found: set[str] = set()
    for function in scenario.chain.functions:
        if function.node == node:
            found.update(function_type(function).tools(function.knobs))
    if node in (scenario.client.node, scenario.server.node):
        for spec in scenario.probes:
            for name in spec.plugins:
                found.update(plugins.load("probe", name).tools())
    for monitor in scenario.monitors:
        found.update(plugins.load("monitor", monitor.monitor).tools())
    return found
