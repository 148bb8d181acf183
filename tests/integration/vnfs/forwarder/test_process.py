"""The forwarder as a process: start, stop, failures, threads, command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from support.needs import compiled
from support.network.wires import Lab, eventually, ip, space
from support.vnfs.attached import started_behind_sff
from support.vnfs.forwarder_bench import Bench

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.forwarder.function import BINARY, Forwarder, RunningForwarder, attach_pass

pytestmark = pytest.mark.root

PORTS, PER_FLOW = range(1000, 1032), 40
_PORT_AT = 14 + 24 + 14 + 20
"""Offset of the inner UDP source port behind Ethernet, NSH, Ethernet and IP."""


@pytest.fixture
def forwarder_binary() -> str:
    return compiled(BINARY)


@pytest.fixture
def make_bench(lab: Lab, forwarder_binary: str) -> Callable[..., Bench]:
    """Start a forwarder; `vcpus` are for engine `userspace`."""

    def make(engine: str, vcpus: tuple[int, ...] = ()) -> Bench:
        vcpus = vcpus or (min(os.sched_getaffinity(0)),)
        return started_behind_sff(lab, Forwarder, "fwd-1", {"engine": engine}, vcpus=vcpus)

    return make


def _has_xdp(bench: Bench) -> bool:
    [link] = json.loads(ip("-n", space(bench.sf.host), "-j", "link", "show", "dev", "sf0"))
    return "xdp" in link


def test_nothing_stays_attached_when_it_is_killed(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench("xdp")
    assert _has_xdp(bench)
    os.kill(bench.function._process.pid, signal.SIGKILL)
    assert eventually(lambda: bench.function.problem() is not None)
    assert eventually(lambda: not _has_xdp(bench))
    bench.function.stop()
    assert "ended" in str(bench.function.problem())


def _state(pid: int) -> str:
    """`T` while it is stopped (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("engine", ["xdp", "userspace"])
def test_stopped_and_continued_it_goes_on_and_ended_it_leaves_counters(
    make_bench: Callable[..., Bench], engine: str
) -> None:
    bench = make_bench(engine)
    pid = bench.function._process.pid
    for _ in range(3):
        os.kill(pid, signal.SIGSTOP)
        assert eventually(lambda: _state(pid) == "T")
        os.kill(pid, signal.SIGCONT)
        assert eventually(lambda: _state(pid) != "T")
        # An answer from the loop that a stop could end, not only from the engine.
        wanted = bench.function.counters()["forwarded"] + 2
        frame = bench.frame(NSH(spi=7, si=9, context_header=bytes(16)) / Raw(b"x"))
        assert len(bench.exchange(frame)) == 1
        counters = bench.counted(lambda now, wanted=wanted: now["forwarded"] >= wanted)
        assert counters["forwarded"] == wanted
    assert bench.function.problem() is None
    bench.function.stop()
    assert not _has_xdp(bench)
    assert bench.function.counters()["forwarded"] == 6


def _flow(bench: Bench, port: int) -> bytes:
    """A frame of a flow, but for the last two bytes."""
    inner = Ether() / IP(src="198.18.1.1", dst="198.18.1.2") / UDP(sport=port, dport=9, len=10)
    return bytes(bench.frame(NSH(spi=42, context_header=bytes(16)) / inner))


def test_flows_spread_and_keep_their_order(make_bench: Callable[..., Bench]) -> None:
    cpu = min(os.sched_getaffinity(0))
    bench = make_bench("userspace", vcpus=(cpu, cpu))
    heads = [_flow(bench, port) for port in PORTS]
    frames = [head + number.to_bytes(2, "big") for number in range(PER_FLOW) for head in heads]
    bench.wire.send(frames)
    seen: dict[int, list[int]] = {}

    def complete(frame: bytes) -> bool:
        port = int.from_bytes(frame[_PORT_AT : _PORT_AT + 2], "big")
        seen.setdefault(port, []).append(int.from_bytes(frame[-2:], "big"))
        return sum(map(len, seen.values())) == len(frames)

    bench.wire.receive_until(complete)
    assert seen == {port: list(range(PER_FLOW)) for port in PORTS}
    counters = bench.counted(lambda now: now["received"] == len(frames))
    workers = [counters["forwarded_worker0"], counters["forwarded_worker1"]]
    assert sum(workers) == len(frames)
    assert min(workers) > 0


def test_a_missing_interface_is_explained(lab: Lab, forwarder_binary: str, tmp_path: Path) -> None:
    host = lab.host("empty")
    with pytest.raises(DeploymentError, match="nowhere0"):
        attach_pass(host, ["nowhere0"])
    for engine in ("xdp", "userspace"):
        stats = tmp_path / engine
        argv = [forwarder_binary, "--engine", engine, "--interface", "nowhere0"]
        process = host.spawn([*argv, "--stats", str(stats)])
        with pytest.raises(DeploymentError, match="nowhere0: No such device"):
            RunningForwarder("fwd-1", host, stats, process).wait_ready()


def test_a_second_program_is_refused(make_bench: Callable[..., Bench], tmp_path: Path) -> None:
    bench = make_bench("xdp")
    stats = tmp_path / "second"
    argv = [*bench.function._process.argv[:-1], str(stats)]
    second = RunningForwarder("fwd-2", bench.sf.host, stats, bench.sf.host.spawn(argv))
    with pytest.raises(DeploymentError, match="another XDP program"):
        second.wait_ready()


def test_prints_counters_when_asked(lab: Lab, forwarder_binary: str, tmp_path: Path) -> None:
    _, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    out = tmp_path / "out"
    argv = [forwarder_binary, "--engine", "userspace", "--interface", sf.interface]
    process = sf.host.spawn(argv, stdout=out)
    lab.at_end(process.stop)
    assert eventually(lambda: out.exists() and out.read_text().count("\n") == 1)
    os.kill(process.pid, signal.SIGUSR1)
    assert eventually(lambda: out.read_text().count("\n") == 2)
    assert process.stop() == 0
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert [event["event"] for event in events] == ["ready", "counters", "counters"]
    assert events[0] == {"event": "ready", "engine": "userspace", "interface": "sf0"}


def test_without_descriptors_it_says_so(lab: Lab, forwarder_binary: str) -> None:
    _, sf = lab.join((lab.host("sff"), "sff0"), (lab.host("sf"), "sf0"))
    argv = ["prlimit", "--nofile=4", forwarder_binary, "-e", "userspace", "-i", sf.interface]
    ended = sf.host.run(argv, timeout_s=10, check=False)
    assert ended.returncode == 1
    assert "Too many open files" in json.loads(ended.stdout)["error"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--interface is missing"),
        (["--interface", "lo", "--engine", "magic"], "xdp or userspace"),
        (["--interface", "lo", "--engine", "userspace", "--cpus", "0;1"], "not a list"),
        (["--interface", "lo", "extra"], "extra"),
        (["--attach-pass"], "name the interfaces"),
        (["--attach-pass", "--interface", "lo", "x"], "exclude each other"),
    ],
    ids=str,
)
def test_wrong_arguments_are_explained(
    forwarder_binary: str, arguments: list[str], complaint: str
) -> None:
    done = subprocess.run(
        [forwarder_binary, *arguments], capture_output=True, text=True, timeout=10
    )
    assert done.returncode == 2
    assert complaint in done.stderr
