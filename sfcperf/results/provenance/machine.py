"""Facts of this machine that matter for performance results.

Values that cannot be read (no such file, no permission) are None, not an error: containers and
cloud machines hide many of them. Network offloads belong to the deployment, not to the machine.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

SECRET_SYSCTLS = frozenset({"tcp_fastopen_key"})
"""Sysctls that are secrets of the machine: results are published, and must not have them."""

_CPU = Path("/sys/devices/system/cpu")


def host_facts() -> dict[str, Any]:
    """Return CPU, memory, kernel, distribution, hypervisor, clock source, sysctls and load of this
    machine.

    Units are in the names. Takes milliseconds and starts no process.
    """
    return {
        "cpu": _cpu(),
        "memory": _memory(),
        "kernel": _kernel(),
        "distribution": _distribution(),
        "hypervisor": _hypervisor(),
        "clock_source": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "sysctls": _sysctls(),
        "load": _load(),
    }


def _cpu() -> dict[str, Any]:
    import psutil

    cpufreq = min(_CPU.glob("cpu[0-9]*/cpufreq"), default=None)  # of the first CPU that has one
    return {
        "model": _cpuinfo("model name") or _cpuinfo("CPU part") or platform.machine(),
        "architecture": platform.machine(),
        "logical": psutil.cpu_count(logical=True),
        "physical": psutil.cpu_count(logical=False),
        "usable": sorted(os.sched_getaffinity(0)),
        "isolated": _text(_CPU / "isolated"),
        "smt_active": _flag(_CPU / "smt/active"),
        "governor": _text(cpufreq / "scaling_governor") if cpufreq else None,
        "frequency_khz": _number(cpufreq / "scaling_cur_freq") if cpufreq else None,
        "max_frequency_khz": _number(cpufreq / "scaling_max_freq") if cpufreq else None,
        "nominal_mhz": _cpuinfo("cpu MHz"),
        "boost": _boost(),
    }


def _boost() -> bool | None:
    """Whether the CPU may run above its nominal frequency; None if that is not known."""
    no_turbo = _flag(_CPU / "intel_pstate/no_turbo")
    return _flag(_CPU / "cpufreq/boost") if no_turbo is None else not no_turbo


def _memory() -> dict[str, Any]:
    import psutil

    return {
        "total_bytes": psutil.virtual_memory().total,
        "available_bytes": psutil.virtual_memory().available,
        "swap_used_bytes": psutil.swap_memory().used,
        "transparent_hugepage": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def _kernel() -> dict[str, Any]:
    return {
        "release": platform.release(),
        "version": platform.version(),
        "command_line": _kernel_command_line(),
        "mitigations": {
            path.name: _text(path) for path in sorted((_CPU / "vulnerabilities").glob("*"))
        },
    }


def _kernel_command_line() -> str | None:
    """Return the parameters of the kernel. Those for init, after ` -- `, are left out, as they may
    be confidential."""
    text = _text("/proc/cmdline")
    return None if text is None else text.partition(" -- ")[0]


def _distribution() -> str | None:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return None
    return release.get("PRETTY_NAME") or release.get("NAME")


def _hypervisor() -> dict[str, Any]:
    """Return signs of virtualization. `present` is the CPU's flag; None if the CPU is not an
    x86."""
    flags = _cpuinfo("flags")
    return {
        "present": None if flags is None else "hypervisor" in flags.split(),
        "type": _text("/sys/hypervisor/type"),
        "vendor": _text("/sys/class/dmi/id/sys_vendor"),
        "product": _text("/sys/class/dmi/id/product_name"),
    }


def _sysctls() -> dict[str, str | None]:
    """Return all of net.core.* and net.ipv4.tcp_* but the secrets."""
    paths = [*Path("/proc/sys/net/core").glob("*"), *Path("/proc/sys/net/ipv4").glob("tcp_*")]
    return {
        ".".join(path.relative_to("/proc/sys").parts): _text(path)
        for path in sorted(paths)
        if path.is_file() and path.name not in SECRET_SYSCTLS
    }


def _load() -> dict[str, Any]:
    """Load of the machine at the start of the run."""
    import psutil

    times = psutil.cpu_times()
    one, five, fifteen = os.getloadavg()
    return {
        "load_1min": one,
        "load_5min": five,
        "load_15min": fifteen,
        # The fields after the eighth are guests' times, which `user` and `nice` contain (proc(5)).
        "steal_ratio_since_boot": getattr(times, "steal", 0.0) / (sum(times[:8]) or 1.0),
        "processes": len(psutil.pids()),
    }


def _cpuinfo(key: str) -> str | None:
    """Return the first value of a key in /proc/cpuinfo; None if the key is not there."""
    for line in (_text("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _text(path: str | Path) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and text.isdigit() else None


def _flag(path: Path) -> bool | None:
    """Read a file with 0 or 1; None if it is not there, or has no number."""
    number = _number(path)
    return None if number is None else bool(number)
