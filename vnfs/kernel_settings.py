"""Changes settings of a host's kernel (sysctl) for a function, and restores them at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfcperf.hosts.base import Host

COMMAND_TIMEOUT_S = 30.0
_FOLDER = "/proc/sys/"
_OPTIONAL = "net/ipv6/"
"""Prefix of settings that a kernel without IPv6 lacks, and does not need."""


class KernelSettings:
    """Settings of a kernel that were changed, with the values that they had before. Names are
    paths below /proc/sys, because names of interfaces may have dots in them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._before: dict[str, str] = {}

    def set(self, wanted: Mapping[str, str]) -> None:
        """Change the settings that have another value. Raises MeasurementError."""
        there = self._read(wanted)
        changes = {
            name: value
            for name, value in wanted.items()
            if there.get(name) != value and (name in there or not name.startswith(_OPTIONAL))
        }
        if not changes:
            return
        for name in changes.keys() & there.keys():
            self._before.setdefault(name, there[name])
        argv = ["sysctl", "-q", "-w", *_assignments(changes)]
        self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S)

    def restore(self, instead: Mapping[str, str]) -> None:
        """Give all settings their old values back, except those in `instead`, which get the
        values given there. Settings that are gone meanwhile are left out. Raises
        MeasurementError when the host cannot be asked."""
        before, self._before = self._before, {}
        argv = ["sysctl", "-q", "-e", "-w", *_assignments({**before, **instead})]
        self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)

    def _read(self, names: Iterable[str]) -> dict[str, str]:
        """Read the settings that exist, by one command."""
        argv = ["grep", "-sH", "", *(f"{_FOLDER}{name}" for name in names)]
        listing = self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False).text
        pairs = (line.partition(":") for line in listing.splitlines())
        return {path.removeprefix(_FOLDER): value.strip() for path, _, value in pairs}


def _assignments(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in values.items()]
