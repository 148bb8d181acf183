"""Servers: created at the same time, and watched by one request while they boot."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfcperf import waiting
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.model.specs import MachinePlan
from sfcperf.drivers.openstack.network.ports import Port
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.drivers.parallel import each
from sfcperf.errors import DeploymentError

REPLACEMENTS = 1
"""How often a server that ends in ERROR is replaced."""
NO_HOST_HINT = (
    "no hypervisor has room for it, or the one that `hosts` names is full or unknown: choose "
    "smaller resources, or another place"
)
METADATA = "sfcperf-run"
"""Key in a server's metadata for the run's tag."""


@dataclass(frozen=True)
class Machine:
    """A machine that the cloud calls ACTIVE; its guest may still be booting."""

    plan: MachinePlan
    server_id: str
    ports: Mapping[str, Port]
    """Name of the port (MANAGEMENT, DATA, INGRESS, EGRESS of `model.specs`) -> port."""
    made_s: float
    """Time from the request until ACTIVE, seconds, as the caller saw it."""


def console(cloud: Cloud, server_id: str) -> str:
    """Return what the guest's console has printed so far; empty if nothing."""

    def read() -> str:
        answer = cloud.connection.compute.get_server_console_output(server_id)
        return str((answer or {}).get("output") or "")

    return cloud.call(f"reading the console of server {server_id}", read)


@dataclass
class BootingServers:
    """Servers on their way to ACTIVE, of one call of `boot`."""

    context: LifecycleContext
    request: Callable[[MachinePlan], dict[str, Any]]
    """Makes what the server of a machine needs (ports), then gives the body of the request that
    makes the server."""
    made_s: dict[str, float] = field(default_factory=dict)
    """Machine -> time from the first request until ACTIVE, seconds."""
    _requested_at: dict[str, float] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)
    """Machine -> how many of its servers ended in ERROR."""

    def boot(self, plans: Sequence[MachinePlan]) -> dict[str, str]:
        """Create the servers that are missing, all at the same time, and return when all are
        ACTIVE; machine -> id of its server. Raises DeploymentError."""
        each(*(lambda plan=plan: self._create(plan) for plan in plans))
        timeout_s = self.context.config.boot_timeout_s
        end = time.monotonic() + timeout_s
        ready: dict[str, str] = {}
        while True:
            seen = self._servers()
            for plan in plans:
                server = seen.get(plan.name)
                if server is None or plan.name in ready:
                    continue
                if server.status == "ACTIVE":
                    ready[plan.name] = server.id
                    self.made_s[plan.name] = time.monotonic() - self._requested_at[plan.name]
                elif server.status == "ERROR":
                    self._replace(plan, server.id, end)
            if len(ready) == len(plans):
                return ready
            if time.monotonic() > end:
                missing = [plan.name for plan in plans if plan.name not in ready]
                raise _timed_out(missing, seen, timeout_s)
            waiting.sleep(self.context.cloud.retry.servers_poll_s)

    def _create(self, plan: MachinePlan) -> None:
        """Create the server of a machine, unless it is there."""
        cloud, body = self.context.cloud, self.request(plan)
        self._requested_at.setdefault(plan.name, time.monotonic())
        create = cloud.connection.compute.create_server
        operations.ensure(cloud, Kind.SERVER, plan.name, lambda: create(**body))

    def _servers(self) -> dict[str, Any]:
        """Return the run's servers by name, found by one request."""
        cloud, prefix = self.context.cloud, self.context.names.run
        listed = cloud.call(
            "looking at the servers",
            lambda: list(cloud.connection.compute.servers(details=True, name=prefix)),
        )
        return {server.name: server for server in listed if server.status != "DELETED"}

    def _replace(self, plan: MachinePlan, server_id: str, end: float) -> None:
        """Delete a server that has ended in ERROR, and make a new one, for which the cloud may find
        a better place. `end`: when the boot must be over, seconds of the monotonic clock. Raises
        DeploymentError for a machine whose server was replaced before."""
        cloud, fault = self.context.cloud, self._fault(server_id)
        self._failures[plan.name] = self._failures.get(plan.name, 0) + 1
        if self._failures[plan.name] > REPLACEMENTS:
            raise DeploymentError(
                f"the cloud could not make the server {plan.name}: {fault}",
                hint=NO_HOST_HINT if "no valid host" in fault.lower() else None,
            )
        cloud.log(f"openstack: server {plan.name} is in ERROR ({fault}); making a new one")
        for found in operations.find(cloud, Kind.SERVER, plan.name):
            operations.delete(cloud, Kind.SERVER, plan.name, found)
        cloud.wait(
            f"waiting until server {plan.name} is gone",
            lambda: True if operations.first(cloud, Kind.SERVER, plan.name) is None else None,
            max(10.0, end - time.monotonic()),
        )
        self._create(plan)

    def _fault(self, server_id: str) -> str:
        """Return nova's reason why a server is in ERROR."""
        compute = self.context.cloud.connection.compute

        def read() -> str:
            server = compute.find_server(server_id, ignore_missing=True)
            return str(((server and server.fault) or {}).get("message") or "it gives no reason")

        return self.context.cloud.call(f"reading the fault of server {server_id}", read)


def _timed_out(
    missing: Sequence[str], seen: Mapping[str, Any], timeout_s: float
) -> DeploymentError:
    """Return the error which says in which state each missing server is. `seen`: the servers that
    are there, by name."""
    states = []
    for name in missing:
        server = seen.get(name)
        state = "not there" if server is None else f"{server.status}, {server.task_state}"
        states.append(f"{name} ({state})")
    return DeploymentError(
        f"not ACTIVE within {timeout_s:g} s: {', '.join(states)}",
        hint="raise infrastructure.config.boot_timeout_s, or look at the hypervisors",
    )
