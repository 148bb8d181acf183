"""VNF types in plain IP on machines as clouds have them: managed by an interface of their own, both
ports in one subnet with addresses, filters of the kernel on; given back as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.needs import skip_unless
from support.network import ssh_servers
from support.network.remote_like import RemoteLike
from support.network.wires import RETRY_S, Lab, Port, Wire, eventually, ip
from support.vnfs.attached import between_ends

from sfcperf import plugins
from sfcperf.drivers.local.capture import Capture
from sfcperf.errors import DeploymentError
from sfcperf.hosts.base import Host
from sfcperf.hosts.carry import equip
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root

CLIENT, SERVER = "10.78.0.11", "10.78.0.12"
PORTS = {"in0": "10.78.0.21", "out0": "10.78.0.22"}
MANAGED, MANAGER = "192.0.2.1", "192.0.2.2"
# What distributions switch on, and what some images have.
BEFORE = {
    "net/ipv4/conf/all/rp_filter": "1",
    "net/ipv4/conf/all/send_redirects": "1",
    "net/ipv4/conf/in0/rp_filter": "2",
    "net/ipv4/conf/out0/rp_filter": "1",
}
PROXY = {"attach": "proxy", "command": ["sleep", "1000"], "ready": {"command": ["true"]}}
KINDS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "router": ("router", {}),
    "forwarder": ("forwarder", {}),
    "firewall": ("firewall", {"rules": 3}),
    "firewall-iptables": ("firewall", {"rules": 3, "engine": "iptables"}),
    "nat": ("nat", {}),
    "load_balancer": ("load_balancer", {"engine": "nftables"}),
    "ips": ("ips", {"engine": "nftables"}),
    "dpi": ("dpi", {}),
    "delay": ("delay", {"delay_us": 1000}),
    "ids": ("ids", {}),
    "heavy_hitter": ("heavy_hitter", {}),
    "program": (
        "program",
        {
            "setup": [["nft", "-f", "rules.nft"]],
            "files": {"rules.nft": ["table ip own {", "chain own { }", "}"]},
            "command": ["sleep", "1000"],
            "ready": {"command": ["test", "-s", "rules.nft"]},
            "teardown": [["nft", "delete", "table", "ip", "own"]],
            "data_plane": "kernel",
        },
    ),
    "proxy": ("program", {**PROXY, "redirect": {"ports": [80]}}),
    "proxy-transparent": ("program", {**PROXY, "redirect": {"ports": [80], "transparent": True}}),
}
STATE = {
    "routes": ["ip", "-4", "route", "show", "table", "all"],
    "rules": ["ip", "rule"],
    "neighbours": ["ip", "neighbour", "show", "nud", "permanent"],
    "links": ["ip", "-br", "link"],
    "settings": ["grep", "-rsH", "", "/proc/sys/net/ipv4/conf", "/proc/sys/net/ipv6/conf"],
    "forwarding": ["cat", "/proc/sys/net/ipv4/ip_forward"],
    "filters": ["sh", "-c", "nft list ruleset | grep -E 'counter|jump|drop|nat to'"],
}


@dataclass(frozen=True)
class Machine:
    """A machine in a cloud, and what it talks to."""

    host: Host
    inside: NamespaceHost
    """The same one, for looking at it without its host."""
    client: Port
    server: Port
    ingress: Port
    egress: Port
    manager: NamespaceHost
    outputs: Path

    @property
    def attachment(self) -> Attachment:
        client, server = (CLIENT, self.client), (SERVER, self.server)
        return between_ends(
            "vnf-1", client, self.ingress, self.egress, server, self.outputs, vcpus=(0,), mtu=1400
        )

    def start(self, name: str) -> RunningFunction:
        """A function of KINDS."""
        kind = plugins.load("vnf", KINDS[name][0])
        return _start(kind, self, KINDS[name][1])

    def state(self) -> dict[str, list[str]]:
        """What a function may change: routes, neighbours, rules, links, settings, filters."""
        return {
            name: self.inside.run(argv, timeout_s=10, check=False).text.splitlines()
            for name, argv in STATE.items()
        }


def _start(
    kind: type[NetworkFunction], machine: Machine, knobs: Mapping[str, Any]
) -> RunningFunction:
    given = with_defaults(kind.parameters, knobs)
    skip_unless(*kind.requirements(given))
    # As a driver does it.
    equip(machine.host, kind.tools(given))
    return kind.start(machine.host, machine.attachment, given)


@pytest.fixture(params=["namespace", "remote-like", "busybox"])
def machine(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path) -> Iterator[Machine]:
    with ExitStack() as stack:
        outputs = tmp_path / "outputs"
        outputs.mkdir()
        if request.param == "busybox":
            if lacking := ssh_servers.lacking():
                pytest.skip(lacking)
            (tmp_path / "machine").mkdir()
            far = ssh_servers.busybox(tmp_path / "machine")
            _, inside, host = stack.enter_context(far)
        else:
            inside = lab.host("vnf")
            host = RemoteLike(inside) if request.param == "remote-like" else inside
        ip("-n", _space(inside), "link", "set", "lo", "up")
        manager = lab.host("manager")
        lab.join((manager, "eth0"), (inside, "mgmt0"))
        client, ingress = lab.join((lab.host("client"), "eth0"), (inside, "in0"))
        server, egress = lab.join((lab.host("server"), "eth0"), (inside, "out0"))
        for name, address in PORTS.items():
            ip("-n", _space(inside), "address", "add", f"{address}/24", "dev", name)
        ip("-n", _space(inside), "address", "add", f"{MANAGED}/30", "dev", "mgmt0")
        ip("-n", _space(inside), "route", "add", "default", "via", MANAGER)
        ip("-n", _space(manager), "address", "add", f"{MANAGER}/30", "dev", "eth0")
        ip("-n", _space(manager), "route", "add", "10.78.0.0/24", "via", MANAGED)
        settings = [f"{name}={value}" for name, value in BEFORE.items()]
        inside.run(["sysctl", "-q", "-w", *settings], timeout_s=10)
        yield Machine(host, inside, client, server, ingress, egress, manager, outputs)


def _space(host: NamespaceHost) -> str:
    assert host.namespace is not None
    return host.namespace.name


def _cross(start: Port, near: Port, end: Port, packet: Packet) -> Packet:
    """Send a packet into the machine; the frame that comes out with its payload."""
    here, there = start.wire(), end.wire()
    try:
        here.send([bytes(Ether(src=start.mac, dst=near.mac) / packet)])
        return _awaited(there)
    finally:
        here.close()
        there.close()


def _awaited(wire: Wire) -> Packet:
    arrived: list[bytes] = []

    def ours(frame: bytes) -> bool:
        arrived.append(frame)
        return b"crossing" in frame

    wire.receive_until(ours)
    return Ether(arrived[-1])


def _datagram(source: str, destination: str) -> Packet:
    return IP(src=source, dst=destination) / UDP(sport=4000, dport=9) / Raw(b"crossing")


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("name", KINDS)
def test_forwards_both_ways_counts_and_gives_back(machine: Machine, name: str) -> None:
    """Captures see what leaves on both sides: the proof that packets traverse a chain relies on
    them."""
    before = machine.state()
    function = machine.start(name)
    capture = Capture([(port, _space(machine.inside), port) for port in PORTS])

    def sent() -> set[str]:
        frames = [frame for frame in capture.frames if b"crossing" in frame.data]
        return {frame.interface for frame in frames if frame.outgoing}

    try:
        for pid in function.pids():
            assert machine.host.read_text(f"/proc/{pid}/stat").startswith(f"{pid} ")
        there = _cross(machine.client, machine.ingress, machine.server, _datagram(CLIENT, SERVER))
        assert (there.src, there.dst) == (machine.egress.mac, machine.server.mac)
        assert (there[IP].src, there[IP].dst) == (CLIENT, SERVER)
        reply = IP(src=SERVER, dst=CLIENT) / UDP(sport=9, dport=there[UDP].sport) / Raw(b"crossing")
        back = _cross(machine.server, machine.egress, machine.client, reply)
        assert (back.src, back.dst) == (machine.ingress.mac, machine.client.mac)
        capture.collect(lambda: sent() == set(PORTS), RETRY_S)
        assert sent() == set(PORTS)
        # What reaches the machine itself, by SSH or from its manager, is not of the chain.
        ping = ["ping", "-c", "3", "-i", "0.01", "-W", "5", MANAGED]
        machine.manager.run(ping, timeout_s=20)
        assert eventually(lambda: function.counters()["forwarded"] == 2)
        counters = function.counters()
        assert (counters["received"], counters["dropped"]) == (2, 0)
        assert function.problem() is None
    finally:
        capture.close()
        function.stop()
    assert machine.state() == before
    if function.pids():
        argv = ["ip", "netns", "pids", _space(machine.inside)]
        left = machine.manager.run(argv, timeout_s=10).text.split()
        assert not set(left) & {str(pid) for pid in function.pids()}


@pytest.mark.gate_runs(1)
def test_a_machine_can_get_one_type_after_the_other(machine: Machine) -> None:
    before = machine.state()
    for name in ("nat", "forwarder", "firewall", "ips", "nat"):
        function = machine.start(name)
        there = _cross(machine.client, machine.ingress, machine.server, _datagram(CLIENT, SERVER))
        assert there[IP].dst == SERVER
        assert function.counters()["forwarded"] == 1
        function.stop()
        # A second time it does not touch what the next one has set up.
        following = machine.start("router")
        function.stop()
        assert following.problem() is None
        following.stop()
    assert machine.state() == before


@pytest.mark.gate_runs(1)
def test_what_is_not_of_the_chain(machine: Machine) -> None:
    """What comes in by the management interface goes nowhere, and each port answers ARP for its own
    address alone."""
    function = machine.start("forwarder")
    client, server = machine.client.wire(), machine.server.wire()
    try:
        argv = ["ping", "-c", "2", "-i", "0.01", "-W", "1", SERVER]
        assert machine.manager.run(argv, timeout_s=20, check=False).returncode != 0
        assert not [frame for frame in server.drain() if Ether(frame).haslayer(ICMP)]
        assert function.counters()["forwarded"] == 0
        for address in PORTS.values():
            asked = ARP(op="who-has", psrc=CLIENT, hwsrc=machine.client.mac, pdst=address)
            client.send([bytes(Ether(src=machine.client.mac, dst="ff:ff:ff:ff:ff:ff") / asked)])
        answers = [Ether(frame)[ARP] for frame in client.drain() if Ether(frame).haslayer(ARP)]
        said = [(a.psrc, a.hwsrc) for a in answers if a.op == 2]
        assert said == [(PORTS["in0"], machine.ingress.mac)]
    finally:
        client.close()
        server.close()
        function.stop()


@pytest.mark.gate_runs(2)
def test_a_start_that_fails_leaves_nothing(machine: Machine) -> None:
    before = machine.state()
    ip("-n", _space(machine.inside), "link", "set", "out0", "name", "lost0")
    with pytest.raises(DeploymentError, match=r"vnf-1: .*out0"):
        machine.start("nat")
    ip("-n", _space(machine.inside), "link", "set", "lost0", "name", "out0")
    assert machine.state() == before


@pytest.mark.parametrize("machine", ["busybox"], indirect=True)
def test_a_cpu_without_what_dpdk_needs_is_told(machine: Machine) -> None:
    """As far as the kernel tells: this machine's CPU has all."""
    before = machine.state()
    hide = "sed 's/ sse4_[12]//g' /proc/cpuinfo >/tmp/cpuinfo; mount --bind /tmp/cpuinfo"
    machine.host.run(["sh", "-c", f"{hide} /proc/cpuinfo"], timeout_s=10)
    with pytest.raises(DeploymentError, match="vnf-1: the CPU lacks sse4_1, sse4_2") as told:
        machine.start("heavy_hitter")
    assert "cpu_mode" in str(told.value.hint)
    assert machine.state() == before


@pytest.mark.gate_runs(1)
def test_the_ids_sees_packets_as_they_were_sent(machine: Machine) -> None:
    """Interfaces of VMs merge those of a connection by default."""

    def merging() -> list[bool]:
        told = (machine.inside.run(["ethtool", "-k", name], timeout_s=10).text for name in PORTS)
        return ["generic-receive-offload: on" in text for text in told]

    for name in PORTS:
        machine.inside.run(["ethtool", "-K", name, "gro", "on"], timeout_s=10)
    running = machine.start("ids")
    assert merging() == [False, False]
    running.stop()
    assert merging() == [True, True]
