"""The data planes `ebpf` and `ovs` beside each other, and beside the least that the kernel needs.

    sudo .venv/bin/python benchmarks/data_plane/ebpf_and_ovs.py [--paper-forwarder FILE] [PART ...]

All ratios are between figures of one run. FILE is OpenDaylight's vxlan_tool.py
(sfc-test/nsh-tools), the forwarder of the paper; without it that row is left out. Packets have 64
bytes (with FCS) where they are sent; rates are those at which at most 0.5 % of the packets are
lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from sfcperf.active.load import Load
from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import SffProcess
from sfcperf.drivers.local.cpus import machine_cpus
from sfcperf.management.deployment import Deployment

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Parameter, Row, Run
from _shared.chain import TAG, deployed, output, workflow
from _shared.cpu_time import cpu_s
from _shared.live_frames import compiled
from _shared.offering import offering
from _shared.veths import veths

HERE = Path(__file__).parent / "_bounce"
PLANES = ("ebpf", "ovs")
LOSS = 0.005
LOAD_S = 0.4
STEPS = 7
"""Of the search for a rate: to within 2 ** -STEPS of an order of magnitude, in logarithms."""
PINGS = 400
HOP_FRAMES = 2_000_000
RULES = (1, 1_000, 100_000)
FLOWS = 60_000
PORT = 9


# --- rates through chains ---


def rates(run: Run) -> Iterator[Row]:
    """One hop of the forwarder."""
    loads = run.in_turn(PLANES, lambda plane: chain_load(plane, 1))
    kpps = {plane: [load.sent_pps / 1e3 for load in found] for plane, found in loads.items()}
    at_these = ", ".join(f"{plane} {latency(found[-1])}" for plane, found in loads.items())
    yield Row(
        "chain of 1 forwarder, ebpf", kpps["ebpf"], "kpps", "ovs", kpps["ovs"],
        Budget(low=10, of="ratio"), f"latency p50/p99 at these rates: {at_these}",
    )  # fmt: skip
    if (file := run.parameters.paper_forwarder) is None:
        return
    with chain("ebpf", 1, "nsh-vxlan-gpe", {"engine": "userspace"}) as deployment:
        function = deployment.functions[0]
        for pid in deployment.meters[function.name].pids():
            os.kill(pid, signal.SIGKILL)
        # It reads /sys, which `ip netns exec` mounts anew.
        argv = ["ip", "netns", "exec", f"sfcperf-{TAG}-{function.name}", sys.executable]
        process = subprocess.Popen([*argv, str(file), "-i", "eth0", "-d", "forward"])
        time.sleep(1)
        paper_kpps = best_load(deployment).sent_pps / 1e3
        process.terminate()
        process.wait()
    ours_kpps = chain_load("ebpf", 1, "nsh-vxlan-gpe").sent_pps / 1e3
    yield Row(
        "the same with VXLAN-GPE, engine xdp", ours_kpps, "kpps", "the paper's forwarder",
        paper_kpps, Budget(low=50, of="ratio"),
    )  # fmt: skip


def hops(run: Run) -> Iterator[Row]:
    """Whether each further forwarder costs the same."""
    loads = run.in_turn((1, 4, 8), partial(chain_load, "ebpf"))
    ns = {length: [1e9 / load.sent_pps for load in found] for length, found in loads.items()}
    for length, found in ns.items():
        yield Row(f"chain of {length} forwarders", [1e6 / each for each in found], "kpps")
    one, four, eight = map(median, ns.values())
    yield Row(
        "a hop, from 4 to 8", (eight - four) / 4, "ns", "a hop, from 1 to 4", (four - one) / 3,
        Budget(0.85, 1.15, "ratio"),
    )  # fmt: skip


def chain_load(plane: str, length: int, encapsulation: str = "nsh-eth") -> Load:
    """The best load of a chain of forwarders."""
    with chain(plane, length, encapsulation) as deployment:
        return best_load(deployment)


def latency(load: Load) -> str:
    """`12/40 us`."""
    found = load.latency
    return "?" if found is None else f"{found.p50_us:.0f}/{found.p99_us:.0f} us"


def best_load(deployment: Deployment) -> Load:
    """The load of the highest rate with little loss, by bisection of its logarithm."""
    with offering(deployment, flows=100) as offer:
        low, high, best = 3.0, 6.7, None
        for _ in range(STEPS):
            middle = (low + high) / 2
            load = offer(10**middle, LOAD_S)
            if load.loss_ratio <= LOSS:
                best = load if best is None or load.sent_pps > best.sent_pps else best
                # On a veth the chain's work is the sender's: it is slower than asked for.
                low = middle
            else:
                high = middle
    if best is None:
        raise SystemExit("more than 0.5 % lost at 1,000 packets per second")
    return best


# --- one hop against a bare bounce ---


def bounce(run: Run) -> Iterator[Row]:
    """One lookup and one forwarder, against the least that XDP can do on the same veths."""
    with tempfile.TemporaryDirectory() as folder, hop_space() as space:
        tool = compiled(HERE / "bounce", Path(folder))

        def one_hop() -> float:
            with hop(space, Path(folder)):
                return bounced(space, tool, "sink1") / 1e6

        found = run.in_turn(
            {
                "bare": lambda: bounced(space, tool, "near", "far") / 1e6,
                "path": lambda: bounced(space, tool, "sink1", "far", "sink0") / 1e6,
                "hop": one_hop,
            }
        )
    name = "one hop (SFF, veth, forwarder, veth, SFF, veth)"
    yield Row(name, found["hop"], "Mpps", "XDP_TX on the first two veths", found["bare"])
    peer = "XDP_TX and XDP_REDIRECT on all three"
    yield Row(name, found["hop"], "Mpps", peer, found["path"], Budget(low=0.6, of="ratio"))


def forwarder(run: Run) -> Iterator[Row]:
    """What the forwarder's engine xdp adds to XDP_TX."""
    with tempfile.TemporaryDirectory() as folder, hop_space() as space:
        tool = compiled(HERE / "bounce", Path(folder))

        def forwarded() -> float:
            argv = [str(binaries.find("sfc-forwarder")), "--interface", "far"]
            with running(space, argv):
                return 1e9 / bounced(space, tool, "near")

        bare = partial(bounced, space, tool, "near", "far")
        found = run.in_turn({"bare": lambda: 1e9 / bare(), "forwarder": forwarded})
    name = "forwarder (engine xdp) alone, there and back"
    yield Row(name, found["forwarder"], "ns", "XDP_TX at the same veth", found["bare"])


def threads(run: Run) -> Iterator[Row]:
    """Whether the forwarder's engine userspace costs the same on each further CPU. Its rate shows
    that only where generator and endpoints have other CPUs."""
    counts = range(1, len(machine_cpus()) + 1)

    def cost(count: int) -> tuple[float, float, float]:
        with chain("ebpf", 1, knobs={"engine": "userspace"}, vcpus=count) as deployment:
            return thread_cost(deployment)

    found = run.in_turn(counts, cost)
    ns = {count: [cost for cost, _, _ in seen] for count, seen in found.items()}
    for count, seen in found.items():
        even = median(share for _, share, _ in seen)
        yield Row(
            f"forwarder (engine userspace) on {count} CPUs, CPU time", ns[count], "ns",
            "on one", ns[1],
            remarks=f"the busiest thread had {even:.0%} of the packets: room for "
            f"{median(ns[1]) / median(ns[count]) / even:.2f} times the rate of one thread "
            f"(overload: {median(lost for _, _, lost in seen):.0%} dropped; without, batches are "
            "small and cost more)",
        )  # fmt: skip


def thread_cost(deployment: Deployment) -> tuple[float, float, float]:
    """CPU time per packet, ns, the busiest thread's share of packets, and the share that was
    dropped because the threads were too slow."""
    (function,) = deployment.functions
    pids = deployment.meters[function.name].pids()
    with offering(deployment, flows=1000) as offer:
        before, began = function.counters(), cpu_s(*pids)
        offer(1_000_000, 1.0)
        after, ended = function.counters(), cpu_s(*pids)
    workers = [after[name] - before[name] for name in after if name.startswith("forwarded_worker")]
    forwarded = sum(workers)
    dropped = after["dropped_ring_full"] - before["dropped_ring_full"]
    return (
        (ended - began) * 1e9 / forwarded,
        max(workers) / forwarded,
        dropped / (forwarded + dropped),
    )


MACS = {"near": "02:00:00:00:00:01", "far": "02:00:00:00:00:02", "sink0": "02:00:00:00:00:03"}
NSH = "0fc60103" + "00002aff" + 16 * "00"
INNER = "020000000009" + "02000000000a" + "88b5" + 46 * "00"


def hop_space() -> AbstractContextManager[str]:
    """A namespace with two pairs of veths."""
    return veths(("near", "far"), ("sink0", "sink1"), macs=MACS)


@contextmanager
def hop(space: str, folder: Path) -> Iterator[None]:
    """sfc-sff and sfc-forwarder in it."""
    tables = folder / "hop.tables"
    tables.write_text(
        f"node {MACS['near']}\n"
        "port 1 interface near kind nsh mtu 1500 xdp yes\n"
        "port 2 interface sink0 kind endpoint mtu 1500 xdp yes\n"
        "path 42 254 from 1 to end port 2\n"
    )
    sff = [str(binaries.find("sfc-sff")), "--tables", str(tables)]
    function = [str(binaries.find("sfc-forwarder")), "--interface", "far"]
    with running(space, sff, function):
        yield


@contextmanager
def running(space: str, *commands: list[str]) -> Iterator[None]:
    """Tools that say when they are ready, in the namespace."""
    inside = ["ip", "netns", "exec", space]
    processes = [subprocess.Popen([*inside, *argv], stdout=subprocess.PIPE) for argv in commands]
    try:
        for process in processes:
            assert process.stdout is not None
            if b"ready" not in process.stdout.readline():
                raise SystemExit("a tool does not start")
        yield
    finally:
        for process in processes:
            process.terminate()
            process.communicate()


def bounced(space: str, tool: Sequence[str], *ends: str) -> float:
    """Frames per second."""
    ethernet = (MACS["far"] + MACS["near"]).replace(":", "") + "894f"
    argv = ["ip", "netns", "exec", space, *tool, "near", str(HOP_FRAMES), ethernet + NSH + INNER]
    return float(output([*argv, *ends]))


# --- the rest ---


def round_trips(run: Run) -> Iterator[Row]:
    """What a forwarder adds to an idle round trip."""

    def measured(case: tuple[str, int]) -> float:
        with chain(*case) as deployment:
            return round_trip_us(deployment)

    found = run.in_turn(product(PLANES, (0, 8)), measured)
    ebpf, ovs = ((median(found[plane, 8]) - median(found[plane, 0])) / 8 for plane in PLANES)
    budget = Budget(high=0.33, of="ratio")
    yield Row("round trip, idle: a hop adds with ebpf", ebpf, "us", "with ovs", ovs, budget)


def round_trip_us(deployment: Deployment) -> float:
    """Median of some pings."""
    argv = ["ping", "-n", "-c", str(PINGS), "-i", "0.005", deployment.server.address]
    text = deployment.client.host.run(argv, timeout_s=60).text
    times = [part.split()[0] for part in text.split("time=")[1:]]
    return 1000 * median(float(one) for one in times)


def classifier(run: Run) -> Iterator[Row]:
    """Time of the SFF's program per packet, lookup and encapsulation included, with more and more
    rules of exact 5-tuples.

    Every packet matches: each rule takes one flow, as far as there are so many.
    """

    def measured(rules: int) -> float:
        with chain("ebpf", 1) as deployment:
            return classified(deployment, rules)

    ns = run.in_turn(RULES, measured)
    for rules, found in ns.items():
        budget = Budget(high=2, of="ratio") if rules == RULES[-1] else None
        yield Row(f"classifier, {rules:,} rules", found, "ns", "1 rule", ns[1], budget)


def classified(deployment: Deployment, rules: int) -> float:
    """Nanoseconds per packet that enters the path."""
    (sff,) = deployment.sffs.values()
    process = sff._running  # type: ignore[attr-defined]
    told = sff._tables(shown=False)  # type: ignore[attr-defined]
    with offering(deployment, PORT, flows=min(rules, FLOWS)) as offer:
        known = [line for line in told.splitlines() if not line.startswith("rule 1 ")]
        client, server = deployment.client.address, deployment.server.address
        known += [
            f"rule 1 path 1 255 version 4 protocol udp source {client} destination "
            f"{server} source-port {1024 + n % FLOWS} "
            f"destination-port {PORT + n // FLOWS}"
            for n in range(rules)
        ]
        process.stop()
        sff._process = SffProcess.launch(  # type: ignore[attr-defined]
            "sff@node1", process._host, "\n".join(known) + "\n"
        )
        before = sff.read().lookups[0]
        offer(300_000, 1.0)
        after = sff.read().lookups[0]
    return (after.time_ns - before.time_ns) / (after.timed - before.timed)


# --- chains ---


@contextmanager
def chain(
    plane: str,
    length: int,
    encapsulation: str = "nsh-eth",
    knobs: Mapping[str, Any] = MappingProxyType({}),
    vcpus: int = 1,
) -> Iterator[Deployment]:
    """A deployed chain of forwarders."""
    document = workflow(
        vnfs={"fwd": {"type": "forwarder", "knobs": dict(knobs), "resources": {"vcpus": vcpus}}},
        chain={"functions": [{"vnf": "fwd", "count": length}], "encapsulation": encapsulation},
    )
    with deployed(document, plane) as deployment:
        yield deployment


if __name__ == "__main__":
    Benchmark(
        __doc__,
        {rates: 3, hops: 3, bounce: 5, forwarder: 3, threads: 3, round_trips: 3, classifier: 3},
        {"paper_forwarder": Parameter(None, "vxlan_tool.py of OpenDaylight", Path)},
    ).main()
