"""A reader that comes late: samples wait, and are told or counted."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

import pytest
from support.pptmon.bench import Chain
from support.pptmon.process import BINARY
from support.pptmon.zoo import FRAMES

from sfcperf.dataplane import binaries
from sfcperf.dataplane.pptmon.events import Counters, parse
from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root

SENT = 5000
"""More than are kept for a pipe that is full; the others wait in the ring, which is not full."""


def test_samples_that_wait_are_not_lost_at_the_end(chain_of: Callable[[int], Chain]) -> None:
    chain = chain_of(1)
    ingress, egress = (port.interface for port in chain.ports[0])
    argv = [str(binaries.find(BINARY)), "--mode", "source-sink", "--vnf-id", "1"]
    argv += ["--ingress", ingress, "--egress", egress, "--period-ms", "0"]
    assert chain.vnfs.namespace is not None
    with inside(chain.vnfs.namespace):
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    chain.lab.at_end(process.kill)
    assert process.stdout is not None
    assert b'"ready"' in process.stdout.readline()
    for _ in range(SENT // 50):
        chain.exchange(*[FRAMES["ipv4/tcp"]] * 50)
    process.send_signal(signal.SIGTERM)
    *samples, last = (parse(line.decode()) for line in process.stdout)
    assert isinstance(last, Counters)
    assert process.wait(10) == 0
    assert last["reported"] == SENT
    assert len(samples) == SENT - last["events_lost"]
