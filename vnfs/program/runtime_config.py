"""The configuration of a container (OCI Runtime Specification 1.0, config.md): what umoci writes
for an image, changed to what a function of a chain needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"),
    *("SETPCAP", "LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW"),
    *("IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT"),
    *("SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD"),
    *("LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG"),
    *("WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF", "CHECKPOINT_RESTORE"),
)
"""All capabilities in the order of their numbers (linux/capability.h)."""

_USUAL = (
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT", "MKNOD", "AUDIT_WRITE", "SETFCAP"),
)
"""Those that Docker gives a container that asks for none."""

_TUN = Path("/dev/net/tun")
"""Every container has it: without NET_ADMIN it gives no TUN device."""
_OWN_DEVICES = (
    *("console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr"),
    *("stdin", "stdout", "tty", "urandom", "zero"),
)
"""What a container has in /dev of its own."""


def configure(
    config: dict[str, Any],
    *,
    name: str,
    command: Sequence[str],
    env: Mapping[str, str],
    bound: Mapping[str, Path],
    knobs: Mapping[str, Any],
) -> None:
    """Change umoci's configuration of an image to that of one instance. `bound`: path in the
    container -> file of this machine that is to be there."""
    process, linux = config["process"], config["linux"]
    variables = dict(variable.split("=", 1) for variable in process["env"]) | dict(env)
    process |= {
        "args": list(command),
        "env": [f"{variable}={text}" for variable, text in variables.items()],
        "terminal": False,
        # Programs with capabilities of files get these, as in Docker.
        "noNewPrivileges": False,
        "capabilities": _capabilities(knobs),
    }
    # Limits and groups are those in which it is started, as for programs without an image. So is
    # the network namespace.
    process.pop("rlimits", None)
    linux["resources"] = {}
    linux["namespaces"] = [each for each in linux["namespaces"] if each["type"] != "network"]
    config["hostname"] = name
    system = [mount for mount in config["mounts"] if mount["type"] != "cgroup"]
    if knobs["privileged"]:
        linux["maskedPaths"] = linux["readonlyPaths"] = []
        for mount in system:
            mount["options"] = [word for word in mount.get("options", ()) if word != "ro"]
    mounts = {**{str(path): path for path in _devices(knobs)}, **bound}
    config["mounts"] = [*system, *(_bound(source, path) for path, source in mounts.items())]


def held_capabilities() -> list[str]:
    """Return the capabilities that sfcperf has, and so can give."""
    status = Path("/proc/self/status").read_text()
    [permitted] = re.findall(r"^CapPrm:\s*(\w+)$", status, re.M)
    return [name for number, name in enumerate(CAPABILITIES) if int(permitted, 16) >> number & 1]


def _capabilities(knobs: Mapping[str, Any]) -> dict[str, list[str]]:
    held = held_capabilities()
    asked = held if knobs["privileged"] else knobs["capabilities"]
    given = [name for name in held if name in (*_USUAL, *asked)]
    return {
        **{kind: _full(given) for kind in ("bounding", "permitted", "effective")},
        # What was asked for also holds where the image has a user that is not root.
        **{kind: _full(asked) for kind in ("inheritable", "ambient")},
    }


def _full(names: Iterable[str]) -> list[str]:
    return [f"CAP_{name}" for name in names]


def _devices(knobs: Mapping[str, Any]) -> list[Path]:
    """Return the devices of this machine, and folders of them, that the container is to have
    beside those of every container."""
    paths = sorted(Path("/dev").iterdir()) if knobs["privileged"] else [_TUN]
    return [
        path
        for path in paths
        if path.exists() and not path.is_symlink() and path.name not in _OWN_DEVICES
    ]


def _bound(source: Path, target: str) -> dict[str, Any]:
    """Mount a file or folder of this machine in a container."""
    return {"source": str(source), "destination": target, "options": ["rbind", "rw"]}
