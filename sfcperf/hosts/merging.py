"""Keeps an interface from merging the packets of a connection that it receives (GRO, LRO).

With merging, whoever looks at packets behind the interface (tcpdump, counters of the kernel, a
function) sees fewer and longer ones than were sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_TIMEOUT_S = 30.0
_FEATURES = ("generic-receive-offload", "rx-gro-hw", "large-receive-offload")
"""Names of the features that merge, as `ethtool -k` prints and `ethtool -K` takes them. By the
second, a virtual machine's network card gets packets that its host has merged."""


class Merging:
    """Turns merging off on interfaces of a host, and on again with `restore`. Needs `ethtool` on
    the host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._turned_off: list[tuple[str, Sequence[str]]] = []
        """Interfaces, with the features that were on."""

    def turn_off(self, interface: str) -> None:
        """Turn merging off, if it is on. Raises MeasurementError, also when the interface does not
        let it be turned off."""
        before = self._on(interface)
        if not before:
            return
        self._turned_off.append((interface, before))
        self._set(interface, before, "off")
        if still_on := self._on(interface):
            raise MeasurementError(
                f"{interface} merges packets that it receives, and cannot be told not to: "
                f"{', '.join(still_on)} is on",
                where=self._host.name,
                hint="network cards of another kind may do without (on OpenStack, the image's "
                "property hw_vif_model)",
            )

    def restore(self) -> None:
        """Turn merging on again where it was on. Harmless when the host is gone."""
        while self._turned_off:
            interface, features = self._turned_off.pop()
            with suppress(MeasurementError):
                self._set(interface, features, "on")

    def _on(self, interface: str) -> list[str]:
        """Names of the merging features that are on."""
        features = self._host.run(["ethtool", "-k", interface], timeout_s=_TIMEOUT_S).text
        known = dict(line.strip().split(": ", 1) for line in features.splitlines() if ": " in line)
        return [name for name in _FEATURES if known.get(name, "off").startswith("on")]

    def _set(self, interface: str, features: Sequence[str], word: str) -> None:
        """Turn features `on` or `off` (`word`)."""
        argv = ["ethtool", "-K", interface, *(w for name in features for w in (name, word))]
        # The status is ignored, because ethtool also fails when nothing changes: `turn_off` looks
        # whether it worked.
        self._host.run(argv, timeout_s=_TIMEOUT_S, check=False)
