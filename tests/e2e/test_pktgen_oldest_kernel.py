"""sfc-pktgen on the oldest kernel that the README names: Linux 6.1 of Debian 12, in an emulator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine

from sfcperf.active.pktgen.output import parse_calibration
from sfcperf.dataplane import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(required(), [binaries.find("sfc-pktgen")]) as machine:
        yield machine


@pytest.mark.parametrize(
    ("engine", "mode"), [("xdp", "native"), ("packet", "native"), ("packet", "generic")]
)
@pytest.mark.parametrize(
    "load", ["--protocol udp --rate 500", "--protocol tcp-syn --flows 100 --zipf 1 --rate 20000"]
)
def test_what_is_sent_arrives(machine: Machine, engine: str, mode: str, load: str) -> None:
    command = f"sfc-pktgen --role calibrate --engine {engine} --mode {mode} {load}"
    said = machine.check(f"{command} --frames 64:7,570:4,1518:1 --duration-ms 300")
    sent, received = parse_calibration(said)
    assert sent.packets == received.unique == received.packets > 0
    assert (received.mode, received.reordered, received.unjudged) == (mode, 0, 0)
