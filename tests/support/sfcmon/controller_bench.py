"""Two bmv2 switches joined by VXLAN-GPE, and a controller: client, NSH function | function behind
the SFC proxy, server."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.hosts.ssh import SshAccess, SshHost
from sfcperf.vnfs.forwarder.function import Forwarder
from sfcperf.vnfs.sfcmon.bmv2.reach import P4RUNTIME_PORT
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT
from sfcperf.vnfs.sfcmon.bmv2.switch import Bmv2Switch
from support.network.ssh_servers import SshServer
from support.network.wires import InLab, eventually, ip, space
from support.sfcmon.controller_states import mac, two_switches
from support.vnfs.attached import behind_sff

MTU = 1600
PAYLOAD = b"x" * 30
RULE_PORT = 5000
CROSSINGS = 2
"""How often SFCMon of each switch sees a packet: before and behind its function."""
_INTERFACES = {"s1": {1: "p1", 128: "p128", 384: "p384"}}
_INTERFACES["s2"] = {2: "p2", 256: "p256", 257: "p257", 384: "p384"}
_REQUEST_S = 20.0
_BEHIND = 100
"""Packets that may be on their way."""
_PAUSE_S = 0.02
"""After a packet of each flow: processors are for others as well."""


class Switches(InLab):
    """The switches, and what is attached to them."""

    def __init__(self, far: tuple[SshServer, SshHost] | None = None) -> None:
        """`far`: another machine, on which s2 is."""
        self.switches: dict[str, Bmv2Switch] = {}
        self.far = far
        super().__init__()

    def _make(self) -> None:
        lab = self.lab
        self.hosts = {"s1": lab.host("s1")}
        if self.far is None:
            self.hosts["s2"] = lab.host("s2")
        else:
            self.hosts["s2"] = NamespaceHost("s2", self.far[0].namespace, self.folder)
        ends, forwarder, box = lab.host("ends"), lab.host("fwd"), lab.host("box")
        for host in (*self.hosts.values(), forwarder):
            ip("-n", space(host), "link", "set", "lo", "up")
        one, two = self.hosts["s1"], self.hosts["s2"]
        client, _ = lab.join((ends, "e1"), (one, "p1"))
        server, _ = lab.join((ends, "e2"), (two, "p2"))
        sf, _ = lab.join((forwarder, "sf0"), (one, "p128"))
        lab.join((box, "b0"), (two, "p256"))
        lab.join((box, "b1"), (two, "p257"))
        lab.join((one, "p384"), (two, "p384"))
        for name in ("s1", "s2"):
            for interface in _INTERFACES[name].values():
                ip("-n", name_of(self, name), "link", "set", interface, "mtu", str(MTU))
        ip("-n", space(box), "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        for name in ("b0", "b1"):
            ip("-n", space(box), "link", "set", name, "master", "bridge")
        # Its own packets would enter the paths of its ports.
        box.run(["sysctl", "-q", "-w", "net.ipv6.conf.bridge.disable_ipv6=1"], timeout_s=10)
        ip("-n", space(box), "link", "set", "bridge", "up")
        ip("-n", space(forwarder), "address", "add", "198.18.0.2/24", "dev", "sf0")
        self.forwarder_mac = sf.mac
        self.client, self.server = client.wire(), server.wire()
        lab.at_end(self.client.close)
        lab.at_end(self.server.close)
        attachment = behind_sff("fwd-1", sf, self.folder, vcpus=(0,))
        function = Forwarder.start(forwarder, attachment, {"engine": "userspace"})
        lab.at_end(function.stop)
        for name in ("s1", "s2"):
            self.launch(name)

    def launch(self, name: str) -> None:
        """Start a switch, which replaces one that has ended."""
        host = self.far[1] if name == "s2" and self.far else self.hosts[name]
        switch = Bmv2Switch.launch(host, _INTERFACES[name])
        if name not in self.switches:
            self.lab.at_end(lambda: self.switches[name].stop())
        self.switches[name] = switch

    def state(self, **monitoring: Any) -> dict[str, Any]:
        """All resources, as JSON. `monitoring`: of both switches; none: they are not monitored."""
        raw = two_switches()
        for name, switch in self.switches.items():
            raw["switches"][name] |= {
                "p4runtime": switch.address,
                "thrift": {"namespace": f"/run/netns/{name_of(self, name)}"},
                "ports": {str(port): 1500 for port in raw["switches"][name]["ports"]},
            }
        if self.far is not None:
            raw["switches"]["s2"] |= by_ssh(self.far[0].access)
        raw["functions"]["fwd-1"]["ingress"]["mac"] = self.forwarder_mac
        raw["paths"] = {"10": raw["paths"][10]}
        if monitoring:
            raw["monitoring"] = dict.fromkeys(self.switches, monitoring)
        return raw

    @contextlib.contextmanager
    def traffic(self, flows: int = 20) -> Iterator[Traffic]:
        """Packets, some hundred per second and no faster than they arrive, while the block runs."""
        traffic = Traffic(self, flows)
        thread = threading.Thread(target=traffic.run)
        thread.start()
        try:
            yield traffic
        finally:
            traffic.over.set()
            thread.join()


class Traffic:
    """Packets from the client to the server, in a thread."""

    def __init__(self, switches: Switches, flows: int) -> None:
        self._switches = switches
        self._frames = [packet(source_port=1000 + number) for number in range(flows)]
        self.sent = self.received = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Until `over`, and all packets have arrived or no more do."""
        self._switches.server.drain()
        while not self.over.is_set():
            if self.sent - self.received < _BEHIND:
                self._switches.client.send(self._frames)
                self.sent += len(self._frames)
            time.sleep(_PAUSE_S)
            self._take()
        eventually(lambda: self._take() >= self.sent)

    def wait_for(self, packets: int) -> None:
        """Until so many more have arrived."""
        wanted = self.received + packets
        assert eventually(lambda: self.received >= wanted), (self.sent, self.received)

    def _take(self) -> int:
        self.received += sum(PAYLOAD in frame for frame in self._switches.server.waiting())
        return self.received


def packet(*, reverse: bool = False, source_port: int = 1000) -> bytes:
    """A frame that a rule leads into a path."""
    ends = [("198.18.1.1", mac(11)), ("198.18.1.2", mac(12))]
    (source, source_mac), (destination, destination_mac) = ends[::-1] if reverse else ends
    frame = Ether(src=source_mac, dst=destination_mac) / IP(src=source, dst=destination)
    return bytes(frame / UDP(sport=source_port, dport=RULE_PORT) / Raw(PAYLOAD))


def by_ssh(access: SshAccess) -> dict[str, Any]:
    """Where a switch is that Bmv2Switch.launch has started on a machine by SSH, as JSON."""
    [host_key] = access.host_keys
    login = {"address": access.address, "port": access.port, "user": access.user}
    return {
        "p4runtime": f"127.0.0.1:{P4RUNTIME_PORT}",
        "thrift": {"port": THRIFT_PORT},
        "ssh": {**login, "host_key": host_key, "key_file": str(access.key)},
    }


def name_of(switches: Switches, name: str) -> str:
    """Namespace of a switch."""
    return space(switches.hosts[name])
