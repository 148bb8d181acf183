"""Which packets a source takes, and that nothing is put into packets when nobody takes it out."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.network.wires import eventually
from support.pptmon.bench import Chain

pytestmark = pytest.mark.root

BURST = 200
BURST_EVERY_S = 0.05
SECONDS = 8.0
DEAD_S = 10.5
"""PPT_DEAD_NS of pptmon.h, and some."""


def _frame(number: int) -> bytes:
    """Its place in the burst is its source port."""
    ports = UDP(sport=1000 + number, dport=9)
    return bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / ports / bytes(100))


def _places(chain: Chain) -> list[int]:
    """Of the sampled packets in their bursts."""
    frames = [_frame(number) for number in range(BURST)]
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        chain.sender.send(*frames)
        time.sleep(BURST_EVERY_S)
    chain.source.stop()
    flows = [sample.flow for sample in chain.sink.samples()]
    return [flow.sport - 1000 for flow in flows if flow is not None and flow.sport is not None]


@pytest.mark.exhaustive
def test_the_first_packet_of_a_period_is_the_head_of_a_burst(
    chain_of: Callable[[int], Chain],
) -> None:
    chain = chain_of(1)
    chain.start("--period-ms", "200", "--choice", "first")
    places = _places(chain)
    assert len(places) >= 0.7 * SECONDS / 0.2
    # Unless the period ends in the middle of one.
    assert sum(place == 0 for place in places) > 0.6 * len(places)


@pytest.mark.exhaustive
def test_a_packet_at_random_is_anywhere_in_a_burst(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(1)
    chain.start("--period-ms", "200")
    places = _places(chain)
    assert 0.7 * SECONDS / 0.2 <= len(places) <= SECONDS / 0.2 + 10
    assert sum(place == 0 for place in places) < 0.3 * len(places)
    assert max(places) > BURST / 4


@pytest.mark.exhaustive
def test_nothing_is_put_into_packets_when_nobody_is_there(
    chain_of: Callable[[int], Chain],
) -> None:
    """A stopped process stands for one that was killed with its guard, whose filters of clsact go
    on."""
    chain = chain_of(1)
    chain.start("--period-ms", "0", "--attach", "clsact")
    assert len(chain.samples_of(_frame(1))) == 1
    os.kill(chain.source.process.pid, signal.SIGSTOP)
    try:
        time.sleep(DEAD_S)
        assert chain.exchange(_frame(2)).received == [_frame(2)]
    finally:
        os.kill(chain.source.process.pid, signal.SIGCONT)

    def sampled() -> bool:
        chain.exchange(_frame(3))
        return chain.source.counters()["sampled"] == 2

    # Until it says again that it is there, packets pass without a sample.
    assert eventually(sampled)
    assert [sample.flow.sport for sample in chain.sink.samples(2) if sample.flow] == [1001, 1003]
