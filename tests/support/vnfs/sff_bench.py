"""A running sfc-sff with a raw Ethernet end at each of its ports."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from sfcperf.dataplane.sff.process import BINARY, SffProcess
from support.needs import compiled
from support.network.wires import InLab, Port, Wire, ip, space

Mode = Literal["xdp", "stack", "tap", "generic"]
"""How frames leave: as XDP frames, as socket buffers, the latter after a round by the tap, or by
generic XDP, from interfaces that refuse native XDP."""
MODES: Sequence[Mode] = ("xdp", "stack", "tap")
"""Those in which functions can have XDP programs at the other ends."""

NODE, NODE_ADDRESS = "02:00:00:00:10:01", "192.0.2.1"
CLIENT, SERVER = "02:00:00:00:20:01", "02:00:00:00:20:02"
NSH_SF, PLAIN_SF, GPE_SF, GPE_SF_ADDRESS = (
    "02:00:00:00:30:03",
    "02:00:00:00:30:04",
    "02:00:00:00:30:07",
    "192.0.2.7",
)
FAR_NODE, FAR_ADDRESS = "02:00:00:00:40:06", "192.0.2.6"
FAR_SERVER = "02:00:00:00:20:03"
"""An endpoint of the other node."""
PORT_CLIENT, PORT_SERVER, PORT_NSH, PORT_PLAIN, PORT_BACK, PORT_LINK, PORT_GPE = range(1, 8)
KINDS = {
    PORT_CLIENT: "endpoint",
    PORT_SERVER: "endpoint",
    PORT_NSH: "nsh",
    PORT_PLAIN: "plain",
    PORT_BACK: "plain",
    PORT_LINK: "underlay",
    PORT_GPE: "underlay",
}
MTU = 1500
"""What the tables allow; the interfaces take more."""
INTERFACE_MTU = 2000
MTU_WITHOUT_NATIVE_XDP = 9000
"""For which a veth refuses native XDP: a page is too small."""
BATCH = 100
"""Frames that fit in the queues on their way."""
_MARK = b"the last frame of the bench"
_MARK_PROTOCOL = 253  # RFC 3692: for experiments
_MARK_SPI = 0xF00000
_MARK_BACK_SPI, _MARKED_BACK = 0xE00000, "203.0.113.253"
"""The same through the function behind the proxy, which tells flows apart by their addresses."""

TO: Mapping[str, str] = {
    "nsh": f"to nsh port {PORT_NSH} mac {NSH_SF}",
    "plain": f"to plain port {PORT_PLAIN} mac {PLAIN_SF} back {PORT_BACK}",
    "gpe": f"to gpe port {PORT_GPE} mac {GPE_SF} address {GPE_SF_ADDRESS}",
    "link": f"to gpe port {PORT_LINK} mac {FAR_NODE} address {FAR_ADDRESS}",
    "end": f"to end port {PORT_SERVER}",
    "end-gpe": f"to end-gpe port {PORT_LINK} mac {FAR_NODE} address {FAR_ADDRESS}",
}
"""What a line `path` may say."""
OUTPUTS = tuple(port for port in KINDS if port != PORT_BACK)
"""Where frames leave."""
LEAVES = {
    "nsh": PORT_NSH,
    "plain": PORT_PLAIN,
    "gpe": PORT_GPE,
    "link": PORT_LINK,
    "end": PORT_SERVER,
    "end-gpe": PORT_LINK,
}


class SffBench(InLab):
    """One node: endpoints 1 and 2, functions 3 (NSH), 4 and 5 (plain), 7 (VXLAN-GPE), link 6."""

    def __init__(self, folder: Path, lines: Iterable[str] = (), mode: Mode = "xdp") -> None:
        compiled(BINARY)
        self.mode, self.lines = mode, lines
        super().__init__(folder)

    def _make(self) -> None:
        self._join()
        self.tables = self.with_lines(self.lines)
        self.sff = SffProcess.launch("sff", self.node, self.tables)
        self.lab.at_end(self.sff.stop)
        self._remember_marks()

    def _join(self) -> None:
        self.node, self.ends = self.lab.host("sff"), self.lab.host("ends")
        pairs = [((self.ends, f"e{port}"), (self.node, f"p{port}")) for port in KINDS]
        pairs.append(((self.node, "tap-near"), (self.node, "tap-far")))
        self.attached: list[Port] = []
        """Where sfc-sff attaches its programs."""
        for one, other in pairs:
            ends = self.lab.join(one, other)
            for end in ends:
                here = space(end.host)
                generic = self.mode == "generic" and not end.interface.startswith("tap")
                mtu = MTU_WITHOUT_NATIVE_XDP if generic else INTERFACE_MTU + 16
                ip("-n", here, "link", "set", end.interface, "mtu", str(mtu))
            self.attached.append(ends[1])
        for port in KINDS:
            self.ends.run(["ethtool", "-K", f"e{port}", "gro", "on"], timeout_s=10)
        self.wires: dict[int, Wire] = {}
        for port in KINDS:
            assert self.ends.namespace is not None
            self.wires[port] = Wire(self.ends.namespace, f"e{port}")
            self.lab.at_end(self.wires[port].close)

    def with_lines(self, lines: Iterable[str], *, tapped: bool | None = None) -> str:
        """Tables: what every bench has, and these lines. `tapped`: as the mode says by default."""
        if tapped is None:
            tapped = self.mode == "tap"
        xdp = {"xdp": " xdp yes", "generic": " xdp yes generic yes"}.get(self.mode, "")
        own = [
            f"node {NODE} address {NODE_ADDRESS}",
            f"tap tap-near tap-far on {'yes' if tapped else 'no'}",
            *(f"port {n} interface p{n} kind {k} mtu {MTU}{xdp}" for n, k in KINDS.items()),
            f"station {CLIENT} port {PORT_CLIENT}",
            f"station {SERVER} port {PORT_SERVER}",
            f"station {FAR_SERVER} port {PORT_LINK} mac {FAR_NODE} address {FAR_ADDRESS}",
            f"route {FAR_ADDRESS} port {PORT_LINK}",
            f"route {GPE_SF_ADDRESS} port {PORT_GPE}",
            *self._mark_lines(),
        ]
        return "\n".join([*own, *lines]) + "\n"

    def change(self, lines: Iterable[str], *, tapped: bool | None = None) -> None:
        """Other tables from now on. Raises DeploymentError if they are refused."""
        self.sff.change(self.with_lines(lines, tapped=tapped))

    def exchange(self, port: int, frames: Sequence[Packet | bytes]) -> dict[int, list[bytes]]:
        """Send frames into a port, and give what comes out of all ports."""
        # What comes back from the function behind the proxy does not go there again.
        out: dict[int, list[bytes]] = {
            leaves: [] for leaves in OUTPUTS if (port, leaves) != (PORT_BACK, PORT_PLAIN)
        }
        for start in range(0, max(len(frames), 1), BATCH):
            batch = [bytes(frame) for frame in frames[start : start + BATCH]]
            self.wires[port].send([*batch, *(self._mark(port, leaves) for leaves in out)])
            for leaves, seen in out.items():
                seen += self.wires[leaves].receive_until(_is_mark)
        return out

    def one(self, port: int, frame: Packet | bytes) -> tuple[int, bytes]:
        """The only frame that comes out for a frame, and where."""
        out = self.exchange(port, [frame])
        [(leaves, answer)] = [(port, answer) for port, all_ in out.items() for answer in all_]
        return leaves, answer

    def counters(self) -> dict[str, Any]:
        """As sfc-sff writes them, now."""
        return self.sff.fresh()

    def drops(self) -> dict[str, int]:
        """Dropped frames by reason, only those that there are."""
        return {reason: count for reason, count in self.counters()["drops"].items() if count}

    def _mark_lines(self) -> Iterable[str]:
        """The last frames of an exchange: from each port to each port."""
        behind = {
            PORT_NSH: TO["nsh"],
            PORT_LINK: TO["link"],
            PORT_GPE: TO["gpe"],
            PORT_PLAIN: TO["plain"],
            PORT_CLIENT: f"to end port {PORT_CLIENT}",
            PORT_SERVER: f"to end port {PORT_SERVER}",
        }
        for port, action in behind.items():
            yield f"path {_MARK_SPI + port} 255 {action}"
            yield f"path {_MARK_BACK_SPI + port} 255 {TO['plain']}"
            if port != PORT_PLAIN:
                yield f"path {_MARK_BACK_SPI + port} 254 {action}"
            for endpoint in (PORT_CLIENT, PORT_SERVER):
                yield (
                    f"rule {endpoint} path {_MARK_SPI + port} 255 protocol {_MARK_PROTOCOL}"
                    f" destination 203.0.113.{port}"
                )

    def _mark(self, port: int, leaves: int) -> bytes:
        if port == PORT_BACK:
            return _marked(leaves, _MARKED_BACK)
        inner, kind = _marked(leaves), KINDS[port]
        if kind == "endpoint":
            return inner
        header = NSH(spi=_MARK_SPI + leaves, si=255, ttl=63, context_header=bytes(16))
        if kind == "nsh":
            return bytes(on_ethernet(header / Raw(inner)))
        assert kind == "underlay", f"port {port} only takes frames"
        return bytes(on_gpe(header / Raw(inner)))

    def _remember_marks(self) -> None:
        """The proxy remembers the flows of marks, so that they may come back."""
        for leaves in OUTPUTS:
            header = NSH(spi=_MARK_BACK_SPI + leaves, si=255, ttl=63, context_header=bytes(16))
            inner = Raw(_marked(leaves, _MARKED_BACK))
            self.wires[PORT_NSH].send([bytes(on_ethernet(header / inner))])
            assert self.wires[PORT_PLAIN].receive_until(_is_mark) == []


def on_ethernet(packet: Packet, **ethernet: str | int) -> Packet:
    """NSH over Ethernet, as a function sends it to the node."""
    return Ether(**({"src": NSH_SF, "dst": NODE, "type": 0x894F} | ethernet)) / packet


def on_gpe(packet: Packet, next_protocol: int = 4, **fields: Any) -> Packet:
    """VXLAN-GPE, as another node sends it. `fields` are of IP."""
    outer = Ether(src=FAR_NODE, dst=NODE) / IP(
        **({"src": FAR_ADDRESS, "dst": NODE_ADDRESS} | fields)
    )
    tunnel = UDP(sport=50000, dport=4790, chksum=0) / VXLAN(flags=0x0C, NextProtocol=next_protocol)
    return outer / tunnel / Raw(bytes(packet))


def gpe_headers(seen: bytes, mac: str, address: str, next_protocol: int) -> bytes:
    """The headers that this node puts in front of a packet, by scapy. `seen` is what it sent, from
    which only the source port of UDP is taken, which is the sender's choice."""
    sport = int.from_bytes(seen[34:36], "big")
    payload = bytes(len(seen) - 50)
    made = Ether(src=NODE, dst=mac) / IP(
        src=NODE_ADDRESS, dst=address, id=0, flags="DF", ttl=64
    ) / UDP(sport=sport, dport=4790, chksum=0) / VXLAN(
        flags=0x0C, NextProtocol=next_protocol
    ) / Raw(payload)  # fmt: skip
    return bytes(made)[:50]


def require_tshark() -> None:
    """Skip without it."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")


def _marked(leaves: int, source: str = "203.0.113.254") -> bytes:
    # To an address that the port where it ends knows.
    to = CLIENT if leaves == PORT_CLIENT else SERVER
    packet = IP(src=source, dst=f"203.0.113.{leaves}", proto=_MARK_PROTOCOL)
    return bytes(Ether(src=FAR_SERVER, dst=to) / packet / Raw(_MARK))


def _is_mark(frame: bytes) -> bool:
    return frame.endswith(_MARK)
