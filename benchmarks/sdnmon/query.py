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
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from agent import fill, passed_ms, query
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
ROUNDS = 7
SWITCH = 1


@dataclass
class Times:
    """Of one case, ms."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Of this process, the controller."""
    reader: list[float] = field(default_factory=list)
    floor: list[float] = field(default_factory=list)

    def text(self) -> str:
        """For people."""
        return (
            f"{median(self.wall):.1f} ms [{min(self.wall):.1f}, {max(self.wall):.1f}], CPU of the "
            f"controller {median(self.cpu):.0f} ms; a reader that parses nothing "
            f"{median(self.reader):.1f} ms, the bytes alone {median(self.floor):.1f} ms"
        )


def main() -> None:
    """Print a line for each case."""
    missed = []
    openflow = internet_socket("127.0.0.1:0", "--listen")
    mon = run_beside(openflow, (), Watch())
    for entries, goal_ms in GOALS_MS.items():
        with table(entries, name_of(openflow)) as (plain, pid):
            assert eventually(lambda: SWITCH in mon.switches)
            cases = {buffers: Times() for buffers in (False, True)}
            for _ in range(ROUNDS):
                for buffers, times in cases.items():
                    measure(mon, plain, pid, entries, buffers, times)
            printed_ms = as_lines(mon)
        for buffers, times in cases.items():
            case = f"{entries:,} entries, {'with buffers' if buffers else 'without'}"
            print(f"{case}: {times.text()} (goal: {goal_ms})")
            if median(times.wall) > goal_ms:
                missed.append(case)
        print(f"{entries:,} entries, with buffers, as JSON Lines: {printed_ms:.0f} ms more of CPU")
    if missed:
        raise SystemExit(f"over the goal: {', '.join(missed)}")


def measure(
    mon: SdnMon, plain: Connection, pid: int, entries: int, buffers: bool, times: Times
) -> None:
    """One round of a case."""
    busy, began = time.process_time(), time.perf_counter()
    found = mon.requestStatistics(SWITCH, buffers=buffers)
    columns = found.keys, found.packets, found.bytes
    times.wall.append((time.perf_counter() - began) * 1e3)
    times.cpu.append((time.process_time() - busy) * 1e3)
    assert [len(column) for column in columns] == [entries] * 3
    del found, columns
    read = query(plain, pid, entries, slots=buffers)
    times.reader.append(read.wall_ms)
    times.floor.append(passed_ms(read.octets))


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
    main()
