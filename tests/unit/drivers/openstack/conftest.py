"""A cloud that falters, and the driver's parts on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.cloud.broken_api import BrokenApi, Fault

from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.retry import RetryPolicy
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.model.specs import MachinePlan, MachineSpec, ResourceNames
from sfcperf.drivers.openstack.network.networks import RunNetworks
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.workflow.defaults import with_defaults

FAST = RetryPolicy(
    timeout_s=5.0,
    first_pause_s=0.02,
    longest_pause_s=0.1,
    first_poll_s=0.02,
    longest_poll_s=0.1,
    servers_poll_s=0.02,
    removal_poll_s=0.02,
    delete_again_s=0.1,
    late_check_s=0.02,
)
"""What is tested is what happens, not how long it takes."""
NETWORKS = RunNetworks("data", "data-subnet", "management", "sfcperf-abc123", "#!/bin/sh\n")


@dataclass
class Bench:
    """A cloud of the test, and a context in it for the run `abc123`."""

    api: BrokenApi
    context: LifecycleContext
    said: list[str]

    @property
    def cloud(self) -> Cloud:
        return self.context.cloud

    @property
    def networks(self) -> list[str]:
        """Names, as the driver lists them."""
        connection = self.cloud.connection
        listed = self.cloud.call("listing networks", lambda: list(connection.network.networks()))
        return [network.name for network in listed]

    @property
    def journaled(self) -> set[tuple[str, str]]:
        return {(r.kind, r.name) for r in self.context.journal.outstanding()}

    def function(self, number: int, **spec: Any) -> MachinePlan:
        return self._plan(number, "function", "fwd", spec, None)

    def endpoint(self, number: int, name: str, address: str | None = None) -> MachinePlan:
        return self._plan(number, "endpoint", name, {}, address)

    def _plan(
        self, number: int, role: Any, vnf: str, more: dict[str, Any], address: str | None
    ) -> MachinePlan:
        values: dict[str, Any] = {
            **{"role": role, "vnf": vnf, "type": "forwarder", "image": "guest", "flavor": None},
            **{"vcpus": 1, "memory_mib": 256, "hypervisor": None, "vnfd": None},
        }
        return MachinePlan(
            self.context.names.machine(number, vnf), MachineSpec(**{**values, **more}), address
        )


Start = Callable[..., Bench]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a cloud with these faults and settings of the driver."""
    running: list[BrokenApi] = []

    def begin(
        *faults: Fault,
        retry: RetryPolicy = FAST,
        password: str = "right",
        extensions: Sequence[str] = ("sfc", "flow_classifier", "port-security", "security-group"),
        **settings: Any,
    ) -> Bench:
        api = BrokenApi(*faults).__enter__()
        running.append(api)
        for alias in extensions:
            api.add("extensions", alias, alias=alias)
        api.add("images", "guest", status="active", min_ram=192, min_disk=0)
        for name, vcpus, ram in (("large", 2, 1024), ("small", 1, 256), ("tiny", 1, 128)):
            more: dict[str, Any] = {"OS-FLV-DISABLED:disabled": False}
            api.add("flavors", name, vcpus=vcpus, ram=ram, disk=1, **more)
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(api.clouds_yaml(tmp_path, password)))
        given = {"cloud": "broken", "management_network": "management", **settings}
        wanted = {key: value for key, value in given.items() if value is not None}
        config = Config(**with_defaults(PARAMETERS, wanted))
        said: list[str] = []
        cloud = Cloud(config.cloud, said.append, retry=retry)
        journal = FileJournal(tmp_path / "journal.jsonl").of(0)
        return Bench(api, LifecycleContext(cloud, config, ResourceNames("abc123"), journal), said)

    yield begin
    for api in running:
        api.__exit__()
