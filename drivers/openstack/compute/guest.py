"""Guest: a machine of the cloud as a Host, with the names of its interfaces."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf import waiting
from sfcperf.drivers.openstack.compute.servers import Machine, console
from sfcperf.drivers.openstack.model.specs import (
    DATA,
    MANAGEMENT,
    ExistingMachine,
    MachinePlan,
    MachineSpec,
)
from sfcperf.drivers.openstack.network.ports import Port, bound_port
from sfcperf.drivers.openstack.resources.context import LifecycleContext
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.guest_meter import GuestMeter
from sfcperf.hosts.ssh import SshAccess, SshHost, Unreachable
from sfcperf.hosts.ssh import pins as ssh_pins

CONNECT_TIMEOUT_S = 30.0
"""Time for the first connection to an existing machine."""
COMMAND_TIMEOUT_S = 30.0
_POLL_S = 0.3


@dataclass(frozen=True)
class Guest:
    """A machine that answers by SSH."""

    machine: Machine
    host: SshHost
    meter: GuestMeter
    interfaces: Mapping[str, str]
    """Name of the port -> name of the interface in the guest."""
    booted_s: float
    """Time from ACTIVE until it answered by SSH, seconds."""
    vcpus: int
    """CPUs as the guest sees them: a flavor may have more than the spec."""
    memory_mib: int
    """Memory as the guest sees it, without what its kernel reserves."""
    made: bool = True
    """Whether the run made it; an existing machine is used as it is."""

    @property
    def name(self) -> str:
        """Name of the machine."""
        return self.machine.plan.name

    def mtu(self, interface: str) -> int:
        """Return the MTU of an interface, which the guest is asked for. Raises MeasurementError."""
        return int(self.host.read_text(f"/sys/class/net/{interface}/mtu"))

    def port(self, name: str) -> Port:
        """Return one of the ports in the machine's spec."""
        return self.machine.ports[name]


def connect(
    context: LifecycleContext,
    machine: Machine,
    key: Path,
    *,
    address: str | None = None,
    jump: SshHost | None = None,
) -> Guest:
    """Wait until the guest answers with the host key that its console shows.

    `key`: file of the private key. `address`: where it answers by SSH; None: at its management
    port. `jump`: the host through which it is reached; None: directly. Raises DeploymentError if it
    does not answer in `boot_timeout_s`.
    """
    address = address or machine.ports[MANAGEMENT].address
    started = time.monotonic()
    deadline = started + context.config.boot_timeout_s
    pins = _pins(context, machine, address, jump, deadline)
    name = machine.plan.name
    access = SshAccess(address, key, pins, context.config.ssh_user)
    workdir = Path("/tmp") / name
    host = SshHost(name, access, workdir, jump=jump)
    try:
        host.wait_reachable(max(1.0, deadline - time.monotonic()))
        booted_s = time.monotonic() - started
        interfaces = _interfaces(host, machine)
        vcpus, memory_mib = _size(host)
    except MeasurementError as error:
        raise error.as_kind(
            DeploymentError,
            f"the VM {name} is ACTIVE, but cannot be reached",
            where=error.where or address,
            hint=error.hint or f"see its console: openstack console log show {name}",
        ) from error
    return Guest(machine, host, GuestMeter(host), interfaces, booted_s, vcpus, memory_mib)


def existing_host(machine: ExistingMachine, workdir: Path) -> SshHost:
    """Return an existing machine as a Host; the first use connects."""
    access = SshAccess(
        machine.address, machine.key_file, (machine.host_key,), machine.ssh_user, machine.ssh_port
    )
    return SshHost(machine.name, access, workdir)


def connect_existing(context: LifecycleContext, existing: ExistingMachine, workdir: Path) -> Guest:
    """Connect to a machine that the run did not make. Raises DeploymentError, EnvironmentLacks."""
    port = bound_port(context.cloud, existing)
    # Image and size of the machine do not matter: nobody will make it.
    spec = MachineSpec("endpoint", existing.name, "endpoint", "", None, 0, 0, None, None)
    plan = MachinePlan(existing.name, spec, port.address)
    machine = Machine(plan, "", {DATA: port}, 0.0)
    host = existing_host(existing, workdir)
    host.wait_reachable(CONNECT_TIMEOUT_S, boots=False)
    interfaces = {DATA: existing.interface}
    return Guest(machine, host, GuestMeter(host), interfaces, 0.0, *_size(host), made=False)


def _pins(
    context: LifecycleContext, machine: Machine, address: str, jump: SshHost | None, deadline: float
) -> tuple[str, ...]:
    """Return the host keys that the guest's console shows. Some SSH servers make theirs for the
    first client, so `scan` connects first. Raises DeploymentError after `deadline`, seconds of the
    monotonic clock."""
    name, within = machine.plan.name, f"within {context.config.boot_timeout_s:g} s"
    while True:
        try:
            ssh_pins.scan(address, jump=jump)
            break
        except Unreachable as error:
            if time.monotonic() > deadline:
                raise DeploymentError(
                    f"the VM {name} is ACTIVE, but cannot be reached {within}: {error.message}",
                    where=address,
                    hint=f"see its console: openstack console log show {name}",
                ) from error
        waiting.sleep(_POLL_S)
    while not (found := ssh_pins.pins(console(context.cloud, machine.server_id))):
        if time.monotonic() > deadline:
            raise DeploymentError(
                f"the console of the VM {name} shows no SSH host key {within}",
                where=address,
                hint="the image must run the script of its user data (cloud-init does) and log "
                f"its console; `openstack console log show {name}` prints it",
            )
        waiting.sleep(_POLL_S)
    return found


def _size(host: SshHost) -> tuple[int, int]:
    """Return the number of CPUs, and the MiB of memory without what the kernel reserves."""
    cpus = host.read_text("/proc/cpuinfo").count("processor\t")
    total = host.read_text("/proc/meminfo").partition("MemTotal:")[2].split()[0]
    return cpus, int(total) // 1024


def _interfaces(host: SshHost, machine: Machine) -> dict[str, str]:
    """Return name of the port -> name of the interface. Interfaces are found by MAC address,
    because their names and order are up to the guest. Raises DeploymentError if one is missing."""
    listed = host.run(["sh", "-c", _LIST], timeout_s=COMMAND_TIMEOUT_S).text
    by_mac = {mac: name for name, mac in (line.split() for line in listed.splitlines())}
    missing = [name for name, port in machine.ports.items() if port.mac not in by_mac]
    if missing:
        raise DeploymentError(
            f"the VM {machine.plan.name} has no interface for its port "
            f"{', '.join(missing)}: {json.dumps(by_mac)}",
            hint="does its kernel have the driver of the cloud's network cards?",
        )
    return {name: by_mac[port.mac] for name, port in machine.ports.items()}


# Prints the name and the MAC address of each interface, a line each.
_LIST = 'for d in /sys/class/net/*; do read -r mac <"$d/address" && echo "${d##*/} $mac"; done'
