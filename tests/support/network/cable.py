"""The smallest real deployment: client and server, each in a namespace, with a router between.

`client --- middle --- server`. The middle stands for the chain: shape it there, and the chain loses
packets; shape the client's own interface, and the sender does.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.procfs import stat_lines
from sfcperf.management.deployment import Deployment, Endpoint, Hop
from support.network.wires import eventually

CLIENT, SERVER = "198.18.0.2", "198.18.1.2"  # RFC 2544
ENDS = {"client": (CLIENT, "198.18.0.1"), "server": (SERVER, "198.18.1.1")}
MTU = 1500
_numbers = itertools.count()


@dataclass
class OwnMeter:
    """Meters some processes of this machine, from /proc."""

    watched: list[int] = field(default_factory=list)

    def cpu_s(self) -> float:
        return sum(_stat(pid)[11] + _stat(pid)[12] for pid in self.watched) / 100

    def memory_bytes(self) -> int:
        return sum(_stat(pid)[21] for pid in self.watched) * os.sysconf("SC_PAGE_SIZE")

    def pids(self) -> list[int]:
        return list(self.watched)

    def processes(self) -> list[str]:
        return stat_lines(self.watched)


@dataclass(frozen=True)
class Cable:
    """The deployment, and ways to make it worse."""

    deployment: Deployment
    meter: OwnMeter
    spaces: dict[str, str]

    def shape(self, where: str, *qdisc: str) -> None:
        """`where`: `client` or `server` (what it sends), or `middle` (towards the server)."""
        interface = "server0" if where == "middle" else "eth0"
        _run("tc", "-n", self.spaces[where], "qdisc", "add", "dev", interface, "root", *qdisc)

    def passed(self) -> int:
        """Packets that have left the middle for the server."""
        argv = ["ip", "-j", "-s", "-n", self.spaces["middle"], "link", "show", "server0"]
        shown = subprocess.run(argv, check=True, capture_output=True, timeout=10)
        return int(json.loads(shown.stdout)[0]["stats64"]["tx"]["packets"])

    def cut(self) -> None:
        """Packets reach the middle and go no further."""
        _run("ip", "-n", self.spaces["middle"], "link", "set", "server0", "down")

    def drop_udp(self) -> None:
        """UDP packets reach the middle and go no further; others do."""
        rule = ["rule", "add", "ipproto", "udp", "priority", "1", "blackhole"]
        _run("ip", "-n", self.spaces["middle"], *rule)


@contextmanager
def cable() -> Iterator[Cable]:
    """Build it, and leave nothing behind."""
    tag = f"cable-{os.getpid()}-{next(_numbers)}"
    spaces = {name: f"{tag}-{name}" for name in (*ENDS, "middle")}
    workdir = Path(tempfile.mkdtemp(prefix="sfcperf-cable-"))
    meter = OwnMeter()
    try:
        _batch(f"netns add {space}" for space in spaces.values())
        # The kernel's own IPv6 packets would be counted at any time.
        quiet = [f"net.ipv6.conf.{scope}.disable_ipv6=1" for scope in ("all", "default")]
        for space in spaces.values():
            settings = ["net.ipv4.ip_forward=1"] if space == spaces["middle"] else []
            _run("ip", "netns", "exec", space, "sysctl", "-q", "-w", *quiet, *settings)
        for end in ENDS:
            _join(spaces, end)
        hosts = {name: NamespaceHost(name, spaces[name], workdir / name) for name in spaces}
        endpoints = {
            end: Endpoint(end, "node1", hosts[end], address, "eth0", MTU)
            for end, (address, _) in ENDS.items()
        }
        hops = tuple(Hop(end, hosts["middle"], f"{end}0") for end in ENDS)
        deployment = Deployment(
            tag, endpoints["client"], endpoints["server"], (), hops, {"sff@node1": meter}, "none"
        )
        yield Cable(deployment, meter, spaces)
    finally:
        _batch((f"netns delete {space}" for space in spaces.values()), check=False)
        shutil.rmtree(workdir)


def listeners(host: NamespaceHost) -> str:
    """Listening TCP sockets, by another tool than ours."""
    return host.run(["ss", "-H", "-l", "-t", "-n"], timeout_s=5).text


@pytest.fixture
def wire() -> Iterator[Cable]:
    """A cable of its own for each test."""
    with cable() as made:
        yield made


def processes_in(space: str) -> list[int]:
    """Processes in a namespace, as `ip` sees them."""
    done = subprocess.run(
        ["ip", "netns", "pids", space], check=True, capture_output=True, text=True, timeout=10
    )
    return [int(pid) for pid in done.stdout.split()]


def ended(pid: int, within_s: float = 5) -> bool:
    """Whether a process is gone."""
    return eventually(lambda: not Path(f"/proc/{pid}").exists(), within_s)


def _join(spaces: dict[str, str], end: str) -> None:
    address, gateway = ENDS[end]
    middle = spaces["middle"]
    commands = (
        "link set lo up",
        f"link add eth0 mtu {MTU} type veth peer name {end}0 mtu {MTU} netns {middle}",
        f"address add {address}/24 dev eth0",
        "link set eth0 up",
        f"route add default via {gateway}",
    )
    _batch(commands, spaces[end])
    _batch((f"address add {gateway}/24 dev {end}0", f"link set {end}0 up"), middle)


def _batch(commands: Iterable[str], space: str | None = None, *, check: bool = True) -> None:
    """Commands of `ip`, in a namespace: one process for all."""
    argv = ["ip", *(["-n", space] if space else []), *([] if check else ["-force"]), "-batch", "-"]
    data = "\n".join(commands).encode()
    subprocess.run(argv, check=check, capture_output=True, timeout=10, input=data)


def _run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, timeout=10)


def _stat(pid: int) -> list[int]:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, fields[1:])]
