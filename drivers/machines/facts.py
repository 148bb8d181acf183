"""Facts about a machine that may become a node."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import BINARY
from sfcperf.drivers.local import nics
from sfcperf.drivers.local.cpus import machine_cpus
from sfcperf.drivers.local.nics import Nic
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts.agent import Agent

_PROBE_TIMEOUT_S = 30.0
_SETTINGS = {
    "governor": "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "turbo_off": "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "clock_source": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "huge_pages": "/proc/sys/vm/nr_hugepages",
}
"""What a reader of results wants to know of a machine, and the file that says it; where there is no
such file, it is not known."""


@dataclass(frozen=True)
class MachineFacts:
    """What a machine says of itself."""

    kernel: str
    cpus: tuple[int, ...]
    identity: tuple[str, int]
    """Boot and network namespace, which no other machine has."""
    settings: Mapping[str, str]
    nic: Nic | None
    driver: str
    """Of the network card; empty if it is not known."""
    node: str
    """NUMA node of the network card; empty if it is not known."""

    def document(self) -> dict[str, Any]:
        """Return what results record of the machine, as JSON."""
        found: dict[str, Any] = {"kernel": self.kernel, "cpus": list(self.cpus), **self.settings}
        if self.nic is not None:
            known = {"name": self.nic.name, "mac": self.nic.mac, "mtu": self.nic.mtu}
            found["nic"] = {**known, "driver": self.driver, "numa_node": self.node}
        return found

    def text(self) -> str:
        """Return one line for people."""
        words = [f"Linux {self.kernel}", f"{len(self.cpus)} CPUs"]
        words += [f"{name} {value}" for name, value in self.settings.items() if name != "turbo_off"]
        if self.nic is not None:
            words.append(f"{self.nic.name} ({self.driver or 'driver not known'})")
        return ", ".join(words)


def local_facts(nic: str | None) -> MachineFacts:
    """Return the facts of the machine on which this runs. Raises EnvironmentLacks if the network
    card is missing or in use."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    settings = {name: text for name, file in _SETTINGS.items() if (text := _text(Path(file)))}
    device = Path(f"/sys/class/net/{nic}/device")
    return MachineFacts(
        kernel=platform.release(),
        cpus=machine_cpus(),
        identity=(boot, Path("/proc/self/ns/net").stat().st_ino),
        settings=settings,
        nic=None if nic is None else nics.look(nic),
        driver=(device / "driver").resolve().name if (device / "driver").exists() else "",
        node=_text(device / "numa_node"),
    )


def check_kernel(agent: Agent) -> None:
    """Raise EnvironmentLacks if the kernel of an agent's machine does not take the SFF's BPF
    programs."""
    host = agent.host(agent.name, None, Path("/"), ())
    argv = [host.program(binaries.find(BINARY)), "--probe"]
    done = host.run(argv, timeout_s=_PROBE_TIMEOUT_S, check=False)
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip()
        raise EnvironmentLacks(
            f"its kernel does not take the SFF's BPF programs: {complaint}",
            hint="use a kernel with BPF and BTF, 6.1 or newer",
        )


def _text(file: Path) -> str:
    """Return what a file says; empty if it cannot be read."""
    with suppress(OSError):
        return file.read_text().strip()
    return ""
