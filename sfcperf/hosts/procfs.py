"""Parses what Linux says in /proc (proc(5))."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_TCP_ESTABLISHED, _TCP_LISTEN = "01", "0A"
"""States of include/net/tcp_states.h, as /proc/net/tcp prints them."""
_MAPPED = "0000000000000000FFFF0000"
"""What precedes an IPv4 address in /proc/net/tcp6 (RFC 4291, section 2.5.5.2; words of the host's
byte order)."""
_NET_DEV_COLUMNS = 16
_BYTES_PER_KIB = 1024
USER_HZ = 100
"""Clock ticks per second of /proc/PID/stat: USER_HZ, 100 on every architecture that we run on."""


@dataclass(frozen=True)
class InterfaceCounters:
    """Counters of a network interface since it was created; packets, except where the name says
    bytes."""

    rx_bytes: int
    rx_packets: int
    rx_errors: int
    rx_drops: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    tx_drops: int

    def __sub__(self, earlier: InterfaceCounters) -> InterfaceCounters:
        """What was counted since `earlier`."""
        pairs = zip(astuple(self), astuple(earlier), strict=True)
        return InterfaceCounters(*(now - then for now, then in pairs))

    def from_the_other_end(self) -> InterfaceCounters:
        """The same counters as the other end of the link has them: what is received here was sent
        there."""
        own = astuple(self)
        return InterfaceCounters(*own[4:], *own[:4])


def interface_counters(net_dev: str) -> dict[str, InterfaceCounters]:
    """Parse /proc/net/dev: interface -> counters. Raises MeasurementError for any other text."""
    counters = {}
    for line in net_dev.splitlines()[2:]:
        name, _, numbers = line.rpartition(":")
        values = _integers(numbers, "/proc/net/dev")
        if len(values) != _NET_DEV_COLUMNS:
            raise MeasurementError(f"not a line of /proc/net/dev: {line!r}")
        # There are eight columns for each direction: bytes, packets, errors, drops, and others.
        counters[name.strip()] = InterfaceCounters(*values[0:4], *values[8:12])
    return counters


def memory_bytes(meminfo: str) -> tuple[int, int]:
    """Parse /proc/meminfo: return the machine's memory, and how much of it is available, bytes.
    Raises MeasurementError for any other text."""
    lines = dict(line.split(":", 1) for line in meminfo.splitlines() if ":" in line)
    try:
        total, available = (int(lines[n].split()[0]) for n in ("MemTotal", "MemAvailable"))
    except (IndexError, KeyError, ValueError) as error:
        raise MeasurementError("/proc/meminfo does not say how much memory is used") from error
    return total * _BYTES_PER_KIB, available * _BYTES_PER_KIB


def protocol_counters(net_snmp: str, protocol: str) -> Mapping[str, int]:
    """Parse /proc/net/snmp: return the counters of `Ip`, `Icmp` (names of RFC 4293) or `Udp` (RFC
    4113, and Linux's own, such as SndbufErrors). Raises MeasurementError for any other text."""
    lines = net_snmp.splitlines()
    rows = [line.split()[1:] for line in lines if line.startswith(f"{protocol}:")]
    if len(rows) != 2 or len(rows[0]) != len(rows[1]):
        raise MeasurementError(f"/proc/net/snmp has no {protocol} counters")
    return dict(zip(rows[0], _integers(" ".join(rows[1]), "/proc/net/snmp"), strict=True))


def tcp_listening_ports(net_tcp: str) -> frozenset[int]:
    """Parse /proc/net/tcp or tcp6: return the ports in state LISTEN. Raises MeasurementError for a
    port that is not a number."""
    return _local_ports(net_tcp, {_TCP_LISTEN})


def udp_ports(net_udp: str) -> frozenset[int]:
    """Parse /proc/net/udp or udp6: return the ports of all sockets. Raises MeasurementError for a
    port that is not a number."""
    return _local_ports(net_udp, None)


def tcp_peers(net_tcp: str) -> frozenset[str]:
    """Parse /proc/net/tcp or tcp6: return the IPv4 addresses of the other ends of established
    connections. Raises MeasurementError for an address that is none."""
    peers = set()
    for line in net_tcp.splitlines()[1:]:
        columns = line.split()
        if len(columns) > 3 and columns[3] == _TCP_ESTABLISHED:
            address = columns[2].partition(":")[0].removeprefix(_MAPPED)
            if len(address) == 8:
                try:
                    # The bytes stand in the order of the host, as the number that they are there.
                    word = int(address, 16).to_bytes(4, sys.byteorder)
                except ValueError as error:
                    raise MeasurementError(f"/proc/net has an address {columns[2]!r}") from error
                peers.add(socket.inet_ntoa(word))
    return frozenset(peers)


def _local_ports(table: str, states: Collection[str] | None) -> frozenset[int]:
    """Return the ports of the sockets that are in one of these states; None: in any state."""
    ports = set()
    for line in table.splitlines()[1:]:
        columns = line.split()
        if len(columns) > 3 and (states is None or columns[3] in states):
            try:
                ports.add(int(columns[1].rpartition(":")[2], 16))
            except ValueError as error:
                raise MeasurementError(f"/proc/net has a port {columns[1]!r}") from error
    return frozenset(ports)


@dataclass(frozen=True)
class ProcessStat:
    """What the kernel says about a process at one moment."""

    pid: int
    command: str
    state: str
    """`R`, `S`, ...; `Z`: it has ended, and its parent has not waited for it yet."""
    started: int
    """Clock ticks since the machine's boot. Together with the id it names one process: ids are used
    again."""
    cpu_s: float
    """CPU time of the process itself, without its children, seconds."""
    rss_bytes: int
    """Memory of the process that is in RAM."""


def process_stat(line: str) -> ProcessStat:
    """Parse a line of /proc/PID/stat. Raises MeasurementError for any other text.

    Pages are taken to be as large as on this machine, since tools are carried only to hosts of the
    same architecture.
    """
    head, _, rest = line.rpartition(")")
    pid, _, command = head.partition(" (")
    fields = rest.split()  # from the state on, which is field 3 in proc(5)
    if len(fields) < 22:
        raise MeasurementError("not a line of /proc/PID/stat")
    own, user, system, started, pages = _integers(
        " ".join((pid, *fields[11:13], fields[19], fields[21])), "/proc/PID/stat"
    )
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    return ProcessStat(
        own, command, fields[0], started, (user + system) / USER_HZ, pages * page_bytes
    )


def stat_lines(pids: Iterable[int]) -> list[str]:
    """Read the line of /proc/PID/stat of each of these processes of this machine that still
    exists."""
    lines = []
    for pid in pids:
        # A process that ends while its file is read raises ESRCH.
        with suppress(OSError):
            lines.append(Path(f"/proc/{pid}/stat").read_text(errors="replace"))
    return lines


def process_cpu_s(stat: str) -> float:
    """Parse a line of /proc/PID/stat: return the CPU time of the process and of its children that
    it has waited for, seconds. Raises MeasurementError for any other text."""
    # The command (field 2, in parentheses) may itself hold blanks and parentheses. What follows
    # begins with field 3.
    fields = stat.rpartition(")")[2].split()
    if len(fields) < 15:
        raise MeasurementError("not a line of /proc/PID/stat")
    return sum(_integers(" ".join(fields[11:15]), "/proc/PID/stat")) / USER_HZ


def used_cpu_s(host: Host, pid: int) -> float:
    """CPU time that a process of a host has used, as `process_cpu_s` counts it, seconds. It is 0
    when the host does not know the process any more, so call this before the process is waited
    for."""
    with suppress(MeasurementError):
        return process_cpu_s(host.read_text(f"/proc/{pid}/stat"))
    return 0.0


def _integers(text: str, file: str) -> list[int]:
    """Parse numbers between blanks. Raises MeasurementError, which names the `file`."""
    try:
        return [int(word) for word in text.split()]
    except ValueError as error:
        raise MeasurementError(f"{file} has something that is not a number: {error}") from error
