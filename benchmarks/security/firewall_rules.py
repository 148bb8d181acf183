"""What rules by REST cost: packets with none and with 100,000 of them, and changes.

    sudo .venv/bin/python benchmarks/security/firewall_rules.py [PART ...]

Cases are measured in turn, and ratios are between figures of one run. No rule matches a packet of
the load, which has 10,000 flows; "N rules" are N by flow and N by source. The kernel measures the
time of XDP programs (BPF_ENABLE_STATS).
"""

from __future__ import annotations

import itertools
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
import psutil

from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Deployment, ServiceFunction

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.bpf import statistics
from _shared.bpf_time import totals
from _shared.chain import one_function
from _shared.offering import offering

COUNTS = (0, 1_000, 100_000)
AT_ONCE = 10_000
"""Rules in one request."""
FLOWS = 10_000
RATE_PPS = 150_000
MOST_PPS = 10_000_000
OFFERED_S = 0.5
PUTS = 300
CLIENTS = 16
PORT = 9
SEND_EVERY_S = 0.0002
REST: Mapping[str, Any] = {"max_changes_per_s": 10_000_000, "max_rules": 200_000}
TYPES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nsh_firewall": ("forwarder", REST),
    "firewall": ("router", {"rules_by": "rest", "rules": 0, **REST}),
}
"""VNF type -> the type that forwards in the same way and does nothing else, and knobs."""
PROGRAMS = {"forwarder": "forward", "nsh_firewall": "firewall"}


# --- packets ---


def packets(run: Run) -> Iterator[Row]:
    """Throughput of both engines, and time per packet of the one in XDP."""
    sides: dict[tuple[str, int], tuple[str, Mapping[str, Any], int]] = {}
    for type_, (plain, knobs) in TYPES.items():
        sides[plain, 0] = (plain, {}, 0)
        sides |= {(type_, count): (type_, knobs, count) for count in COUNTS}
    found = run.in_turn(sides, lambda side: loaded(*side))
    kpps = {side: [rate for _, rate in of] for side, of in found.items()}
    for type_, (plain, _) in TYPES.items():
        for count in COUNTS:
            name = f"{type_}, {count:,} rules"
            yield Row(name, kpps[type_, count], "kpps", plain, kpps[plain, 0])
        name = f"{type_}, {COUNTS[-1]:,} rules"
        yield Row(name, kpps[type_, COUNTS[-1]], "kpps", "no rules", kpps[type_, 0])
    base = [cost for cost, _ in found["forwarder", 0]]
    for count in COUNTS:
        costs = [cost for cost, _ in found["nsh_firewall", count]]
        yield Row(f"nsh_firewall, {count:,} rules, time per packet", costs, "ns", "forwarder", base)


def loaded(type_: str, knobs: Mapping[str, Any], rules: int) -> tuple[float, float]:
    """Nanoseconds per packet of the function's program (0 without one), and thousands of packets
    per second that the chain carries at most."""
    program, cost_ns = PROGRAMS.get(type_), 0.0
    with chain(type_, knobs) as deployment:
        if rules:
            fill(deployment.functions[0], rules)
        with statistics(), offering(deployment, PORT, flows=FLOWS) as offer:
            if program is not None:
                before = totals(program)
                offer(RATE_PPS, OFFERED_S)
                after = totals(program)
                spent = [after[i].since(before[i]) for i in before.keys() & after.keys()]
                # Others may run such a program too: ours is the one with this load.
                cost_ns = max(spent, key=lambda each: each.runs).ns
            return cost_ns, offer(MOST_PPS, OFFERED_S).received / OFFERED_S / 1e3


# --- changes ---


def changes(_: Run) -> Iterator[Row]:
    """How fast rules are set."""
    for type_, (_plain, knobs) in TYPES.items():
        with chain(type_, knobs) as deployment, client(deployment.functions[0]) as rest:

            def per_second(count: int, change: Callable[[], object]) -> float:
                began = time.perf_counter()
                change()
                return count / (time.perf_counter() - began)

            def put_all(count: int, clients: int, rest: httpx.Client = rest) -> None:
                with ThreadPoolExecutor(clients) as pool:
                    list(pool.map(lambda a: put(rest, a), itertools.islice(addresses(), count)))

            one_by_one = per_second(PUTS, lambda: put_all(PUTS, 1))
            at_once = per_second(4 * PUTS, lambda: put_all(4 * PUTS, CLIENTS))
            function = deployment.functions[0]
            batches = per_second(2 * COUNTS[-1], lambda f=function: fill(f, COUNTS[-1]))
            found = [1000 * timed(rest, address) for address in itertools.islice(addresses(), PUTS)]
        unit = "rules/s"
        yield Row(f"{type_}, rules set one by one", one_by_one, unit)
        yield Row(f"{type_}, rules set by {CLIENTS} clients at once", at_once, unit)
        yield Row(f"{type_}, rules set in requests of {AT_ONCE:,}", batches, unit)
        yield Row(f"{type_}, to set one with {COUNTS[-1]:,} others", found, "ms")


def blocked(run: Run) -> Iterator[Row]:
    """From the request to the last packet that passes."""
    for type_, (_, knobs) in TYPES.items():
        for count in (0, COUNTS[-1]):
            with chain(type_, knobs) as deployment:
                if count:
                    fill(deployment.functions[0], count)
                last, answered, late = cut(deployment, run.repetitions)
            case = f"{type_}, {count:,} rules, from the request to"
            yield Row(f"{case} the last packet", last, "ms", remarks=_percentile(last))
            yield Row(f"{case} the answer", answered, "ms", remarks=_percentile(answered))
            name = f"{type_}, {count:,} rules, packets after the answer"
            yield Row(name, late, f"of {run.repetitions}", budget=Budget(high=0))


def _percentile(times_ms: list[float]) -> str:
    return f"p95 {quantiles(times_ms, n=100)[94]:.1f} ms" if len(times_ms) > 1 else ""


def cut(deployment: Deployment, times: int) -> tuple[list[float], list[float], int]:
    """Block and unblock a stream of datagrams, each with the time when it was sent. Gives the times
    (ms) from the request to the last one that passes, those to the answer, and how often one that
    was sent after the answer passed."""
    last, answered, late = [], [], 0
    with ExitStack() as stack:
        rest = stack.enter_context(client(deployment.functions[0]))
        sender, receiver = (
            stack.enter_context(endpoint_socket(end.host))
            for end in (deployment.client, deployment.server)
        )
        receiver.bind((deployment.server.address, PORT))
        sender.connect((deployment.server.address, PORT))
        stack.enter_context(sending(sender))
        protocol, one, other = "udp", sender.getsockname(), sender.getpeername()
        path = f"/rules/flows/{protocol}/{one[0]}/{one[1]}/{other[0]}/{other[1]}"
        for _ in range(times):
            time.sleep(0.05)
            drained(receiver)
            asked_s = time.monotonic()
            rest.put(path, json={"ttl_s": 60}).raise_for_status()
            done_s = time.monotonic()
            time.sleep(0.05)
            sent_s = max(drained(receiver), default=asked_s)
            last.append(1000 * max(sent_s - asked_s, 0.0))
            answered.append(1000 * (done_s - asked_s))
            late += sent_s > done_s
            rest.delete(path).raise_for_status()
    return last, answered, late


@contextmanager
def sending(sender: socket.socket) -> Iterator[None]:
    """A stream of datagrams, meanwhile."""
    ended = threading.Event()

    def send() -> None:
        while not ended.wait(SEND_EVERY_S):
            sender.send(str(time.monotonic()).encode())

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def drained(receiver: socket.socket) -> list[float]:
    """When the datagrams that have come were sent."""
    found = []
    while select.select([receiver], [], [], 0)[0]:
        found.append(float(receiver.recv(100)))
    return found


@contextmanager
def endpoint_socket(host: Any) -> Iterator[socket.socket]:
    """For datagrams, at an endpoint."""
    with inside(host.namespace):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with made:
        yield made


def restarted(run: Run) -> Iterator[Row]:
    """From the death of the interface's process to its next answer."""
    for type_, (_, knobs) in TYPES.items():
        with chain(type_, knobs) as deployment, client(deployment.functions[0]) as rest:
            fill(deployment.functions[0], COUNTS[-1])
            found = []
            for _round in range(run.repetitions):
                (server,) = servers()
                server.kill()
                began = time.monotonic()
                while not answers(rest):
                    time.sleep(0.01)
                found.append(time.monotonic() - began)
            status = rest.get("/status").json()
        rules = f"{status['flow_rules'] + status['source_rules']:,} rules"
        yield Row(f"{type_}, {rules}, to answer once killed", found, "s", budget=Budget(high=10))


def servers() -> list[psutil.Process]:
    """Processes of rule interfaces of this process."""
    children = psutil.Process().children()
    return [child for child in children if "sfcperf.vnfs.rule_interface.server" in child.cmdline()]


def answers(rest: httpx.Client) -> bool:
    """Whether it does; a connection that it had may break."""
    try:
        return rest.get("/status").is_success
    except httpx.TransportError:
        return False


# --- rules ---


def addresses() -> Iterator[str]:
    """Of nobody in the chain."""
    return (str(IPv4Address(0xAC100000 + number)) for number in itertools.count())


def put(rest: httpx.Client, address: str) -> None:
    """Set a rule."""
    rest.put(f"/rules/sources/{address}", json={"ttl_s": 600}).raise_for_status()


def timed(rest: httpx.Client, address: str) -> float:
    """How long it takes, seconds."""
    began = time.perf_counter()
    put(rest, address)
    return time.perf_counter() - began


def fill(function: ServiceFunction, count: int) -> None:
    """So many rules by flow, and so many by source."""
    with client(function) as rest:
        for start in range(0, count, AT_ONCE):
            some = list(itertools.islice(addresses(), start, min(start + AT_ONCE, count)))
            flow = {"protocol": 6, "src_port": 1000, "dst": "10.0.0.2", "dst_port": 80}
            for rules in (
                [{"source": address, "ttl_s": 3600} for address in some],
                [{"flow": {**flow, "src": address}, "ttl_s": 3600} for address in some],
            ):
                answer = rest.put("/rules", json={"rules": rules}).raise_for_status().json()
                if answer["refused"]:
                    raise SystemExit(f"rules were refused: {answer['refused'][:3]}")


@contextmanager
def client(function: ServiceFunction) -> Iterator[httpx.Client]:
    """Of its rule interface."""
    interface = function.rule_interface
    if interface is None:
        raise SystemExit(f"{function.name} has no rule interface")
    headers = {"Authorization": f"Bearer {interface.token}"}
    with httpx.Client(base_url=interface.url, headers=headers, timeout=60) as made:
        yield made


def chain(type_: str, knobs: Mapping[str, Any]) -> AbstractContextManager[Deployment]:
    """A chain of one function."""
    return one_function({"type": type_, "knobs": dict(knobs)})


if __name__ == "__main__":
    Benchmark(__doc__, {packets: 6, changes: 1, blocked: 50, restarted: 6}).main()
