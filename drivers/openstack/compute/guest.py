"""Guest: a machine of the cloud as a Host, with its interfaces by the part that they play."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.openstack.cleanup.workdirs import STANDING_TIMEOUT_S, host_of
from sfcperf.drivers.openstack.compute import servers
from sfcperf.drivers.openstack.lifecycle.base import Machine, Port, Workshop
from sfcperf.drivers.openstack.model.specs import DATA, MANAGEMENT, MachinePlan, Shape
from sfcperf.drivers.openstack.network import ports
from sfcperf.drivers.openstack.planning.endpoint_options import Standing
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts import ssh_pins
from sfcperf.hosts.abandon import pause
from sfcperf.hosts.guest_meter import GuestMeter
from sfcperf.hosts.ssh import SshHost
from sfcperf.hosts.ssh_access import SshAccess, Unreachable

COMMAND_TIMEOUT_S = 30.0
_POLL_S = 0.3


@dataclass(frozen=True)
class Guest:
    """A machine that answers by SSH."""

    machine: Machine
    host: SshHost
    meter: GuestMeter
    interfaces: Mapping[str, str]
    """Port -> name of the interface in the guest."""
    booted_s: float
    """From ACTIVE until it answered by SSH, seconds."""
    vcpus: int
    """As the guest sees them: a flavor may have more than was asked for."""
    memory_mib: int
    made: bool = True
    """Whether the run made it; one that was there before is used as it is."""

    @property
    def name(self) -> str:
        """The machine's."""
        return self.machine.plan.name

    def port(self, role: str) -> Port:
        """Its port that plays this part."""
        return self.machine.ports[role]


def connect(
    workshop: Workshop, machine: Machine, key: Path, *, address: str, jump: SshHost | None
) -> Guest:
    """Wait until the guest answers with the host key that its console shows.

    Raises DeploymentError when it does not in `boot_timeout_s`.
    """
    started = time.monotonic()
    deadline = started + workshop.config.boot_timeout_s
    pins = _pins(workshop, machine, address, jump, deadline)
    name = machine.plan.name
    access = SshAccess(address, key, pins, workshop.config.ssh_user)
    workdir = Path("/tmp") / name
    host = SshHost(name, access, workdir, jump=jump)
    try:
        host.wait_reachable(max(1.0, deadline - time.monotonic()))
        booted_s = time.monotonic() - started
        interfaces = _interfaces(host, machine)
        vcpus, memory_mib = _size(host)
    except MeasurementError as error:
        raise DeploymentError(
            f"the VM {name} is ACTIVE, but is not reached: {error.message}",
            where=error.where or address,
            hint=error.hint or "see its console: openstack console log show " + name,
        ) from error
    return Guest(machine, host, GuestMeter(host), interfaces, booted_s, vcpus, memory_mib)


def reach(workshop: Workshop, standing: Standing, workdir: Path) -> Guest:
    """A machine that is there already. Raises DeploymentError, EnvironmentLacks."""
    found = ports.bound_port(workshop.cloud, standing.port)
    shape = Shape("endpoint", standing.name, "endpoint", "", None, 0, 0, None, None)
    plan = MachinePlan(standing.name, shape, found.address)
    machine = Machine(plan, "", {DATA: found}, 0.0)
    host = host_of(standing, workdir)
    host.wait_reachable(STANDING_TIMEOUT_S, boots=False)
    interfaces = {DATA: standing.interface}
    return Guest(machine, host, GuestMeter(host), interfaces, 0.0, *_size(host), made=False)


def _pins(
    workshop: Workshop, machine: Machine, address: str, jump: SshHost | None, deadline: float
) -> tuple[str, ...]:
    """The host keys that the guest's own console shows. Some SSH servers make theirs when the
    first client comes, so one comes."""
    name, within = machine.plan.name, f"within {workshop.config.boot_timeout_s:g} s"
    while True:
        try:
            ssh_pins.scan(address, jump=jump)
            break
        except Unreachable as error:
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"the VM {name} is ACTIVE, but is not reached {within}: {error.message}",
                    where=address,
                    hint=f"see its console: openstack console log show {name}",
                ) from error
        pause(_POLL_S)
    while not (found := ssh_pins.pins(servers.console(workshop.cloud, machine.server_id))):
        if time.monotonic() > deadline:
            raise DeploymentError(
                f"the console of the VM {name} shows no SSH host key {within}",
                where=address,
                hint="the image must run the script of its user data (cloud-init does) and log "
                f"its console; `openstack console log show {name}` prints it",
            )
        pause(_POLL_S)
    return found


def _size(host: SshHost) -> tuple[int, int]:
    """CPUs, and MiB of memory beside what the kernel keeps for itself."""
    cpus = host.read_text("/proc/cpuinfo").count("processor\t")
    total = host.read_text("/proc/meminfo").partition("MemTotal:")[2].split()[0]
    return cpus, int(total) // 1024


def _interfaces(host: SshHost, machine: Machine) -> dict[str, str]:
    """By MAC address: their names and order are the guest's own affair."""
    listed = host.run(["sh", "-c", _LIST], timeout_s=COMMAND_TIMEOUT_S).text
    by_mac = {mac: name for name, mac in (line.split() for line in listed.splitlines())}
    missing = [role for role, port in machine.ports.items() if port.mac not in by_mac]
    if missing:
        raise DeploymentError(
            f"the VM {machine.plan.name} has no interface for its port "
            f"{', '.join(missing)}: {json.dumps(by_mac)}",
            hint="does its kernel have the driver of the cloud's network cards?",
        )
    return {role: by_mac[port.mac] for role, port in machine.ports.items()}


_LIST = 'for d in /sys/class/net/*; do read -r mac <"$d/address" && echo "${d##*/} $mac"; done'


def management_address(machine: Machine) -> str:
    """Where it is reached from within its management network."""
    return machine.ports[MANAGEMENT].address
