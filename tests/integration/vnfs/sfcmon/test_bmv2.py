"""The engine `bmv2` of the VNF type `sfcmon`: a switch that is the SF, and its windows."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from support.network import ssh_servers
from support.network.ssh_servers import SshServer
from support.network.wires import Lab, Port, Wire, eventually, ip, space
from support.vnfs.attached import behind_sff

from sfcperf.dataplane.nsh import UDP_PORT, VxlanGpe
from sfcperf.errors import DeploymentError, InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.carry import equip
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import FlowReporter, FlowWindow
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.sfcmon.bmv2.controlled import Controller
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.reach import P4RUNTIME_PORT
from sfcperf.vnfs.sfcmon.bmv2.registers import THRIFT_PORT
from sfcperf.vnfs.sfcmon.bmv2.running import SERVICE_PORT, RunningBmv2
from sfcperf.vnfs.sfcmon.bmv2.switch import Bmv2Switch
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings
from sfcperf.vnfs.sfcmon.function import Sfcmon
from sfcperf.workflow.defaults import with_defaults

pytestmark = [pytest.mark.root, pytest.mark.bmv2]

SPI, SI = 7, 200
ADDRESS = "10.254.0.9"
HOUR_S = 3600
ALL: dict[str, Any] = {"engine": "bmv2", "threshold": 0, "threshold_eval": 0}
"""Every flow is listed."""
ENCAPSULATIONS = ("nsh-eth", "nsh-vxlan-gpe")
_BEHIND = 200
"""Frames that may be on their way: fewer than queues have room for."""


@dataclass
class Bench:
    """The function behind a veth."""

    function: RunningBmv2
    wire: Wire
    encapsulation: str
    sf: NamespaceHost
    mac: str
    server: SshServer | None = None
    """The machine of the function, unless it is this one."""

    def frame(self, inner: Packet, **nsh: Any) -> Packet:
        """From an SFF."""
        usual = {"spi": SPI, "si": SI, "ttl": 60, "nextproto": 3, "context_header": bytes(16)}
        made = NSH(**{**usual, **nsh}) / inner
        if self.encapsulation == "nsh-eth":
            return Ether(dst=self.mac, src="02:00:00:00:00:99", type=0x894F) / made
        outer = Ether(dst=self.mac, src="02:00:00:00:00:99") / IP(src="10.254.0.1", dst=ADDRESS)
        tunnel = Raw(VxlanGpe(0).encode() + bytes(made))
        return outer / UDP(sport=50000, dport=UDP_PORT, chksum=0) / tunnel

    def exchange(self, frames: Sequence[Packet | bytes]) -> list[bytes]:
        """Send frames, each of which comes back."""
        answers: list[bytes] = []
        for start in range(0, len(frames), _BEHIND):
            some = frames[start : start + _BEHIND]
            self.wire.send(bytes(frame) for frame in some)
            wanted = start + len(some)

            def back() -> bool:
                answers.extend(self.wire.waiting())
                return len(answers) >= wanted  # noqa: B023

            assert eventually(back)
        return answers

    @property
    def reporter(self) -> FlowReporter:
        found = self.function.flows()
        assert found is not None
        return found

    @property
    def pids(self) -> dict[str, int]:
        """Of both processes."""
        [switch] = self.function.pids()
        [controller] = self.function._both._controller.pids()
        return {"switch": switch, "controller": controller}

    def counters(self) -> dict[str, int]:
        """Those that are not 0."""
        return {name: count for name, count in self.function.counters().items() if count}


def udp(source_port: int, size: int = 18) -> Packet:
    """A packet of a flow."""
    packet = IP(src="198.18.0.1", dst="198.18.1.1") / UDP(sport=source_port, dport=9)
    return Ether(src="02:00:00:00:01:01", dst="02:00:00:00:01:02") / packet / Raw(bytes(size))


@pytest.fixture
def make(lab: Lab) -> Callable[..., Bench]:
    return partial(start, lab)


def start(lab: Lab, encapsulation: str = "nsh-eth", *, by_ssh: bool = False, **knobs: Any) -> Bench:
    """`by_ssh`: on a machine with nothing but busybox and dropbear."""
    known = with_defaults(Sfcmon.parameters, {**ALL, **knobs})
    Sfcmon.check(known)
    server, inside, host = _far(lab) if by_ssh else (None, *[lab.host("sf")] * 2)
    sff, sf = lab.join((lab.host("sff"), "sff0"), (inside, "sf0"))
    ip("-n", space(inside), "link", "set", "lo", "up")
    ip("-n", space(inside), "address", "add", f"{ADDRESS}/24", "dev", sf.interface)
    equip(host, Sfcmon.tools(known))
    function = Sfcmon.start(host, attachment(sf, lab, encapsulation), known)
    lab.at_end(function.stop)
    assert isinstance(function, RunningBmv2)
    wire = sff.wire()
    lab.at_end(wire.close)
    return Bench(function, wire, encapsulation, inside, sf.mac, server)


def _far(lab: Lab) -> tuple[SshServer, NamespaceHost, Host]:
    if lacking := ssh_servers.lacking():
        pytest.skip(lacking)
    folder = lab.outputs / "machine"
    folder.mkdir()
    machine = ssh_servers.busybox(folder)
    made = machine.__enter__()
    lab.at_end(lambda: machine.__exit__(None, None, None))
    return made


def attachment(sf: Port, lab: Lab, encapsulation: str = "nsh-eth") -> Attachment:
    return behind_sff("mon-1", sf, lab.outputs, encapsulation=encapsulation, address=ADDRESS)


def flows(windows: Sequence[FlowWindow]) -> Counter[tuple[int, int, int]]:
    """(SPI, SI, source port) -> packets."""
    found: Counter[tuple[int, int, int]] = Counter()
    for window in windows:
        for flow in window.flows:
            assert flow.certainty == "exact"
            found[flow.spi, flow.si, flow.source_port] += flow.packets
    return found


@pytest.mark.parametrize("by_ssh", [False, True], ids=["here", "by SSH"])
@pytest.mark.parametrize("encapsulation", ENCAPSULATIONS)
def test_it_returns_packets_and_lists_their_flows(
    make: Callable[..., Bench], encapsulation: str, by_ssh: bool
) -> None:
    bench = make(encapsulation, by_ssh=by_ssh, window_s=HOUR_S)
    inner = udp(1000)
    [answer] = bench.exchange([bench.frame(inner)])
    sent = bytes(bench.frame(inner))
    assert (answer[:6], answer[6:12]) == (sent[6:12], sent[:6])
    behind = sent.index(bytes(inner))
    assert answer[behind:] == sent[behind:]
    assert answer[behind - 17] == SI - 1
    # What is not for it, and what ends here.
    bench.wire.send([bytes(Ether(dst=bench.mac, type=0x88B5) / Raw(bytes(46)))])
    bench.wire.send([bytes(bench.frame(inner, si=1)), bytes(bench.frame(inner, ver=1))])
    assert eventually(lambda: bench.counters().get("dropped") == 2)
    assert bench.counters() == {
        "received": 3,
        "forwarded": 1,
        "dropped": 2,
        "dropped_si_exhausted": 1,
        "dropped_version": 1,
        "passed": 1,
    }
    [window] = bench.reporter.end_window()
    assert flows([window]) == {(SPI, SI, 1000): 1, (SPI, 1, 1000): 1}
    assert {flow.bytes for flow in window.flows} == {46}
    assert (window.packets, window.threshold_packets) == (2, 0)
    assert {name: n for name, n in window.unparsed.items() if n} == {"not_nsh": 1, "nsh": 1}
    assert bench.wire.drain() == []  # no ICMP of the kernel either


@pytest.mark.parametrize("by_ssh", [False, True], ids=["here", "by SSH"])
def test_windows_lose_nothing_and_count_nothing_twice(
    make: Callable[..., Bench], lab: Lab, by_ssh: bool
) -> None:
    """They end on time, some earlier, while packets come without a pause."""
    bench = make(by_ssh=by_ssh, window_s=0.02)
    output = next(lab.outputs.glob("*.windows.jsonl"))
    assert eventually(lambda: output.read_text().count('"asked": false') >= 5)
    frames = [bytes(bench.frame(udp(1000 + number))) for number in range(40)]
    windows = bench.reporter.end_window()
    before, rounds = len(windows), 25
    for _ in range(rounds):
        bench.exchange(frames * 3)
        windows += bench.reporter.end_window()
    assert flows(windows) == {(SPI, SI, 1000 + n): 3 * rounds for n in range(len(frames))}
    assert sum(window.packets for window in windows) == 3 * rounds * len(frames)
    assert len(windows) > before + rounds
    for earlier, later in itertools.pairwise(windows):
        assert earlier.start_ns < earlier.end_ns == later.start_ns


def test_the_threshold_adapts(make: Callable[..., Bench]) -> None:
    """It goes on from the share of the first window, and then by what was inserted."""
    bench = make(window_s=HOUR_S, adaptive_flows=1, threshold=1 / 16)
    frames = [bytes(bench.frame(udp(1000 + number))) for number in range(10)]
    found = []
    for _ in range(6):
        bench.exchange(frames * 20)
        [window] = bench.reporter.end_window()
        found.append((window.threshold_packets, len(window.flows)))
    # All come from one source with 200 packets, which lists its ten flows once it has so many.
    assert found == [(13, 10), (12, 10), (48, 10), (192, 9), (768, 0), (192, 9)]


def test_the_table_counts_its_entries(make: Callable[..., Bench]) -> None:
    ends = {"source": "198.18.0.1", "destination": "198.18.1.1", "protocol": "udp"}
    ports = {"source_port": 1000, "destination_port": 9}
    entry = {"count": 1500, "spi": SPI, "si": SI, **ends, **ports}
    bench = make("nsh-vxlan-gpe", monitor="table", window_s=HOUR_S, table_entries=[entry])
    frames = [bytes(bench.frame(udp(port))) for port in (1000, 1001, 2499, 2500)]
    for _ in range(2):
        bench.exchange([*frames, frames[1]])
        [window] = bench.reporter.end_window()
        assert flows([window]) == {(SPI, SI, 1000): 1, (SPI, SI, 1001): 2, (SPI, SI, 2499): 1}
        assert {flow.bytes for flow in window.flows} == {46, 92}
        assert window.packets == 5
    assert bench.counters() == {"received": 10, "forwarded": 10}


def test_on_another_machine_only_ssh_reaches_it(make: Callable[..., Bench]) -> None:
    """Nothing stays there, nor here."""
    bench = make(by_ssh=True)
    assert bench.server is not None
    assert "simple_switch_grpc" in " ".join(bench.server.processes())
    assert bench.function._both._switch is not None
    folder = bench.function._both._switch.reach.folder
    assert folder.stat().st_mode & 0o077 == 0
    for port, reason in ((THRIFT_PORT, TimeoutError), (P4RUNTIME_PORT, ConnectionRefusedError)):
        with pytest.raises(reason):
            socket.create_connection((bench.server.address, port), timeout=1)
    assert str(THRIFT_PORT) in _filters(bench)
    assert bench.function.problem() is None
    bench.function.stop()
    assert not folder.exists()
    assert str(THRIFT_PORT) not in _filters(bench)
    assert "simple_switch_grpc" not in " ".join(bench.server.processes())


def _filters(bench: Bench) -> str:
    return bench.sf.run(["nft", "list", "ruleset"], timeout_s=10).text


def test_a_lost_connection_is_a_problem(make: Callable[..., Bench]) -> None:
    """The controller ends when it cannot reach the switch at the end of a window."""
    bench = make(by_ssh=True, window_s=0.05)
    assert bench.server is not None
    bench.exchange([bench.frame(udp(1))])
    bench.server.cut_connections()
    assert eventually(lambda: bench.function.problem() is not None)
    with pytest.raises(MeasurementError):
        bench.function.counters()
    bench.function.stop()


def test_the_controller_ends_when_sfcperf_was_killed(lab: Lab) -> None:
    """With the sockets that lead to the other machine."""
    _, inside, host = _far(lab)
    lab.join((lab.host("sff"), "sff0"), (inside, "sf0"))
    equip(host, Sfcmon.tools(with_defaults(Sfcmon.parameters, ALL)))
    switch = Bmv2Switch.launch(host, {SERVICE_PORT: "sf0"})
    lab.at_end(switch.stop)
    folder = switch.reach.folder
    settings, stats = folder / "settings.json", folder / "stats"
    known = Settings(program=Program.SKETCHES.value, window_ms=HOUR_S * 1000)
    settings.write_text(known.at(switch.address, switch.reach.thrift_socket).text())
    command = [*Controller.command(host), str(settings), "--stats", str(stats)]
    parent = subprocess.Popen(["sh", "-c", '"$@" & wait', "sh", *command])
    assert eventually(lambda: stats.exists() and '"counters"' in stats.read_text(), 30)
    children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
    [child] = children.read_text().split()
    parent.kill()
    parent.wait()
    assert eventually(lambda: not folder.exists(), 20)
    assert eventually(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.parametrize("which", ["switch", "controller"])
def test_a_killed_process_is_a_problem(make: Callable[..., Bench], which: str) -> None:
    """Ended, it leaves the host as it was."""
    bench = make("nsh-vxlan-gpe")
    pids, name = bench.pids, space(bench.sf)
    assert ADDRESS not in ip("-n", name, "address")
    assert bench.function.problem() is None
    os.kill(pids[which], signal.SIGKILL)
    assert eventually(lambda: bench.function.problem() is not None)
    who = "" if which == "switch" else "the controller of "
    wanted = f"{who}simple_switch_grpc has ended with status -9"
    assert str(bench.function.problem()).startswith(wanted)
    with pytest.raises(MeasurementError, match=wanted):
        bench.function.counters()
    for _ in range(2):
        bench.function.stop()
        assert f"{ADDRESS}/24" in ip("-n", name, "address")
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.values())


def test_without_a_monitor_it_only_forwards(tmp_path: Path) -> None:
    """The path of its folder may be long: that of a socket may have 107 bytes."""
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    with Lab(folder) as lab:
        bench = start(lab, monitor="none", window_s=0.01)
        bench.exchange([bench.frame(udp(1))] * 3)
        assert bench.function.flows() is None
        assert bench.counters() == {"received": 3, "forwarded": 3}


def test_a_missing_interface_is_explained(lab: Lab) -> None:
    host = lab.host("empty")
    nowhere = Port(host, "nowhere0", "02:00:00:00:00:02")
    known = with_defaults(Sfcmon.parameters, ALL)
    with pytest.raises(DeploymentError, match=r"mon-1.*nowhere0"):
        Sfcmon.start(host, attachment(nowhere, lab), known)


@pytest.mark.parametrize(
    ("knob", "value", "allowed"),
    [
        ("cms_rows", 4, "5"),
        ("bloom_hashes", 3, "4"),
        ("iblt_hashes", 4, "3"),
        ("cms_columns", 8193, "at most 8192"),
        ("bloom_bits", 65537, "at most 65536"),
        ("iblt_cells", 513, "at most 512"),
        ("table_flows", 131073, "at most 131072"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(knob: str, value: int, allowed: str) -> None:
    known = with_defaults(Sfcmon.parameters, {**ALL, knob: value})
    with pytest.raises(InputError, match=f"{knob}: .*allowed: {allowed}"):
        Sfcmon.check(known)
    Sfcmon.check({**known, "engine": "ebpf"})
