"""sfc-heavy-hitter behind interfaces: packets per second, and the CPU time of each.

    sudo .venv/bin/python benchmarks/heavy_hitter/interfaces.py [--dpdk-source DIR] [PART ...]

Frames of 64 bytes (with FCS) of 1,000 flows, NSH over Ethernet; no flow is heavy. More frames come
than can be taken, from the last CPU; who takes them has the first one. CPU time is that of the
process, in the kernel as well, and that of the kernel's own thread on that CPU; what others did
there is said with it. On a veth, the sender's CPU also carries frames to the process's socket: that
is no part of that time, and may be what limits the rate; then the process waits, which is said. A
rate computed from CPU time is 1 by it. Each in turn, several times.

`veth`: with af_packet and af_xdp, beside the forwarder's engine userspace and, where it is
installed, testpmd, which exchanges MAC addresses and does nothing else.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run, Skipped
from _shared import live_frames
from _shared.cpu_time import cpu_s
from _shared.veths import veths
from engines import COLUMNS, NEVER, compiled

from sfcperf.dataplane import binaries
from sfcperf.vnfs.heavy_hitter.compile import SPEC

HERE = Path(__file__).parent / "_heavy_hitter"
MEASURED_S = 2.0
MORE = 1.02
"""Times what is taken: that is more than enough."""
BUSY = 0.9
"""Share of a CPU's time."""
FLOWS = 1000
ROWS_OF_SKETCH = 4
GOALS_MPPS = {"native, af_packet": 0.35, "native, af_xdp": 0.5}
NEAR, FAR = "02:00:00:00:00:01", "02:00:00:00:00:02"
NSH = bytes.fromhex("0fc2020100002aff")
"""Without metadata (MD type 2): IPv4 fits in 64 bytes behind it."""
NOBODY = subprocess.DEVNULL
TESTPMD = "dpdk-testpmd"


@dataclass(frozen=True)
class Place:
    """Where something is measured."""

    folder: Path
    cpu: int
    others_cpu: int
    engines: Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Cost:
    """Of one measurement."""

    pps: float
    cpu_ns: float
    """Of a packet, on the CPU of who forwards."""
    kernel: float
    """Share of it in the kernel."""
    others: float
    """Share of the CPU's time that others took."""
    offered: bool
    """Whether it had always something to do: else its rate is that of who sends."""


@contextmanager
def place_of(run: Run) -> Iterator[Place]:
    """With a folder of its own. Raises Skipped."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skipped("it takes two CPUs: one sends, one forwards")
    tool = binaries.find("sfc-heavy-hitter")
    interpreted = ["--engine", "swx", "--spec", SPEC]
    engines: dict[str, list[object]] = {
        "native": [tool, "--engine", "native"],
        "swx, interpreted": [tool, *interpreted],
    }
    with tempfile.TemporaryDirectory() as name:
        if (source := run.parameters.dpdk_source) is not None:
            library = compiled(Path(name), source, ROWS_OF_SKETCH)
            loading = binaries.find("sfc-heavy-hitter-loading")
            engines["swx, compiled"] = [loading, *interpreted, "--library", library]
        yield Place(Path(name), cpus[0], cpus[-1], engines)


def heavy_hitter(place: Place, engine: str, io: str, where: object) -> list[object]:
    """The command."""
    options = ["--io", io, "--interface", where, "--cpus", place.cpu, "--threshold", NEVER]
    sketch = ["--rows", ROWS_OF_SKETCH, "--columns", COLUMNS]
    return [*place.engines[engine], *options, *sketch]


def testpmd(place: Place, cpu: int, mode: str, devices: Sequence[str]) -> list[object]:
    """The command. Its main thread only waits, where it is in nobody's way."""
    main_cpu = place.others_cpu if cpu == place.cpu else place.cpu
    found: list[object] = [TESTPMD, "--no-huge", "-m", 256, "--no-pci", "--no-shconf"]
    found += ["--no-telemetry", "--iova-mode=va", "--lcores", f"0@{main_cpu},1@{cpu}"]
    for device in devices:
        found += ["--vdev", device]
    found += ["--", f"--forward-mode={mode}", "--no-mlockall", "--total-num-mbufs=16384"]
    return [*found, "--stats-period=1"]


# --- behind a veth ---


def veth(run: Run) -> Iterator[Row]:
    """Behind a veth."""
    peers = {}
    with place_of(run) as place, veths(("near", "far"), macs={"near": NEAR, "far": FAR}) as space:
        tool = live_frames.compiled(HERE / "flood", place.folder)
        candidates: dict[str, list[object]] = {}
        for io in ("af_packet", "af_xdp"):
            for engine in place.engines:
                candidates[f"{engine}, {io}"] = heavy_hitter(place, engine, io, "far")
                peers[f"{engine}, {io}"] = ["forwarder", f"testpmd, {io}"]
        forwarder = [binaries.find("sfc-forwarder"), "--engine", "userspace"]
        candidates["forwarder"] = [*forwarder, "--interface", "far", "--cpus", place.cpu]
        if shutil.which(TESTPMD):
            packet = "net_af_packet0,iface=far,qpairs=1,framecnt=2048,qdisc_bypass=1"
            macswap = {"af_packet": packet, "af_xdp": "net_af_xdp0,iface=far"}
            for io, device in macswap.items():
                candidates[f"testpmd, {io}"] = testpmd(place, place.cpu, "macswap", [device])

        def measure(argv: list[object]) -> Cost:
            with running(["ip", "netns", "exec", space, *argv]) as process:
                return flooded(place, space, tool, process)

        yield from costs(run, candidates, measure, peers)


def flooded(place: Place, space: str, tool: list[str], process: subprocess.Popen[str]) -> Cost:
    """What comes back through the veth."""
    frame = bytes.fromhex((FAR + NEAR).replace(":", "") + "894f") + NSH + udp(1024)
    sender = ["taskset", "--cpu-list", place.others_cpu, "ip", "netns", "exec", space, *tool]
    words = [*sender, "near", "far", int(1000 * MEASURED_S), FLOWS, frame.hex()]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as flow:
        assert flow.stdout is not None
        flow.stdout.readline()
        before = Used.now(place.cpu, process.pid)
        line = flow.stdout.readline()
        after = Used.now(place.cpu, process.pid)
    if not line:
        raise SystemExit("the sender fails")
    _sent, received, seconds = map(float, line.split())
    return after.since(before, received / seconds, offered=True)


# --- what is measured ---


def udp(source_port: int) -> bytes:
    """An IPv4 packet that fills the frame."""
    data_bytes = 60 - 14 - len(NSH) - 28
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + data_bytes, 0, 0, 64, 17, 0)
    ip += bytes([10, 0, 0, 1, 10, 1, 0, 1])
    return ip + struct.pack(">HHHH", source_port, 80, 8 + data_bytes, 0) + bytes(data_bytes)


@dataclass(frozen=True)
class Used:
    """CPU time so far, s."""

    at: float
    process: float
    in_kernel: float
    """Of the process."""
    kernel_thread: float
    """ksoftirqd of the CPU: what the process's system calls left to it."""
    cpu: float
    """All that the CPU was not idle for."""

    @classmethod
    def now(cls, cpu: int, pid: int) -> Used:
        tick = os.sysconf("SC_CLK_TCK")
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        user, system = (int(field) / tick for field in fields[11:13])
        all_lines = Path("/proc/stat").read_text().splitlines()
        times = next(line.split()[1:9] for line in all_lines if line.startswith(f"cpu{cpu} "))
        idle = int(times[3]) + int(times[4])
        return cls(
            at=time.monotonic(),
            process=cpu_s(pid),
            in_kernel=system / (user + system) if user + system else 0.0,
            kernel_thread=cpu_s(_softirq_thread(cpu)),
            cpu=(sum(map(int, times)) - idle) / tick,
        )

    def since(self, before: Used, pps: float, *, offered: bool) -> Cost:
        """`pps`: packets per second that were forwarded meanwhile."""
        seconds = self.at - before.at
        process = self.process - before.process
        thread = self.kernel_thread - before.kernel_thread
        ours = process + thread
        return Cost(
            pps=pps,
            cpu_ns=1e9 * ours / (pps * seconds),
            kernel=(process * self.in_kernel + thread) / ours,
            others=max(0.0, (self.cpu - before.cpu - ours) / seconds),
            offered=offered and self.cpu - before.cpu > BUSY * seconds,
        )


@cache
def _softirq_thread(cpu: int) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if (folder / "comm").read_text().strip() == f"ksoftirqd/{cpu}":
                return int(folder.name)
    raise SystemExit(f"there is no ksoftirqd/{cpu}")


def costs(
    run: Run, candidates: Mapping[str, list[object]], measure: Callable[[list[object]], Cost],
    peers: Mapping[str, Sequence[str]],
) -> Iterator[Row]:  # fmt: skip
    """Rates of all of them, and their CPU time by that of their peers."""
    found = run.in_turn(candidates, measure)
    cpu_ns = {name: [cost.cpu_ns for cost in costs] for name, costs in found.items()}
    for name, costs in found.items():
        goal = GOALS_MPPS.get(name)
        yield Row(
            name, [cost.pps / 1e6 for cost in costs], "Mpps",
            budget=None if goal is None else Budget(low=goal),
            remarks=f"by CPU time {1000 / median(cpu_ns[name]):.2f} Mpps; others had "
            f"{median(cost.others for cost in costs):.0%} of the CPU"
            + ("" if all(cost.offered for cost in costs) else "; at times, it waited for packets"),
        )  # fmt: skip
        kernel = f"{median(cost.kernel for cost in costs):.0%} of it in the kernel"
        yield Row(f"{name}, CPU time per packet", cpu_ns[name], "ns", remarks=kernel)
        for peer in peers.get(name, ()):
            if peer in found:
                case = f"{name}, CPU time per packet"
                yield Row(case, cpu_ns[name], "ns", peer, cpu_ns[peer])


@contextmanager
def running(words: Sequence[object]) -> Iterator[subprocess.Popen[str]]:
    """A tool, from when it says that it forwards."""
    argv = [str(word) for word in words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=NOBODY, text=True) as process:
        try:
            assert process.stdout is not None
            signs = ("ready", "Port statistics")
            if not any(sign in line for line in process.stdout for sign in signs):
                raise SystemExit(f"it does not start: {' '.join(argv)}")
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


if __name__ == "__main__":
    about = "see engines.py"
    Benchmark(__doc__, {veth: 6}, {"dpdk_source": Parameter(None, about, Path)}).main()
