"""What rules by REST cost: packets with none and with 100,000 of them, and changes.

    sudo .venv/bin/python benchmarks/security/firewall_rules.py [ROW ...]

Cases are measured in turn, and ratios are between figures of one run. No rule matches a packet of
the load, which has 10,000 flows; "N rules" are N by flow and N by source. The kernel measures the
time of XDP programs (`kernel.bpf_stats_enabled`).
"""

from __future__ import annotations

import argparse
import itertools
import select
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from ipaddress import IPv4Address
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
import psutil

from sfcperf.hosts.process import inside
from sfcperf.management.deployment import Deployment, ServiceFunction

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _shared.bpf_time import statistics, totals
from _shared.chain import one_function
from _shared.offering import offering
from _shared.ratio import ratio

COUNTS = (0, 1_000, 100_000)
AT_ONCE = 10_000
"""Rules in one request."""
FLOWS = 10_000
RATE_PPS = 150_000
MOST_PPS = 10_000_000
OFFERED_S = 0.5
ROUNDS = 6
PUTS = 300
CLIENTS = 16
BLOCKS = 50
PORT = 9
SEND_EVERY_S = 0.0002
REST: Mapping[str, Any] = {"max_changes_per_s": 10_000_000, "max_rules": 200_000}
TYPES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "nsh_firewall": ("forwarder", REST),
    "firewall": ("router", {"rules_by": "rest", "rules": 0, **REST}),
}
"""VNF type -> the type that forwards in the same way and does nothing else, and knobs."""
PROGRAMS = {"forwarder": "forward", "nsh_firewall": "firewall"}


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW", help=", ".join(ROWS))
    for row in parser.parse_args().rows or ROWS:
        ROWS[row]()
        sys.stdout.flush()


# --- packets ---


def packets() -> None:
    """Throughput of both engines, and time per packet of the one in XDP."""
    rates: dict[tuple[str, int], list[float]] = defaultdict(list)
    costs: dict[tuple[str, int], list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for type_, (plain, knobs) in TYPES.items():
            for name, count in ((plain, 0), *((type_, count) for count in COUNTS)):
                with chain(name, {} if name == plain else knobs) as deployment:
                    if count:
                        fill(deployment.functions[0], count)
                    cost_ns, rate_pps = loaded(deployment, PROGRAMS.get(name))
                costs[name, count].append(cost_ns)
                rates[name, count].append(rate_pps)
    for type_, (plain, _) in TYPES.items():
        for count in COUNTS:
            print(
                f"{type_}, {count:,} rules: {median(rates[type_, count]) / 1e3:.0f} kpps, by the "
                f"{plain}'s {median(rates[plain, 0]) / 1e3:.0f} kpps "
                f"{ratio(rates[type_, count], rates[plain, 0])}"
            )
        most = ratio(rates[type_, COUNTS[-1]], rates[type_, 0])
        print(f"{type_}, throughput with {COUNTS[-1]:,} rules by that with none: {most} (goal: 1)")
    base = median(costs["forwarder", 0])
    for count in COUNTS:
        cost = median(costs["nsh_firewall", count])
        print(
            f"nsh_firewall, {count:,} rules: {cost:.0f} ns per packet, {cost - base:.0f} more than "
            f"the forwarder's {base:.0f}"
        )


def loaded(deployment: Deployment, program: str | None) -> tuple[float, float]:
    """Nanoseconds per packet of the function's program (0 without one), and packets per second that
    the chain carries at most."""
    cost_ns = 0.0
    with statistics(), offering(deployment, PORT, flows=FLOWS) as offer:
        if program is not None:
            before = totals(program)
            offer(RATE_PPS, OFFERED_S)
            after = totals(program)
            spent = {
                each: (after[each][0] - before[each][0], after[each][1] - before[each][1])
                for each in before.keys() & after.keys()
            }
            # Others may run such a program too: ours is the one with this load.
            time_ns, runs = max(spent.values(), key=lambda found: found[1])
            cost_ns = time_ns / runs
        most = offer(MOST_PPS, OFFERED_S)
    return cost_ns, most.received / OFFERED_S


# --- changes ---


def changes() -> None:
    """How fast rules are set."""
    for type_, (_, knobs) in TYPES.items():
        with chain(type_, knobs) as deployment, client(deployment.functions[0]) as rest:
            began = time.perf_counter()
            for address in itertools.islice(addresses(), PUTS):
                put(rest, address)
            one_by_one = PUTS / (time.perf_counter() - began)
            with ThreadPoolExecutor(CLIENTS) as pool:
                began = time.perf_counter()
                list(pool.map(lambda a: put(rest, a), itertools.islice(addresses(), 4 * PUTS)))
                at_once = 4 * PUTS / (time.perf_counter() - began)
            began = time.perf_counter()
            fill(deployment.functions[0], COUNTS[-1])
            batches = 2 * COUNTS[-1] / (time.perf_counter() - began)
            found = [timed(rest, address) for address in itertools.islice(addresses(), PUTS)]
        print(
            f"{type_}, rules set per second: {one_by_one:.0f} one by one, {at_once:.0f} by "
            f"{CLIENTS} clients at once, {batches:.0f} in requests of {AT_ONCE:,}; one with "
            f"{COUNTS[-1]:,} others: {1000 * median(found):.1f} ms"
        )


def blocked() -> None:
    """From the request to the last packet that passes."""
    for type_, (_, knobs) in TYPES.items():
        for count in (0, COUNTS[-1]):
            with chain(type_, knobs) as deployment:
                if count:
                    fill(deployment.functions[0], count)
                last, answered, late = cut(deployment)
            print(
                f"{type_}, {count:,} rules, from the request to the last packet that passes: "
                f"{_spread(last)}; to the answer: {_spread(answered)}; packets that were sent "
                f"after the answer and passed: {late} of {BLOCKS} times (goal: 0)"
            )


def _spread(times_s: list[float]) -> str:
    cuts = quantiles(times_s, n=100)
    return f"p50 {1000 * cuts[49]:.1f} ms, p95 {1000 * cuts[94]:.1f} ms"


def cut(deployment: Deployment) -> tuple[list[float], list[float], int]:
    """Block and unblock a stream of datagrams, each with the time when it was sent. Gives the times
    from the request to the last one that passes, those to the answer, and how often one that was
    sent after the answer passed."""
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
        for _ in range(BLOCKS):
            time.sleep(0.05)
            drained(receiver)
            asked_s = time.monotonic()
            rest.put(path, json={"ttl_s": 60}).raise_for_status()
            done_s = time.monotonic()
            time.sleep(0.05)
            sent_s = max(drained(receiver), default=asked_s)
            last.append(max(sent_s - asked_s, 0.0))
            answered.append(done_s - asked_s)
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


def restarted() -> None:
    """From the death of the interface's process to its next answer."""
    for type_, (_, knobs) in TYPES.items():
        with chain(type_, knobs) as deployment, client(deployment.functions[0]) as rest:
            fill(deployment.functions[0], COUNTS[-1])
            found = []
            for _ in range(ROUNDS):
                (server,) = servers()
                server.kill()
                began = time.monotonic()
                while not answers(rest):
                    time.sleep(0.01)
                found.append(time.monotonic() - began)
            status = rest.get("/status").json()
        print(
            f"{type_}, {status['flow_rules'] + status['source_rules']:,} rules: it answers "
            f"{median(found):.1f} s after it was killed, at most {max(found):.1f} s (goal: 10)"
        )


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


ROWS = {"packets": packets, "changes": changes, "blocked": blocked, "restarted": restarted}

if __name__ == "__main__":
    main()
