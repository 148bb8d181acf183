"""What is wrong with machines that answer."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sfcperf.drivers.machines.facts import MachineFacts
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts.agent import Agent

_MOST_OFFSET_S = 60.0
"""A clock that is farther from ours is wrong, whatever is measured."""


def check_clock(agent: Agent) -> None:
    """Raise EnvironmentLacks if the clock of an agent's machine is far from ours."""
    offset_s = agent.call(time.time) - time.time()
    if abs(offset_s) > _MOST_OFFSET_S:
        words = "ahead of" if offset_s > 0 else "behind"
        raise EnvironmentLacks(
            f"its clock is {abs(offset_s):.0f} s {words} this machine's",
            hint="set both by NTP, with chrony for example",
        )


def check_machines(facts: Mapping[str, MachineFacts], wire_mtu: int) -> None:
    """Raise EnvironmentLacks if two nodes are one machine, or a card cannot have the MTU of the
    wire. `facts`: by node; `wire_mtu`: bytes of IP packet."""
    known: dict[tuple[str, int], str] = {}
    for name, each in facts.items():
        where = f"/infrastructure/config/machines/{name}"
        if (other := known.setdefault(each.identity, name)) != name:
            raise EnvironmentLacks(
                f"{other} and {name} are the same machine",
                where=f"{where}/ssh",
                hint="give each node a machine of its own",
            )
        if each.nic is not None and each.nic.most_mtu < wire_mtu:
            raise EnvironmentLacks(
                f"{name}: the network card {each.nic.name} takes packets of at most "
                f"{each.nic.most_mtu} bytes, and wire_mtu is {wire_mtu}",
                where="/infrastructure/config/wire_mtu",
                allowed=f"at most {each.nic.most_mtu}",
            )
