"""Settings of a host's kernel (sysctl) that a function changes, and gives back at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfcperf.hosts.base import Host

COMMAND_TIMEOUT_S = 30.0
_FOLDER = "/proc/sys/"
_OPTIONAL = "net/ipv6/"
"""A kernel without IPv6 has no such settings, and needs none."""


class KernelSettings:
    """Changes settings of a host's kernel by `set`, as often as needed, and gives all of them back
    by `restore`. Names are paths below /proc/sys, since those of interfaces may have dots in
    them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before: dict[str, str] = {}

    def set(self, wanted: Mapping[str, str]) -> None:
        """Give settings the values in `wanted`, name -> value. Where the kernel has another value,
        remember it for `restore`. Settings of IPv6 that the kernel does not have are left out.
        Raises MeasurementError."""
        current = self._read(wanted)
        changes = {
            name: value
            for name, value in wanted.items()
            if current.get(name) != value and (name in current or not name.startswith(_OPTIONAL))
        }
        if not changes:
            return
        for name in changes.keys() & current.keys():
            # Keep the value from before the first change.
            self._before.setdefault(name, current[name])
        argv = ["sysctl", "-q", "-w", *_assignments(changes)]
        self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S)

    def restore(self, instead: Mapping[str, str]) -> None:
        """Set what was changed back to what it was, except that the settings in `instead` get the
        values there. Settings that are gone meanwhile are left out. Raises MeasurementError when
        the command cannot run on the host."""
        before, self._before = self._before, {}
        argv = ["sysctl", "-q", "-e", "-w", *_assignments({**before, **instead})]
        self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)

    def _read(self, names: Iterable[str]) -> dict[str, str]:
        """Read settings, all by one command: name -> value. Those that the kernel does not have
        are left out."""
        argv = ["grep", "-sH", "", *(f"{_FOLDER}{name}" for name in names)]
        listing = self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False).text
        pairs = (line.partition(":") for line in listing.splitlines())
        return {path.removeprefix(_FOLDER): value.strip() for path, _, value in pairs}


def _assignments(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
