"""When a source takes a packet: periods, two CPUs at once, both directions."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable

import pytest
from support.network.wires import eventually
from support.pptmon.bench import Chain
from support.pptmon.tap import Tap, pinned
from support.pptmon.zoo import FRAMES

pytestmark = pytest.mark.root

FRAME = FRAMES["ipv4/udp"]


def send_from_all_cpus(chain: Chain, duration_s: float) -> int:
    """Traffic from two CPUs at once. Gives how many packets."""
    ends = [chain.with_offloads() for _ in range(2)]
    counts = [0, 0]
    begin = time.monotonic()

    def run(number: int, end: Tap, cpu: int) -> None:
        with pinned(cpu):
            while time.monotonic() - begin < duration_s:
                end.send(FRAME)
                counts[number] += 1

    cpus = sorted(os.sched_getaffinity(0))
    threads = [
        threading.Thread(target=run, args=(number, end, cpus[number % len(cpus)]))
        for number, end in enumerate(ends)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(
    ("option", "period_s"),
    [(("--period-ms", "100"), 0.1), (("--rate", "1000"), 0.001), ((), 1.0)],
)  # fmt: skip
def test_one_sample_a_period_however_many_cpus(
    chain_of: Callable[[int], Chain], option: tuple[str, str], period_s: float
) -> None:
    chain = chain_of(1)
    before = time.monotonic()
    chain.start(*option)
    sent = send_from_all_cpus(chain, 2.2)
    periods = (time.monotonic() - before) / period_s
    assert sent > 1000
    counters = chain.source.counters()
    assert counters["sampled"] <= periods + 1
    assert counters["sampled"] >= 2
    assert counters["reported"] == counters["sampled"]


@pytest.mark.exhaustive
def test_period_zero_takes_every_packet(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(1)
    chain.start("--period-ms", "0")
    before = transmitted(chain)
    sent = send_from_all_cpus(chain, 0.5)
    # The kernel may drop some between the interfaces when it is busy with others.
    eventually(lambda: chain.source.counters()["reported"] == sent)
    counters, left = chain.source.counters(), transmitted(chain) - before
    # Linux itself may send a frame now and then (multicast of a link that came up).
    others = counters["judged"] - counters["wanted"]
    assert others <= 5
    left -= others
    assert counters["measured"] == counters["reported"] == left, counters.values
    assert left <= counters["sampled"] <= sent
    assert left > sent * 0.99
    assert len(chain.sink.samples(left - counters["events_lost"])) == left - counters["events_lost"]


def transmitted(chain: Chain) -> int:
    """Packets that left the VNF, by the kernel's count."""
    name = chain.ports[0][1].interface
    argv = ["ip", "-json", "-statistics", "link", "show", name]
    [link] = json.loads(chain.vnfs.run(argv, timeout_s=10).text)
    return int(link["stats64"]["tx"]["packets"])


def test_no_traffic_no_samples(chain_of: Callable[[int], Chain]) -> None:
    """The time of a period is not saved up."""
    chain = chain_of(1)
    chain.start("--period-ms", "200")
    time.sleep(1)
    began = time.monotonic()
    chain.exchange(*[FRAME] * 50)
    periods = (time.monotonic() - began) / 0.2
    assert chain.source.counters()["sampled"] <= periods + 2


def test_two_pptmons_measure_both_directions(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(1)
    [(ingress, egress)] = chain.ports
    chain.start("--period-ms", "0")
    back = chain.add("source-sink", 2, (egress, ingress), ["--period-ms", "0", "--format", "rfc"])
    back.wait_ready()
    for name, frame in FRAMES.items():
        assert chain.exchange(frame).received == [frame], name
    assert chain.source.counters()["reported"] == len(FRAMES)
    assert back.counters()["reported"] == 0
