"""The SFC controller: does it keep up with polls of 10 ms and the paper's sizes?

    sudo .venv/bin/python benchmarks/sfcmon/controller.py

A bmv2 switch gets packets of 200 flows, each of which is a heavy hitter; the registers have the
sizes of the reference configuration. Two kinds of polls are compared with the period of 10 ms: one
that finds new flows (it reads and lists the keys of the IBLT), and one that finds none. Then, what
a window takes from the switch of banks until its bank is clear, beside the shortest window.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import finsy
from scapy.contrib.nsh import NSH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.switch import Bmv2Switch, requirement
from sfcperf.vnfs.sfcmon.controller.bank_access import BankAccess
from sfcperf.vnfs.sfcmon.controller.model import ThriftAddress
from sfcperf.vnfs.sfcmon.controller.window import FoundFlows, OpenWindow
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run, Skipped
from support.network.wires import Lab, Wire, ip, space

POLL_MS = 10.0
LEAST_WINDOW_MS = 50.0
FLOWS = 200
NSH_PORT = 128


def periods(run: Run) -> Iterator[Row]:
    """What polls and the end of a window take, beside their periods."""
    if not (found := requirement()).met:
        raise Skipped(f"{found.name}: {found.detail}")
    logging.getLogger("finsy").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp(prefix="bmv2-"))
    try:
        with Lab(folder) as lab:
            node, ends = lab.host("switch"), lab.host("ends")
            ip("-n", space(node), "link", "set", "lo", "up")
            end, _ = lab.join((ends, "e0"), (node, "p0"))
            wire = end.wire()
            lab.at_end(wire.close)
            switch = Bmv2Switch.launch(node, {NSH_PORT: "p0"})
            lab.at_end(switch.stop)
            thrift = ThriftAddress(namespace=str(node.namespace))
            new, none, ended = asyncio.run(measured(switch.address, thrift, wire, run.repetitions))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    yield Row(f"poll, {FLOWS} new flows", new, "ms", budget=Budget(high=POLL_MS))
    yield Row("poll, no new flow", none, "ms", budget=Budget(high=POLL_MS))
    budget = Budget(high=LEAST_WINDOW_MS)
    yield Row(f"end of a window, {FLOWS} flows", ended, "ms", budget=budget)


async def measured(
    address: str, thrift: ThriftAddress, wire: Wire, rounds: int
) -> list[list[float]]:
    """Milliseconds of polls that find new flows, of others, and of ends of windows."""
    program = Program.SKETCHES
    options = finsy.SwitchOptions(p4info=program.p4info, p4blob=program.json)
    banks = BankAccess("benchmark", thrift)
    opened = OpenWindow(0, 0, Thresholds(0, 0, 0), Sizes())
    async with finsy.Switch("benchmark", address, options) as switch:
        await switch.modify([opened.entry()])
        wire.send([frame(number) for number in range(FLOWS)])
        found = FoundFlows()
        while len(found.times) < FLOWS:
            await banks.look(opened, found)
        # One that has found nothing before lists all flows.
        new = [await timed(lambda: banks.look(opened, FoundFlows())) for _ in range(rounds)]
        none = [await timed(lambda: banks.look(opened, found)) for _ in range(rounds)]

        async def end() -> None:
            await switch.modify([OpenWindow(1, 0, opened.thresholds, opened.sizes).entry()])
            await banks.read(0)
            await banks.clear(0)

        ended = []
        for _ in range(rounds):
            ended.append(await timed(end))
            await switch.modify([opened.entry()])
            wire.send([frame(number) for number in range(FLOWS)])
    banks.end()
    return [new, none, ended]


def frame(number: int) -> bytes:
    """A packet of a flow, on a path."""
    header = NSH(spi=1, si=9, ttl=9, nextproto=3, context_header=bytes(16))
    flow = IP(src=f"198.18.{number >> 8}.{number & 255}", dst="198.19.0.1") / UDP(sport=number)
    ends = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
    return bytes(Ether(**ends, type=0x894F) / header / Ether(**ends) / flow)


async def timed(action: Callable[[], Coroutine[Any, Any, object]]) -> float:
    """Milliseconds."""
    start_s = time.perf_counter()
    await action()
    return 1000 * (time.perf_counter() - start_s)


if __name__ == "__main__":
    Benchmark(__doc__, {periods: 30}).main()
