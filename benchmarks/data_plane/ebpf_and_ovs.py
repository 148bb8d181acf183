"""The data planes `ebpf` and `ovs` beside each other, and beside the least that the kernel needs.

    sudo .venv/bin/python benchmarks/data_plane/ebpf_and_ovs.py [--paper-forwarder FILE] [ROW ...]

All ratios are between figures of one run. FILE is OpenDaylight's vxlan_tool.py
(sfc-test/nsh-tools), the forwarder of the paper; without it that row is left out. Packets have 64
bytes (with FCS) where they are sent; rates are those at which at most 0.5 % of the packets are
lost.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

from _shared.chain import TAG, deployed, output, workflow
from _shared.live_frames import compiled
from _shared.offering import offering

HERE = Path(__file__).parent / "_bounce"
LOSS = 0.005
LOAD_S = 0.4
STEPS = 7
"""Of the search for a rate: to within 2 ** -STEPS of an order of magnitude, in logarithms."""
ROUNDS = 3
PINGS = 400
HOP_FRAMES = 2_000_000
HOP_ROUNDS = 5
RULES = (1, 1_000, 100_000)
FLOWS = 60_000
PORT = 9


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--paper-forwarder", type=Path, metavar="FILE")
    given = parser.parse_args()
    for row in given.rows or ROWS:
        ROWS[row](given.paper_forwarder)
        sys.stdout.flush()


# --- rates through chains ---


def chain_rates(paper_forwarder: Path | None) -> None:
    """One hop of the forwarder, and how hops add up."""
    rates: dict[str, list[float]] = {"ovs": [], "ebpf": []}
    loads: dict[str, Load] = {}
    for _ in range(ROUNDS):
        for plane, found in rates.items():
            with chain(plane, 1) as deployment:
                loads[plane] = best_load(deployment)
                found.append(loads[plane].sent_pps)
    middle = {plane: median(found) for plane, found in rates.items()}
    print(
        f"chain of 1 forwarder: ebpf {middle['ebpf'] / 1e3:.0f} kpps, ovs "
        f"{middle['ovs'] / 1e3:.1f} kpps: {middle['ebpf'] / middle['ovs']:.0f} times (goal: 10); "
        f"latency p50/p99 at these rates: ebpf {latency(loads['ebpf'])}, ovs "
        f"{latency(loads['ovs'])}"
    )
    if paper_forwarder is None:
        print("the paper's forwarder: left out (--paper-forwarder)")
        return
    with chain("ebpf", 1, "nsh-vxlan-gpe", {"engine": "userspace"}) as deployment:
        function = deployment.functions[0]
        for pid in deployment.meters[function.name].pids():
            os.kill(pid, 9)
        # It reads /sys, which `ip netns exec` mounts anew.
        argv = ["ip", "netns", "exec", f"sfcperf-{TAG}-{function.name}", sys.executable]
        argv += [str(paper_forwarder), "-i", "eth0", "-d", "forward"]
        process = subprocess.Popen(argv)
        time.sleep(1)
        rate = best_load(deployment).sent_pps
        process.terminate()
        process.wait()
    with chain("ebpf", 1, "nsh-vxlan-gpe") as deployment:
        ours = best_load(deployment).sent_pps
    print(
        f"the same with VXLAN-GPE: ebpf and engine xdp {ours / 1e3:.0f} kpps, with the paper's "
        f"forwarder {rate / 1e3:.1f} kpps: {ours / rate:.0f} times (goal: 50)"
    )


def hops(_: Path | None) -> None:
    """Whether each further forwarder costs the same."""
    lengths = (1, 4, 8)
    costs: dict[int, list[float]] = {length: [] for length in lengths}
    for _round in range(ROUNDS):
        for length in lengths:
            with chain("ebpf", length) as deployment:
                costs[length].append(1e9 / best_load(deployment).sent_pps)
    ns = {length: median(found) for length, found in costs.items()}
    first, second = (ns[4] - ns[1]) / 3, (ns[8] - ns[4]) / 4
    listed = ", ".join(f"{length}: {1e6 / found:.0f} kpps" for length, found in ns.items())
    print(
        f"chains of forwarders ({listed}): a hop costs {first:.0f} ns from 1 to 4, {second:.0f} "
        f"ns from 4 to 8: ratio {second / first:.2f} (goal: 0.85 to 1.15)"
    )


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


def bounce(_: Path | None) -> None:
    """One lookup and one forwarder, against the least that XDP can do on the same veths."""
    floors = {"bare": ["near", "far"], "path": ["sink1", "far", "sink0"]}
    with tempfile.TemporaryDirectory() as folder, hop_space() as space:
        tool = compiled(HERE / "bounce", Path(folder))
        found: dict[str, list[float]] = {"bare": [], "path": [], "hop": []}
        for _round in range(HOP_ROUNDS):
            for name, ends in floors.items():
                found[name].append(bounced(space, tool, ends))
            with hop(space, Path(folder)):
                found["hop"].append(bounced(space, tool, ["sink1"]))
    rates = {name: median(values) / 1e6 for name, values in found.items()}
    print(
        f"one hop (SFF, veth, forwarder, veth, SFF, veth): {rates['hop']:.2f} Mpps; bare XDP_TX on "
        f"the first two of the veths: {rates['bare']:.2f} Mpps: {rates['hop'] / rates['bare']:.0%} "
        f"of it; bare XDP_TX and XDP_REDIRECT on all three: {rates['path']:.2f} Mpps: "
        f"{rates['hop'] / rates['path']:.0%} of it (goal: 60 %)"
    )


def forwarder(_: Path | None) -> None:
    """What the forwarder's engine xdp adds to XDP_TX."""
    with tempfile.TemporaryDirectory() as folder, hop_space() as space:
        tool = compiled(HERE / "bounce", Path(folder))
        argv = [str(binaries.find("sfc-forwarder")), "--interface", "far"]
        found: dict[str, list[float]] = {"bare": [], "forwarder": []}
        for _round in range(ROUNDS):
            found["bare"].append(1e9 / bounced(space, tool, ["near", "far"]))
            with running(space, argv):
                found["forwarder"].append(1e9 / bounced(space, tool, ["near"]))
    ns = {name: median(values) for name, values in found.items()}
    print(
        f"forwarder (engine xdp) alone: {ns['forwarder']:.0f} ns per frame, there and back; XDP_TX "
        f"at the same veth: {ns['bare']:.0f} ns: {ns['bare'] / ns['forwarder']:.0%} of its rate"
    )


def threads(_: Path | None) -> None:
    """Whether the forwarder's engine userspace costs the same on each further CPU. Its rate shows
    that only where generator and endpoints have other CPUs."""
    counts = range(1, len(machine_cpus()) + 1)
    found: dict[int, list[tuple[float, float, float]]] = {count: [] for count in counts}
    for _round in range(ROUNDS):
        for count, seen in found.items():
            knobs = {"engine": "userspace"}
            with chain("ebpf", 1, knobs=knobs, vcpus=count) as deployment:
                seen.append(thread_cost(deployment))
    ns = {count: median(cost for cost, _, _ in seen) for count, seen in found.items()}
    even = {count: median(share for _, share, _ in seen) for count, seen in found.items()}
    full = {count: median(lost for _, _, lost in seen) for count, seen in found.items()}
    for count in counts:
        print(
            f"forwarder (engine userspace) on {count} CPUs: {ns[count]:.0f} ns of CPU time per "
            f"packet, the busiest thread had {even[count]:.0%} of them: room for "
            f"{ns[1] / ns[count] / even[count]:.2f} times the rate of one thread (overload: "
            f"{full[count]:.0%} dropped; without, batches are small and cost more)"
        )


def thread_cost(deployment: Deployment) -> tuple[float, float, float]:
    """CPU time per packet, ns, the busiest thread's share of packets, and the share that was
    dropped because the threads were too slow."""
    (function,) = deployment.functions
    pids = deployment.meters[function.name].pids()
    with offering(deployment, flows=1000) as offer:
        before, began = function.counters(), cpu_ns(pids)
        offer(1_000_000, 1.0)
        after, ended = function.counters(), cpu_ns(pids)
    workers = [after[name] - before[name] for name in after if name.startswith("forwarded_worker")]
    forwarded = sum(workers)
    dropped = after["dropped_ring_full"] - before["dropped_ring_full"]
    return (ended - began) / forwarded, max(workers) / forwarded, dropped / (forwarded + dropped)


def cpu_ns(pids: Sequence[int]) -> int:
    """CPU time of all threads of these processes."""
    files = [file for pid in pids for file in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(file.read_text().split()[0]) for file in files)


MACS = {"near": "02:00:00:00:00:01", "far": "02:00:00:00:00:02", "sink0": "02:00:00:00:00:03"}
NSH = "0fc60103" + "00002aff" + 16 * "00"
INNER = "020000000009" + "02000000000a" + "88b5" + 46 * "00"


@contextmanager
def hop_space() -> Iterator[str]:
    """A namespace with two pairs of veths."""
    space = f"bench-hop-{os.getpid()}"
    output(["ip", "netns", "add", space])
    try:
        for one, other in (("near", "far"), ("sink0", "sink1")):
            output(["ip", "-n", space, "link", "add", one, "type", "veth", "peer", "name", other])
            for end in (one, other):
                mac = ["address", MACS[end]] if end in MACS else []
                output(["ip", "-n", space, "link", "set", end, *mac, "up"])
        yield space
    finally:
        output(["ip", "netns", "delete", space])


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


def bounced(space: str, tool: list[str], ends: list[str]) -> float:
    """Frames per second."""
    ethernet = (MACS["far"] + MACS["near"]).replace(":", "") + "894f"
    argv = ["ip", "netns", "exec", space, *tool, "near", str(HOP_FRAMES), ethernet + NSH + INNER]
    return float(output([*argv, *ends]))


# --- the rest ---


def round_trips(_: Path | None) -> None:
    """What a forwarder adds to an idle round trip."""
    lengths = (0, 8)
    found: dict[tuple[str, int], list[float]] = {}
    for _round in range(ROUNDS):
        for plane in ("ebpf", "ovs"):
            for length in lengths:
                with chain(plane, length) as deployment:
                    found.setdefault((plane, length), []).append(round_trip_us(deployment))
    added = {
        plane: (median(found[plane, 8]) - median(found[plane, 0])) / 8 for plane in ("ebpf", "ovs")
    }
    print(
        f"round trip, idle: a hop adds {added['ebpf']:.1f} us with ebpf, {added['ovs']:.1f} us "
        f"with ovs: ratio {added['ebpf'] / added['ovs']:.2f} (goal: at most 0.33)"
    )


def round_trip_us(deployment: Deployment) -> float:
    """Median of some pings."""
    argv = ["ping", "-n", "-c", str(PINGS), "-i", "0.005", deployment.server.address]
    text = deployment.client.host.run(argv, timeout_s=60).text
    times = [part.split()[0] for part in text.split("time=")[1:]]
    return 1000 * median(float(one) for one in times)


def classifier(_: Path | None) -> None:
    """Time of the SFF's program per packet, with more and more rules of exact 5-tuples.

    Every packet matches: each rule takes one flow, as far as there are so many.
    """
    times: dict[int, list[float]] = {rules: [] for rules in RULES}
    for _round in range(ROUNDS):
        for rules in RULES:
            with chain("ebpf", 1) as deployment:
                times[rules].append(classified(deployment, rules))
    ns = {rules: median(found) for rules, found in times.items()}
    listed = ", ".join(f"{rules:,} rules {found:.0f} ns" for rules, found in ns.items())
    print(
        f"classifier, up to {FLOWS:,} flows ({listed} per packet, its lookup and encapsulation "
        f"included): {ns[RULES[-1]] / ns[1]:.2f} times at {RULES[-1]:,} (goal: at most 2)"
    )


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


ROWS: dict[str, Callable[[Path | None], None]] = {
    "rates": chain_rates,
    "hops": hops,
    "bounce": bounce,
    "forwarder": forwarder,
    "threads": threads,
    "round-trips": round_trips,
    "classifier": classifier,
}

if __name__ == "__main__":
    main()
