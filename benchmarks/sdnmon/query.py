"""SDN-Mon's controller: the time of a whole statistics query, from the call to the parsed reply,
with and without counter buffers (S_b 5).

    sudo .venv/bin/python benchmarks/sdnmon/query.py

Packets, bytes and keys are then there as arrays. Beside it, in the same run: a reader of the same
agent and table that counts entries and parses nothing, and the time in which as many bytes pass
from one process to another. Cases are measured in turn; ranges are those of the rounds. Last, the
same reply as JSON Lines.
"""

from __future__ import annotations

import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from agent import BUFFERS, fill, passed_ms, query
from support.network.wires import eventually
from support.sdnmon.agent import Agent
from support.sdnmon.ends import introduce
from support.sdnmon.openflow import Connection
from support.sdnmon.stand_in import StandIn
from support.sdnmon.tool import switched

from sfcperf.dataplane.listening import internet_socket, name_of
from sfcperf.dataplane.sdnmon.controller.api import json_lines
from sfcperf.dataplane.sdnmon.controller.app import SdnMon
from sfcperf.dataplane.sdnmon.controller.osken import run_beside
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.watched import Watch

GOALS_MS = {7_950: 15, 100_000: 250, 1_000_000: 3_000}
"""Entries -> a whole query. The paper has 158 ms for 7,950."""
SWITCH = 1


@dataclass(frozen=True)
class Times:
    """Of one query, ms."""

    wall: float
    cpu: float
    """Of this process, the controller."""
    reader: float
    """Of one that parses nothing."""
    floor: float
    """Of the bytes alone."""


def queries(run: Run) -> Iterator[Row]:
    """Tables of growing size."""
    openflow = internet_socket("127.0.0.1:0", "--listen")
    mon = run_beside(openflow, (), Watch())
    for entries, goal_ms in GOALS_MS.items():
        with table(entries, name_of(openflow)) as ends:
            assert eventually(lambda: SWITCH in mon.switches)
            found = run.in_turn(BUFFERS, partial(measured, mon, *ends, entries))
            printed_ms = as_lines(mon)
        for name, times in found.items():
            case = f"{entries:,} entries, {name}"
            floor = median(each.floor for each in times)
            yield Row(
                case, [each.wall for each in times], "ms",
                "a reader that parses nothing", [each.reader for each in times],
                Budget(high=goal_ms), f"the bytes alone {floor:.1f} ms",
            )  # fmt: skip
            yield Row(f"{case}, CPU of the controller", [each.cpu for each in times], "ms")
        yield Row(f"{entries:,} entries, as JSON Lines, more CPU", printed_ms, "ms")


def measured(mon: SdnMon, plain: Connection, pid: int, entries: int, buffers: bool) -> Times:
    """One query, and what it is compared with."""
    busy, began = time.process_time(), time.perf_counter()
    found = mon.requestStatistics(SWITCH, buffers=buffers)
    columns = found.keys, found.packets, found.bytes
    wall_ms = (time.perf_counter() - began) * 1e3
    cpu_ms = (time.process_time() - busy) * 1e3
    assert [len(column) for column in columns] == [entries] * 3
    del found, columns
    read = query(plain, pid, entries, buffers)
    return Times(wall_ms, cpu_ms, read.wall_ms, passed_ms(read.octets))


def as_lines(mon: SdnMon) -> float:
    """CPU time of the REST interface's work, ms."""
    found = mon.requestStatistics(SWITCH)
    busy = time.process_time()
    for _ in json_lines(found):
        pass
    return (time.process_time() - busy) * 1e3


@contextmanager
def table(entries: int, openflow: str) -> Iterator[tuple[Connection, int]]:
    """An agent that has found such a table, between a switch that only answers, and the controller;
    a second channel is for the plain reader, whose end is given, and the agent's pid."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tool = stack.enter_context(switched(folder))
        fill(tool, entries)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        with (
            socket.create_server(("127.0.0.1", 0)) as one,
            socket.create_server(("127.0.0.1", 0)) as other,
        ):
            ports = [each.getsockname()[1] for each in (one, other)]
        agent = Agent(NamespaceHost("here", None, folder), folder, tool.state)
        agent.start(
            relays=[
                f"tcp:127.0.0.1:{ports[0]}=tcp:{openflow}",
                f"tcp:127.0.0.1:{ports[1]}=tcp:{name_of(listener)}",
            ]
        )
        stack.callback(agent.stop)
        stack.enter_context(StandIn(f"127.0.0.1:{ports[0]}", SWITCH))
        switch = Connection(socket.create_connection(("127.0.0.1", ports[1])))
        plain = Connection(listener.accept()[0])
        stack.callback(switch.close)
        stack.callback(plain.close)
        introduce(switch, plain)
        yield plain, agent.pid


if __name__ == "__main__":
    Benchmark(__doc__, {queries: 7}).main()
