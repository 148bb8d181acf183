"""Diagnostics of a VM from outside: nova's server diagnostics.

nova asks the hypervisor at that moment, and by default allows only administrators (policy
`os_compute_api:os-server-diagnostics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError, cloud_errors, json_of
from sfcperf.drivers.openstack.api.retry import INTERACTIVE
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.errors import EnvironmentLacks, MeasurementError, errors_as
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario

Values = Mapping[str, float]
Diagnostics = Mapping[str, Callable[[], Values]]
"""Instance -> what asks for the values of its VM, as `Deployment.diagnostics` has it."""

MONITOR = "diagnostics"
POLICY = "os_compute_api:os-server-diagnostics"
REMEDY = (
    "give a user with the role admin by `infrastructure.config.telemetry_cloud` (a name in "
    f"clouds.yaml), or ask the cloud's operator to open the policy {POLICY} to the project"
)
_NOBODY = "00000000-0000-0000-0000-000000000000"
"""Id of a server that does not exist."""
_HYPERVISOR_SPECIFIC = "2.1"
"""Microversion of the older answer. Before 2.48 the answer depends on the hypervisor; libvirt's has
the memory."""
_FORBIDDEN, _NOT_FOUND = 403, 404
_NS_PER_S = 1_000_000_000
_BYTES_PER_KIB, _BYTES_PER_MIB = 1 << 10, 1 << 20
_DISK = {
    "read_bytes": "disk_read_bytes",
    "read_requests": "disk_read_requests",
    "write_bytes": "disk_written_bytes",
    "write_requests": "disk_write_requests",
    "errors_count": "disk_errors",
}
"""nova's name of a disk's counter -> ours."""
_NIC = {"octets": "bytes", "packets": "packets", "errors": "errors", "drop": "drops"}


def of(cloud: Cloud, machines: Mapping[str, Machine]) -> Diagnostics:
    """Return, by instance, what asks for the values of its VM; those of a port have its name in
    front (`in/rx_bytes`)."""
    return {instance: _ServerDiagnostics(cloud, machine) for instance, machine in machines.items()}


def requirements(config: Config) -> list[Requirement]:
    """Require what can be checked without a workflow: that a user who is named only for the monitor
    may read diagnostics."""
    if config.telemetry_cloud is None:
        return []
    with closing(Cloud(config.telemetry_cloud, retry=INTERACTIVE)) as cloud:
        return [requirement(cloud)]


def open_telemetry(cloud: Cloud, config: Config) -> Cloud:
    """Return a connection as the user who may read diagnostics: a new one to `telemetry_cloud` if
    it is configured, else `cloud` itself."""
    name = config.telemetry_cloud
    return cloud if name is None else Cloud(name, cloud.log, retry=cloud.retry)


def check(cloud: Cloud, config: Config, scenarios: Sequence[Scenario]) -> None:
    """Raises EnvironmentLacks if the monitor is used but would get no answer."""
    if any(spec.monitor == MONITOR for scenario in scenarios for spec in scenario.monitors):
        with closing(open_telemetry(cloud, config)) as telemetry:
            need = requirement(telemetry)
        need.demand()


def requirement(cloud: Cloud) -> Requirement:
    """Require that the user may read nova's diagnostics: it asks for those of a server that does
    not exist. If nova looks for the server before it checks rights, its answer (404) does not tell
    whether the user may, and the requirement is met. The detail names the user's roles."""

    def look() -> str:
        try:
            with cloud_errors("asking for diagnostics of no server"):
                _nova(cloud, _NOBODY)
        except CloudError as error:
            if error.status == _FORBIDDEN:
                message = f"not allowed: {error.failure.message}"
                raise EnvironmentLacks(message, hint=REMEDY) from error
            if error.status != _NOT_FOUND:
                raise
        session: Any = cloud.connection.session
        roles = ", ".join(sorted(session.auth.get_access(session).role_names))
        return f"nova, for administrators unless opened; your roles: {roles}"

    return Requirement.found(f"server diagnostics (monitor `{MONITOR}`)", look)


class _ServerDiagnostics:
    """Asks for the diagnostics of one server."""

    def __init__(self, cloud: Cloud, machine: Machine) -> None:
        self._cloud = cloud
        self._server = machine.server_id
        self._name = machine.plan.name
        self._ports = {port.mac: name for name, port in machine.ports.items()}

    def __call__(self) -> Values:
        """Ask nova, and return the values. Raises MeasurementError."""
        with errors_as(MeasurementError, CloudError):
            return self._diagnostics()

    def _diagnostics(self) -> Values:
        """Ask nova, and return the values. Raises CloudError, MeasurementError."""
        what = f"asking nova for diagnostics of {self._name}"
        try:
            with cloud_errors(what):
                answer = _nova(self._cloud, self._server)
        except CloudError as error:
            if error.status != _FORBIDDEN:
                raise
            raise MeasurementError(
                f"{error.message}: nova allows only administrators by default ({POLICY})",
                hint=REMEDY,
            ) from error
        if answer.cpu_details is None:
            raise MeasurementError(
                f"{what}: this nova does not know microversion 2.48, before which the answer "
                "differs between hypervisors"
            )
        values = dict(_standard(answer, self._ports))
        if answer.driver == "libvirt":
            with cloud_errors(what):
                values |= _libvirt_memory(self._cloud, self._server)
        return values


def _nova(cloud: Cloud, server: str) -> Any:
    """Ask nova for a server's diagnostics:
    openstack.compute.v2.server_diagnostics.ServerDiagnostics, microversion 2.48."""
    return cloud.connection.compute.get_server_diagnostics(server)


def _standard(answer: Any, ports: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield name and value of all that hypervisors have in common. `ports`: MAC address -> name of
    the port. Values that this hypervisor does not know are left out: the answer has None for them,
    or a negative number."""
    cpus = [cpu["time"] for cpu in answer.cpu_details if cpu.get("time") is not None]
    if cpus:
        yield "cpu_s", sum(cpus) / _NS_PER_S
    for key, name in _DISK.items():
        counts = [disk.get(key) for disk in answer.disk_details or ()]
        counts = [count for count in counts if count is not None and count >= 0]
        if counts:
            yield name, sum(counts)
    for nic in answer.nic_details or ():
        mac = str(nic.get("mac_address") or "").lower()
        for way in ("rx", "tx"):
            for key, name in _NIC.items():
                count = nic.get(f"{way}_{key}")
                if count is not None:
                    yield f"{ports.get(mac, mac)}/{way}_{name}", count
    memory = answer.memory_details or {}
    # libvirt's values are GiB without decimals, whatever the API says (nova 26 divides KiB by
    # 2^20), so `_libvirt_memory` gets them elsewhere.
    if answer.driver != "libvirt":
        for key, name in (("used", "memory_bytes"), ("maximum", "memory_limit_bytes")):
            if memory.get(key):
                yield name, memory[key] * _BYTES_PER_MIB


def _libvirt_memory(cloud: Cloud, server: str) -> dict[str, float]:
    """Return the resident memory of the VM's process, and the VM's limit, bytes, from the older
    answer, which has them in KiB."""
    compute = cloud.connection.compute
    path = f"/servers/{server}/diagnostics"
    answer = json_of(compute.get(path, microversion=_HYPERVISOR_SPECIFIC))
    names = {"memory-rss": "memory_bytes", "memory": "memory_limit_bytes"}
    return {name: answer[key] * _BYTES_PER_KIB for key, name in names.items() if key in answer}
