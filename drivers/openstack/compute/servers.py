"""Servers: requests that make them at the same time, and one look for all that boot."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.lifecycle.base import Workshop
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network.ports import port_name, roles
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError
from sfcperf.hosts.abandon import pause

__all__ = ["Boots", "console", "encoded", "port_name", "remove_server", "roles"]

LOOK_EVERY_S = 0.7
"""Between two looks at servers that boot: one request for all of them."""
FRESH_SERVERS = 1
"""How often a server that ends in ERROR is made anew."""
METADATA = "sfcperf-run"
"""Key under which a server says whose it is."""


def console(cloud: Cloud, server_id: str) -> str:
    """What the guest's console has printed so far."""

    def read() -> str:
        answer = cloud.connection.compute.get_server_console_output(server_id)
        return str((answer or {}).get("output") or "")

    return cloud.call(f"reading the console of server {server_id}", read)


@dataclass
class Boots:
    """Servers on their way to ACTIVE."""

    workshop: Workshop
    request: Callable[[MachinePlan], dict[str, Any]]
    """Body of the request that makes a machine's server; makes what that needs (ports)."""
    asked_at: dict[str, float] = field(default_factory=dict)
    """Machine -> when it was asked for, by time.monotonic."""
    made_s: dict[str, float] = field(default_factory=dict)
    """Machine -> from the request until ACTIVE."""
    _tries: dict[str, int] = field(default_factory=dict)

    def start(self, plans: Sequence[MachinePlan]) -> None:
        """Ask for all of them at the same time; those that are there are taken."""
        each(*(lambda plan=plan: self._ask(plan) for plan in plans))

    def wait(self, plans: Sequence[MachinePlan]) -> dict[str, str]:
        """Until all are ACTIVE; machine -> id of its server. Raises DeploymentError."""
        timeout_s = self.workshop.config.boot_timeout_s
        end = time.monotonic() + timeout_s
        ready: dict[str, str] = {}
        while True:
            seen = self._look()
            for plan in plans:
                server = seen.get(plan.name)
                if server is None or plan.name in ready:
                    continue
                if server.status == "ACTIVE":
                    ready[plan.name] = server.id
                    self.made_s[plan.name] = time.monotonic() - self.asked_at[plan.name]
                elif server.status == "ERROR":
                    self._again(plan, server.id, end)
            if len(ready) == len(plans):
                return ready
            if time.monotonic() > end:
                raise self._late(plans, ready, seen, timeout_s)
            pause(LOOK_EVERY_S)

    def _ask(self, plan: MachinePlan) -> None:
        compute = self.workshop.cloud.connection.compute
        body = self.request(plan)
        self.asked_at.setdefault(plan.name, time.monotonic())
        operations.ensure(
            self.workshop.cloud,
            Kind.SERVER,
            plan.name,
            lambda: compute.create_server(**body),
        )

    def _look(self) -> dict[str, Any]:
        compute, prefix = self.workshop.cloud.connection.compute, self.workshop.names.run
        listed = self.workshop.cloud.call(
            "looking at the servers", lambda: list(compute.servers(details=True, name=prefix))
        )
        return {server.name: server for server in listed if server.status != "DELETED"}

    def _again(self, plan: MachinePlan, server_id: str, end: float) -> None:
        """A fresh server in place of one in ERROR, once: the next one may find a better place."""
        words = self._fault(server_id)
        self._tries[plan.name] = self._tries.get(plan.name, 0) + 1
        if self._tries[plan.name] > FRESH_SERVERS:
            raise DeploymentError(
                f"the cloud could not make the server {plan.name}: {words}",
                hint=_advice(words),
            )
        self.workshop.log(f"openstack: server {plan.name} is in ERROR ({words}); making a new one")
        gone_by_s = max(10.0, end - time.monotonic())
        remove_server(self.workshop.cloud, plan.name, gone_by_s)
        self._ask(plan)

    def _fault(self, server_id: str) -> str:
        compute = self.workshop.cloud.connection.compute

        def read() -> str:
            server = compute.find_server(server_id, ignore_missing=True)
            return str(((server and server.fault) or {}).get("message") or "it does not say why")

        return self.workshop.cloud.call(f"reading the fault of server {server_id}", read)

    def _late(
        self,
        plans: Sequence[MachinePlan],
        ready: Mapping[str, str],
        seen: Mapping[str, Any],
        timeout_s: float,
    ) -> DeploymentError:
        states = []
        for plan in plans:
            if plan.name not in ready:
                server = seen.get(plan.name)
                state = "not there" if server is None else f"{server.status}, {server.task_state}"
                states.append(f"{plan.name} ({state})")
        return DeploymentError(
            f"not ACTIVE within {timeout_s:g} s: {', '.join(states)}",
            hint="raise infrastructure.config.boot_timeout_s, or see what the hypervisors do",
        )


def remove_server(cloud: Cloud, name: str, timeout_s: float) -> None:
    """Delete by name, and wait until it is gone."""
    for found in operations.every(cloud, Kind.SERVER, name):
        operations.delete(cloud, Kind.SERVER, name, found)

    def gone() -> bool | None:
        return None if list(operations.thing(Kind.SERVER).every(cloud, name)) else True

    cloud.wait(f"waiting until server {name} is gone", gone, timeout_s)


def encoded(user_data: str) -> str:
    """As nova wants it."""
    return b64encode(user_data.encode()).decode()


def _advice(words: str) -> str | None:
    if "no valid host" in words.lower():
        return (
            "no hypervisor has room for it, or the one that `hosts` names is full or unknown: "
            "choose smaller resources, or another place"
        )
    return None
