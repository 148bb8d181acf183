"""A chain of transparent VNFs between a sender and a receiver, with pptmon on each.

A VNF is a Linux bridge, which carries any frame as it is. They are all in one namespace, each with
interfaces of its own; veths join them:

    sender s0 = i1 [bridge b1] o1 = i2 [bridge b2] o2 = ... = r0 receiver
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.dataplane.pptmon.events import Sample
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import Lab, Port, ip, space
from support.pptmon.process import Pptmon
from support.pptmon.tap import Offload, Tap, mark_frame

_marks = itertools.count(1)
_folders = itertools.count()


@dataclass(frozen=True)
class Seen:
    """One frame and what became of it."""

    between: tuple[list[bytes], ...]
    """After each VNF but the last."""
    received: list[bytes]


def exchange(sender: Tap, between: Sequence[Tap], receiver: Tap, *frames: bytes) -> Seen:
    """Send frames with a mark behind them, and see what comes before it everywhere."""
    mark = next(_marks).to_bytes(8, "big")
    sender.send(*frames, mark_frame(mark))
    return Seen(tuple(one.receive(mark) for one in between), receiver.receive(mark))


@dataclass
class Chain:
    """The VNFs, their pptmons, and what looks at the packets."""

    vnfs: NamespaceHost
    sender: Tap
    between: list[Tap]
    receiver: Tap
    ports: list[tuple[Port, Port]]
    """Ingress and egress of each VNF."""
    first: Port
    """Of the sender."""
    folder: Path
    lab: Lab
    pptmons: list[Pptmon] = field(default_factory=list)

    def start(self, *options: str, modes: Sequence[str] | None = None) -> None:
        """A pptmon on each VNF, ids from 1 on; `options` are of the source."""
        count = len(self.ports)
        if modes is None:
            modes = ["source", *["transit"] * (count - 2), "sink"] if count > 1 else ["source-sink"]
        for number, mode in enumerate(modes, 1):
            own = options if mode.startswith("source") else ()
            self.add(mode, number, self.ports[number - 1], own)
        for pptmon in self.pptmons:
            pptmon.wait_ready()

    def add(
        self, mode: str, vnf_id: int, ports: tuple[Port, Port], options: Sequence[str] = ()
    ) -> Pptmon:
        """One more pptmon."""
        ingress, egress = ports
        # Output is appended: each one has a folder of its own.
        made = Pptmon(
            self.vnfs, self.folder / str(next(_folders)), mode, vnf_id, ingress.interface,
            egress.interface, tuple(options),
        )  # fmt: skip
        self.pptmons.append(made)
        self.lab.at_end(made.kill)
        return made

    @property
    def source(self) -> Pptmon:
        return self.pptmons[0]

    @property
    def sink(self) -> Pptmon:
        return self.pptmons[-1]

    def exchange(self, *frames: bytes) -> Seen:
        """Send frames, and see what passed until a mark behind them came through."""
        return exchange(self.sender, self.between, self.receiver, *frames)

    def exchange_with(self, frame: bytes, offload: Offload) -> list[list[tuple[bytes, Offload]]]:
        """A frame with work left, at all places in turn."""
        mark = next(_marks).to_bytes(8, "big")
        self.sender.send_with(frame, offload)
        self.sender.send(mark_frame(mark))
        return [tap.receive_with(mark) for tap in (*self.between, self.receiver)]

    def exchange_out(self, let_out: Callable[[bytes], object]) -> list[bytes]:
        """What has been received up to a mark that is let out of the first VNF by other means."""
        mark = next(_marks).to_bytes(8, "big")
        let_out(mark_frame(mark))
        return self.receiver.receive(mark)

    def with_offloads(self) -> Tap:
        """Another end of the sender, which sends frames with work left."""
        return tap(self.lab, self.first, offloads=True)

    def samples_of(self, *frames: bytes) -> list[Sample]:
        """What the sink reports about frames which are sampled all."""
        before = len(self.sink.samples())
        self.exchange(*frames)
        return self.sink.samples(before + len(frames))[before:]

    def stop(self) -> None:
        """All of them, the source first; others may be started then."""
        while self.pptmons:
            self.pptmons.pop(0).stop()


def build(
    lab: Lab, folder: Path, count: int, *, mtu: int = 1500, offloads: bool = False, prefix: str = ""
) -> Chain:
    """A chain of `count` bridges; `prefix` tells the namespaces of several chains apart."""
    vnfs, sender, receiver = (lab.host(prefix + name) for name in ("vnfs", "sender", "receiver"))
    quiet(vnfs)
    ends: list[Port] = []
    previous = (sender, "s0")
    for number in range(1, count + 1):
        ends += lab.join(previous, (vnfs, f"i{number}"))
        previous = (vnfs, f"o{number}")
    ends += lab.join(previous, (receiver, "r0"))
    for port in ends:
        # What a VLAN tag needs is no part of an interface's MTU.
        ip("-n", space(port.host), "link", "set", port.interface, "mtu", str(mtu))
    by_name = {port.interface: port for port in ends}
    ports = [(by_name[f"i{n}"], by_name[f"o{n}"]) for n in range(1, count + 1)]
    for number, pair in enumerate(ports, 1):
        bridge(vnfs, f"b{number}", pair)
    places = ("s0", *(f"i{n}" for n in range(2, count + 1)), "r0")
    first, *between, last = (tap(lab, by_name[name], offloads) for name in places)
    return Chain(vnfs, first, between, last, ports, by_name["s0"], folder, lab)


def quiet(host: NamespaceHost) -> None:
    """No packets of the kernel's own, and no IP firewall in bridges: it cuts padding off."""
    settings = [f"net.ipv6.conf.{where}.disable_ipv6=1" for where in ("all", "default")]
    if Path("/proc/sys/net/bridge").exists():
        settings += [
            f"net.bridge.bridge-nf-call-{family}=0" for family in ("iptables", "ip6tables")
        ]
    host.run(["sysctl", "-q", "-w", *settings], timeout_s=10)


def bridge(host: NamespaceHost, name: str, ports: Sequence[Port]) -> None:
    """Join ports; every frame goes to the other one."""
    ip("-n", space(host), "link", "add", name, "type", "bridge", "mcast_snooping", "0")
    for port in ports:
        ip("-n", space(host), "link", "set", port.interface, "master", name)
    ip("-n", space(host), "link", "set", name, "up")


def tap(lab: Lab, port: Port, offloads: bool = False) -> Tap:
    """Closed with the lab."""
    assert port.host.namespace is not None
    made = Tap(port.host.namespace, port.interface, offloads=offloads)
    lab.at_end(made.close)
    return made
