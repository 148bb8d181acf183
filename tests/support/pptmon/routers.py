"""A chain of VNFs that route, between a client and a server that speak real TCP and UDP."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.hosts.base import Process
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import Lab, Port, eventually, ip, space
from support.pptmon.process import Pptmon

_PROGRAM = Path(__file__).with_name("stream.py")
OFFLOADS = ("tso", "gso", "gro", "tx", "rx")
_ports = itertools.count(20_000)


@dataclass
class Stream:
    """What both ends said."""

    sent: str
    received: str


@dataclass
class RoutedPath:
    """client - router 1 - ... - router n - server."""

    client: NamespaceHost
    server: NamespaceHost
    routers: list[NamespaceHost]
    links: list[tuple[Port, Port]]
    """From client to server: the port nearer to the client first."""
    folder: Path
    lab: Lab
    pptmons: list[Pptmon] = field(default_factory=list)

    def address(self, end: str, version: int) -> str:
        """Of client or server."""
        link, place = (0, 1) if end == "client" else (len(self.links) - 1, 2)
        return f"198.18.{link}.{place}" if version == 4 else f"fd00:0:0:{link}::{place}"

    def offloads(self, state: str) -> None:
        """On or off, at all interfaces."""
        for port in itertools.chain(*self.links):
            settings = itertools.chain(*((name, state) for name in OFFLOADS))
            port.host.run(["ethtool", "-K", port.interface, *settings], timeout_s=10, check=False)

    def mtu(self, *per_link: int, ends: int | None = None) -> None:
        """Of both ports of each link; `ends`: of client and server, when theirs is another."""
        for link, bytes_ in zip(self.links, per_link, strict=True):
            for port in link:
                own = ends if ends and port.host in (self.client, self.server) else bytes_
                ip("-n", space(port.host), "link", "set", port.interface, "mtu", str(own))

    def measure(self, *options: str, reverse: bool = False) -> None:
        """A pptmon at each router, in one direction."""
        count = len(self.routers)
        modes = ["source", *["transit"] * (count - 2), "sink"] if count > 1 else ["source-sink"]
        started = []
        for number, router in enumerate(self.routers):
            ingress, egress = self.links[number][1], self.links[number + 1][0]
            if reverse:
                ingress, egress = egress, ingress
            mode = modes[count - 1 - number if reverse else number]
            own = options if mode.startswith("source") else ()
            started.append(
                Pptmon(router, self.folder / f"{router.name}-{reverse}", mode, number + 1,
                       ingress.interface, egress.interface, own)
            )  # fmt: skip
            self.lab.at_end(started[-1].kill)
        for pptmon in started:
            pptmon.wait_ready()
        self.pptmons += started

    def stream(self, protocol: str, version: int, *numbers: int, reverse: bool = False) -> _Running:
        """Start to send from the client to the server, or back."""
        ends = ("server", "client") if reverse else ("client", "server")
        sender, receiver = (getattr(self, end) for end in ends)
        where = [protocol, self.address(ends[1], version), str(next(_ports))]
        said = [self.folder / f"stream-{where[2]}-{what}" for what in ("send", "receive")]
        listening = _spawn(receiver, ["receive", *where], said[1])
        self.lab.at_end(lambda: listening.stop(0.1))
        assert eventually(lambda: "listening" in said[1].read_text()), "the receiver is not up"
        sending = _spawn(sender, ["send", *where, *map(str, numbers)], said[0])
        self.lab.at_end(lambda: sending.stop(0.1))
        return _Running(sending, listening, said[0], said[1])

    def errors(self) -> dict[str, int]:
        """Counters of wrong packets that are not zero, of all namespaces, by nstat."""
        found = {}
        for host in (self.client, *self.routers, self.server):
            done = host.run(["nstat", "-a", "-s", "-z", "--json"], timeout_s=10)
            for name, value in json.loads(done.text)["kernel"].items():
                if value and any(word in name for word in ("CsumError", "HdrErrors")):
                    found[f"{host.name} {name}"] = value
        return found

    def counted(self, end: NamespaceHost, name: str) -> int:
        """One of nstat's counters."""
        done = end.run(["nstat", "-a", "-s", "-z", "--json"], timeout_s=10)
        return int(json.loads(done.text)["kernel"][name])


@dataclass(frozen=True)
class _Running:
    sending: Process
    receiving: Process
    sender_said: Path
    receiver_said: Path

    def finish(self, timeout_s: float) -> Stream:
        """Wait for both ends."""
        for process in (self.sending, self.receiving):
            assert process.wait(timeout_s) == 0, self.receiver_said.read_text()
        sent, received = (
            path.read_text().splitlines()[-1] for path in (self.sender_said, self.receiver_said)
        )
        return Stream(sent, received)


def _spawn(host: NamespaceHost, arguments: Sequence[str], said: Path) -> Process:
    said.parent.mkdir(parents=True, exist_ok=True)
    return host.spawn(
        [sys.executable, str(_PROGRAM), *arguments], stdout=said, stderr=said.with_suffix(".err")
    )


def build(lab: Lab, folder: Path, count: int) -> RoutedPath:
    """`count` routers, IPv4 and IPv6."""
    names = ["client", *(f"r{n}" for n in range(1, count + 1)), "server"]
    hosts = [lab.host(name) for name in names]
    links = []
    for number, (near, far) in enumerate(itertools.pairwise(hosts)):
        one, other = lab.join((near, f"{far.name}0"), (far, f"{near.name}1"))
        links.append((one, other))
        for place, port in enumerate((one, other), 1):
            _address(port, number, place)
    for number, host in enumerate(hosts):
        _routes(host, number, len(links))
    path = RoutedPath(hosts[0], hosts[-1], hosts[1:-1], links, folder, lab)
    for version in (4, 6):
        argv = ["ping", "-c", "1", "-W", "1", path.address("server", version)]
        assert eventually(
            lambda argv=argv: hosts[0].run(argv, timeout_s=5, check=False).returncode == 0
        )
    return path


def _address(port: Port, link: int, place: int) -> None:
    where, name = space(port.host), port.interface
    # Without the seconds of duplicate address detection, in which neighbours get no answer.
    settings = [f"net.ipv6.conf.{name}.accept_dad=0", f"net.ipv6.conf.{name}.disable_ipv6=0"]
    port.host.run(["sysctl", "-q", "-w", *settings], timeout_s=10)
    ip("-n", where, "address", "add", f"198.18.{link}.{place}/24", "dev", name)
    ip("-n", where, "address", "add", f"fd00:0:0:{link}::{place}/64", "dev", name, "nodad")


def _routes(host: NamespaceHost, number: int, links: int) -> None:
    """Host n is on links n-1 and n."""
    settings = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"]
    host.run(["sysctl", "-q", "-w", *settings], timeout_s=10)
    ip("-n", space(host), "link", "set", "lo", "up")
    for link in range(links):
        if link in (number - 1, number):
            continue
        nearer = link < number - 1
        via, place = (number - 1, 1) if nearer else (number, 2)
        ip("-n", space(host), "route", "add", f"198.18.{link}.0/24", "via", f"198.18.{via}.{place}")
        ip("-n", space(host), "route", "add", f"fd00:0:0:{link}::/64", "via",
           f"fd00:0:0:{via}::{place}")  # fmt: skip
