"""The kernel's connection tracking, below functions that translate addresses."""

from __future__ import annotations

from collections.abc import Mapping
from operator import sub
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import flag
from sfcperf.vnfs.kernel_settings import KernelSettings

STATISTICS = "/proc/net/stat/nf_conntrack"
"""A line of names, and one of hexadecimal numbers for each CPU."""
CONNECTIONS = 65_536
"""Connections for which the table has room at least: the kernel's own default from 1 GiB of memory.
Below, it is so much less (2,048 with 256 MiB) that some thousands of short connections fill it,
since each keeps its place for up to 2 minutes after its end."""

CHECK_CHECKSUMS_KNOB: Mapping[str, Any] = flag(
    "Whether connection tracking verifies checksums. If so, UDP datagrams with a trailer "
    "behind their data and no option checksum are invalid and forwarded untranslated."
)
"""Schema of the knob `check_checksums`."""

_ROOM = "net/netfilter/nf_conntrack_max"
_BUCKETS = "net/netfilter/nf_conntrack_buckets"
_CHECK = "net/netfilter/nf_conntrack_checksum"


class ConnectionTracking:
    """Sets up a host's connection tracking, and counts the packets that it drops."""

    def __init__(self, host: Host, settings: KernelSettings) -> None:
        """`settings`: where the kernel's settings are changed, and given back by the function."""
        self._host = host
        self._settings = settings
        self._before = (0, 0)

    def set_up(self, *, check_checksums: bool) -> None:
        """Make room for `CONNECTIONS`, and set whether a packet with a wrong checksum counts as
        invalid and so stays untranslated. Call it when rules that track connections are loaded: the
        kernel has settings and statistics only then. Raises MeasurementError.

        Connection tracking computes UDP's checksum over the length in the IP header, so that
        options behind the datagram (RFC 9868, or a trailer) are part of the sum.
        """
        self._settings.set({_CHECK: str(int(check_checksums))})
        # A larger limit stays.
        if int(self._host.read_text(f"/proc/sys/{_ROOM}")) < CONNECTIONS:
            try:
                self._settings.set({_ROOM: str(CONNECTIONS), _BUCKETS: str(CONNECTIONS)})
            except MeasurementError as error:
                # Network namespaces share the limit of their machine, and cannot change it.
                name = _ROOM.replace("/", ".")
                raise MeasurementError(
                    f"{name} is below {CONNECTIONS} and cannot be set: {error.message}",
                    hint=f"set it on the machine: sysctl -w {name}={CONNECTIONS}",
                ) from error
        self._before = self._drops()

    def counters(self, forwarding: Mapping[str, int]) -> dict[str, int]:
        """Return these counters of kernel forwarding with two more reasons. Raises
        MeasurementError.

        `dropped_untranslated`: packets for which there was no free port; the kernel's own
        statistics count them as forwarded. `dropped_no_room`: packets of new connections for which
        the table had no room.
        """
        untranslated, no_room = map(sub, self._drops(), self._before)
        return {
            **forwarding,
            "forwarded": forwarding["forwarded"] - untranslated,
            "dropped": forwarding["dropped"] + untranslated + no_room,
            "dropped_untranslated": untranslated,
            "dropped_no_room": no_room,
        }

    def _drops(self) -> tuple[int, int]:
        """Packets dropped behind forwarding, whose connection could not be inserted into the table,
        and before it; both since the network namespace was created."""
        listing = self._host.read_text(STATISTICS).splitlines()
        names, *rows = (line.split() for line in listing)
        inserting, all_drops = (
            sum(int(row[names.index(name)], 16) for row in rows)
            for name in ("insert_failed", "drop")
        )
        return inserting, all_drops - inserting
