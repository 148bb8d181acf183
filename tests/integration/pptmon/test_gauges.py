"""What pptmon measures beside time: the queue of the egress interface, and the VNF's CPUs.

Judges are tc and a load that fills a CPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from support.network.wires import Port, eventually, space
from support.pptmon.bench import Chain

pytestmark = pytest.mark.root

FRAME = bytes(Ether() / IP(src="10.0.0.1", dst="10.0.0.2") / UDP(sport=1, dport=9) / bytes(100))
NEAR_BYTES = 6000
"""What may leave between two looks."""
REFRESHED_S = 0.3
WINDOW_S = 1.5
"""The use of CPUs is over the last second."""


def _backlog_bytes(port: Port) -> int:
    shown = subprocess.run(
        ["tc", "-n", space(port.host), "-s", "-j", "qdisc", "show", "dev", port.interface],
        check=True, capture_output=True, text=True, timeout=10,
    )  # fmt: skip
    [root] = [qdisc for qdisc in json.loads(shown.stdout) if qdisc["kind"] == "tbf"]
    return int(root["backlog"])


def _shape(port: Port, rate: str) -> None:
    tbf = ["tbf", "rate", rate, "burst", "2k", "limit", "200k"]
    argv = ["tc", "-n", space(port.host), "qdisc", "add", "dev", port.interface, "root", *tbf]
    subprocess.run(argv, check=True, timeout=10)


def _sample_value(chain: Chain) -> float:
    """Of one more packet; it need not come through."""
    before = len(chain.sink.samples())
    chain.sender.send(FRAME)
    return chain.sink.samples(before + 1)[before].hops[0].value


def test_backlog_is_that_of_the_egress(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(1)
    queue = chain.ports[0][1]
    chain.start("--period-ms", "0", "--metrics", "backlog")
    assert _sample_value(chain) == 0
    _shape(queue, "8kbit")  # so slow that a queue is as good as constant
    chain.sender.send(*[FRAME] * 200)
    assert eventually(lambda: _backlog_bytes(queue) > 3 * NEAR_BYTES)
    time.sleep(REFRESHED_S)
    expected = _backlog_bytes(queue)
    assert _sample_value(chain) == pytest.approx(expected, abs=NEAR_BYTES)


def test_backlog_from_outside_is_that_of_the_way_in(chain_of: Callable[[int], Chain]) -> None:
    """The second bridge is the VNF, of which only the outer ends are touched."""
    chain = chain_of(3)
    way_in, way_out = chain.ports[0][1], chain.ports[2][0]
    options = ("--host-side", "--period-ms", "0", "--metrics", "backlog")
    chain.add("source-sink", 1, (way_in, way_out), options).wait_ready()
    _shape(way_in, "100kbit")
    chain.sender.send(*[FRAME] * 200)
    assert eventually(lambda: _backlog_bytes(way_in) > 3 * NEAR_BYTES)
    most = _backlog_bytes(way_in)
    values = [sample.hops[0].value for sample in chain.sink.samples(200)]
    assert len(values) == 200
    assert max(values) == pytest.approx(most, abs=NEAR_BYTES)
    assert values[-1] < NEAR_BYTES


@pytest.fixture
def busy_cpu() -> Iterator[int]:
    """A CPU of this process's that has no idle time; this process is on it too."""
    mine = os.sched_getaffinity(0)
    cpu = min(mine)
    os.sched_setaffinity(0, {cpu})
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield cpu
    finally:
        burner.kill()
        burner.wait()
        os.sched_setaffinity(0, mine)


def test_cpu_is_that_of_the_cpus_it_may_use(
    chain_of: Callable[[int], Chain], busy_cpu: int
) -> None:
    chain = chain_of(1)
    chain.start("--period-ms", "0", "--metrics", "cpu")
    time.sleep(WINDOW_S)
    assert 95 <= _sample_value(chain) <= 100
