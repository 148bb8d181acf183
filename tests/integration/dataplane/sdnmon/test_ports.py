"""SDN-Mon at the ports of a switch: veths, by tcx, by clsact, and in front of XDP programs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from scapy.utils import wrpcap
from support.network.wires import Lab, Port, eventually, ip, space
from support.sdnmon.frames import forms, random_frames, udp_flow, udp_flows
from support.sdnmon.tool import FIVE_TUPLE, HASH_KEY, Tool, layout_of, switched

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon.model import Monitor, counts
from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root
HOOKS = ("tcx", "clsact", "xdp")
PASS = binaries.find("sfc-sdnmon").parents[1] / "dataplane" / "forwarding" / "pass.bpf.o"
"""An XDP program that lets frames pass, as part of the switch."""


@dataclass
class Bench:
    tool: Tool
    lab: Lab
    senders: list[Port]
    ports: list[Port]
    """Of the switch."""

    @property
    def names(self) -> list[str]:
        return [port.interface for port in self.ports]

    def on(self, fields: str, hook: str, *options: str) -> None:
        """Begin at all ports; those for XDP have a program already, which `auto` finds."""
        if hook == "xdp":
            for port in self.ports:
                where = ["-n", space(port.host), "link", "set", "dev", port.interface]
                ip(*where, "xdpdrv", "object", str(PASS), "section", "xdp")
        how = "auto" if hook == "xdp" else hook
        self.tool.on(fields, "--attach", how, *options, ports=self.names)
        assert [port["attach"] for port in self.tool.status["ports"]] == [hook] * len(self.ports)

    def send(self, frames: list[bytes], port: int = 0) -> None:
        wire = self.senders[port].wire()
        wire.send(frames)
        wire.close()

    def program_id(self, hook: str) -> int:
        """Of the program at the ports."""
        name = "arrive_xdp" if hook == "xdp" else "arrive"
        pin = self.tool.state / "current" / name
        return int(json.loads(bpftool("-j", "prog", "show", "pinned", str(pin)).stdout)["id"])


def bpftool(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bpftool", *words], capture_output=True, text=True)


def xdp_program(port: Port) -> int:
    """Id of the XDP program of an interface."""
    done = subprocess.run(
        ["ip", "-n", space(port.host), "-j", "link", "show", "dev", port.interface],
        capture_output=True,
        check=True,
    )
    return int(json.loads(done.stdout)[0]["xdp"]["prog"]["id"])


def is_loaded(program: int) -> bool:
    return bpftool("prog", "show", "id", str(program)).returncode == 0


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Lab(tmp_path) as lab:
        switch, sender = lab.host("switch"), lab.host("sender")
        pairs = [lab.join((sender, f"s{n}"), (switch, f"p{n}")) for n in range(2)]
        with switched(tmp_path, switch) as tool:
            yield Bench(tool, lab, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


@pytest.mark.parametrize("hook", HOOKS)
def test_counted_equals_sent(bench: Bench, hook: str) -> None:
    """Also frames that are cut off, and tags that the kernel takes out. Programs of others see them
    too: ours is first, and lets everything pass."""
    frames = [*forms().values(), *random_frames(5, 1000)]
    # The kernel drops those that it takes for cut off before anybody sees them.
    frames = [frame for frame in frames if len(frame) >= 18]
    for fields in (FIVE_TUPLE, "vlan_vid,vlan_pcp,ipv6_src,eth_type,tunnel_id"):
        if fields == FIVE_TUPLE:
            bench.on(fields, hook)
        else:
            bench.tool("reset", "--fields", fields)
        receiver = bench.ports[1].wire()
        bench.send(frames)
        bench.send(frames, 1)
        assert len(receiver.drain()) == len(frames)
        receiver.close()
        monitor = Monitor(layout_of(fields), HASH_KEY)
        for frame in frames * 2:
            monitor.receive(frame)
        assert bench.tool.totals == {k: n for k, n in monitor.totals.items() if n}
        assert bench.tool.counts(monitor.layout) == counts(monitor)


@pytest.mark.parametrize("hook", ["tcx", "xdp"])
def test_what_tcpreplay_sends(bench: Bench, hook: str, tmp_path: Path) -> None:
    """As fast as it can, as in the paper's evaluation: it says how many packets it sent."""
    flows, loops = 500, 20
    trace = tmp_path / "trace.pcap"
    wrpcap(str(trace), udp_flows(range(flows)), linktype=1)
    bench.on(FIVE_TUPLE, hook)
    sender = bench.senders[0]
    argv = ["tcpreplay", "--quiet", "--topspeed", f"--loop={loops}", f"--intf1={sender.interface}"]
    said = sender.host.run([*argv, str(trace)], timeout_s=60).text
    assert f"Successful packets:        {flows * loops}" in said
    assert bench.tool.totals == {"received": flows * loops, "monitored": flows * loops}
    assert [entry["packets"] for entry in bench.tool.entries] == [loops] * flows


SEGS_IN, BYTES_SENT = slice(140, 144), slice(200, 208)
"""Places of tcpi_segs_in and tcpi_bytes_sent, which counts retransmissions, in struct tcp_info."""


def _tcp_info(connection: socket.socket, field: slice) -> int:
    found = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, field.stop)
    return int.from_bytes(found[field], sys.byteorder)


@pytest.mark.parametrize("hook", ["tcx", "xdp"])
def test_large_segments_count_as_the_packets_they_stand_for(bench: Bench, hook: str) -> None:
    """The judge is TCP itself. With XDP, the kernel makes packets of them before."""
    here, there = bench.senders[0], bench.ports[0]
    ip("-n", space(here.host), "address", "add", "10.5.0.1/24", "dev", here.interface)
    ip("-n", space(there.host), "address", "add", "10.5.0.2/24", "dev", there.interface)
    assert there.host.namespace is not None
    assert here.host.namespace is not None
    with inside(there.host.namespace):
        listener = socket.create_server(("10.5.0.2", 5000))
    bench.on("ip_proto", hook)
    sent = 4 << 20
    with inside(here.host.namespace):
        sender = socket.create_connection(("10.5.0.2", 5000))
    receiver, _ = listener.accept()
    feeder = threading.Thread(target=sender.sendall, args=(bytes(sent),))
    feeder.start()
    left = sent
    while left:
        left -= len(receiver.recv(left))
    feeder.join()
    entry = next(e for e in bench.tool.entries if e["flow"] == {"ip_proto": 6})
    segments, resent = _tcp_info(receiver, SEGS_IN), _tcp_info(sender, BYTES_SENT) - sent
    for each in (sender, receiver, listener):
        each.close()
    # Those of the handshake came before this socket was there.
    assert segments <= entry["packets"] <= segments + 2
    assert segments > sent / 1500
    # What is sent again may have been lost before the port.
    headers = entry["bytes"] - sent
    assert headers / entry["packets"] >= 14 + 20 + 32
    assert (headers - resent) / entry["packets"] <= 14 + 20 + 40


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("hook", HOOKS)
def test_resets_under_load_count_no_packet_twice(bench: Bench, hook: str) -> None:
    """Afterwards the new program is at all ports, and its table is exact."""
    bench.on(FIVE_TUPLE, hook)
    frames = udp_flows(range(50)) * 400
    sending = [threading.Thread(target=bench.send, args=(frames, port)) for port in range(2)]
    for thread in sending:
        thread.start()
    received = 0
    while any(thread.is_alive() for thread in sending):
        received = max(received, bench.tool.totals.get("received", 0))
        bench.tool("reset", "--fields", FIVE_TUPLE)
    for thread in sending:
        thread.join()
    assert 0 < received <= 2 * len(frames)
    bench.tool("reset", "--fields", FIVE_TUPLE)
    bench.send(frames)
    assert bench.tool.totals == {"received": len(frames), "monitored": len(frames)}
    assert {entry["packets"] for entry in bench.tool.entries} == {400}


def test_two_cpus_lose_no_packet_of_one_flow(bench: Bench) -> None:
    """Epochs of 10 ms begin often, and on both CPUs."""
    bench.tool.on(FIVE_TUPLE, "--query-interval-ms", "50", ports=bench.names)
    frames = [udp_flow(1)] * 30_000
    sending = [threading.Thread(target=bench.send, args=(frames, port)) for port in range(2)]
    for thread in sending:
        thread.start()
    while any(thread.is_alive() for thread in sending):
        for entry in bench.tool.entries:
            covered = sum(packets for _, packets, _ in entry["intervals"])
            assert covered <= entry["packets"]
    for thread in sending:
        thread.join()
    (entry,) = bench.tool.entries
    assert (entry["packets"], entry["bytes"]) == (60_000, 60_000 * len(frames[0]))


@pytest.mark.parametrize("hook", ["tcx", "clsact"])
def test_ports_come_and_go(bench: Bench, hook: str) -> None:
    one, other = bench.names
    bench.tool.on("ipv4_src", "--attach", hook)
    bench.send([udp_flow(1)])
    assert bench.tool.totals == {}
    bench.tool("attach", one, "--attach", hook)
    assert "is a port already" in bench.tool.run("attach", one).stderr
    bench.send([udp_flow(1)] * 2)
    bench.send([udp_flow(1)] * 4, 1)
    assert bench.tool.totals["received"] == 2
    bench.tool("attach", other, "--attach", hook)
    bench.send([udp_flow(1)] * 8, 1)
    bench.tool("detach", one)
    bench.send([udp_flow(1)] * 16)
    assert bench.tool.totals["received"] == 10
    assert bench.tool.run("detach", one).stderr == f"sfc-sdnmon: {one} is no port\n"
    assert [port["name"] for port in bench.tool.status["ports"]] == [other]


@pytest.mark.parametrize("hook", HOOKS)
def test_an_interface_that_is_gone_is_forgotten_and_off_leaves_no_program(
    bench: Bench, hook: str
) -> None:
    bench.on("ipv4_src", hook)
    ip("-n", space(bench.ports[1].host), "link", "delete", bench.names[1])
    bench.tool("reset", "--fields", "ipv4_dst")
    assert [port["name"] for port in bench.tool.status["ports"]] == bench.names[:1]
    bench.send([udp_flow(1)])
    assert bench.tool.totals == {"received": 1, "monitored": 1}
    program = bench.program_id(hook)
    assert is_loaded(program)
    bench.tool("off")
    assert eventually(lambda: not is_loaded(program))
    assert not bench.tool.state.exists()


def test_an_xdp_program_is_alone_again_after_a_port_or_all_are_gone(bench: Bench) -> None:
    bench.on("ipv4_src", "xdp")
    bench.tool("off")
    before = [xdp_program(port) for port in bench.ports]
    bench.tool.on("ipv4_src", ports=bench.names)
    bench.tool("reset", "--fields", "ipv4_dst")
    assert {xdp_program(port) for port in bench.ports} == {bench.program_id("xdp")}
    bench.tool("detach", bench.names[1])
    assert xdp_program(bench.ports[1]) == before[1]
    bench.send([udp_flow(1)] * 2)
    bench.send([udp_flow(1)], 1)
    assert bench.tool.totals == {"received": 2, "monitored": 2}
    bench.tool("attach", bench.names[1])
    bench.tool("off")
    assert [xdp_program(port) for port in bench.ports] == before


def test_another_xdp_program_that_came_meanwhile_stays(bench: Bench) -> None:
    """A switch that was started again has attached its own. A reset counts in front of it; off
    leaves it."""
    bench.on("ipv4_src", "xdp")
    ours = bench.program_id("xdp")
    where = ["-n", space(bench.ports[0].host), "-force", "link", "set", "dev", bench.names[0]]
    ip(*where, "xdpdrv", "off")
    ip(*where, "xdpdrv", "object", str(PASS), "section", "xdp")
    other = xdp_program(bench.ports[0])
    assert other != ours
    bench.send([udp_flow(1)])
    assert bench.tool.totals == {}
    bench.tool("reset", "--fields", "ipv4_src")
    bench.send([udp_flow(1)])
    assert bench.tool.totals == {"received": 1, "monitored": 1}
    bench.tool("off")
    assert xdp_program(bench.ports[0]) == other


def test_a_port_that_cannot_be_leaves_nothing(bench: Bench) -> None:
    for words, problem in (
        ([bench.names[0], "no-such-port"], "no-such-port"),
        (["--attach", "xdp", *bench.names], "there is no XDP program that takes its frames"),
    ):
        done = bench.tool.run("on", "--fields", "ipv4_src", *words)
        assert (done.returncode, problem in done.stderr) == (1, True), done.stderr
        assert not bench.tool.state.exists()


def test_a_filter_of_others_at_the_same_priority_stays(bench: Bench) -> None:
    """Handles distinguish them. Theirs lets packets pass to ours."""
    tc = ["tc", "-n", space(bench.ports[0].host)]
    port = ["dev", bench.names[0]]
    theirs = ["prio", "0x3000", "handle", "1", "bpf", "da", "bytecode", "1,6 0 0 4294967295"]
    subprocess.run([*tc, "qdisc", "add", *port, "clsact"], check=True)
    subprocess.run([*tc, "filter", "add", *port, "ingress", *theirs], check=True)
    bench.on("ipv4_src", "clsact")
    bench.send([udp_flow(1)])
    assert bench.tool.totals == {"received": 1, "monitored": 1}
    bench.tool("off")
    shown = subprocess.check_output([*tc, "filter", "show", *port, "ingress"], text=True)
    assert shown.count("bytecode") == shown.count("handle 0x") == 1


def test_waiting_for_notifications(bench: Bench) -> None:
    bench.tool.on("ipv4_src", "--notify", "5", ports=bench.names)
    argv = [binaries.find("sfc-sdnmon"), "--state", bench.tool.state, "events", "--wait"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        bench.send(udp_flows(range(20)))
        assert '"entries": 6, "notify": 5' in waiting.stdout.readline()
        bench.tool("reset", "--fields", "ipv4_src", "--notify", "3")
        bench.send(udp_flows(range(20)))
        assert '"entries": 4, "notify": 3' in waiting.stdout.readline()
        bench.tool("off")
        assert eventually(lambda: waiting.poll() == 0)
