"""SDN-Mon's agent: the time of a whole statistics query, from the request to the last byte of the
reply, with a reader that only counts entries; with and without counter buffers (S_b 5).

    sudo .venv/bin/python benchmarks/sdnmon/agent.py

The keys are 5-tuples of IPv4. Besides, the CPU time of the agent, and, as a floor, the time in
which as many bytes pass from one process to another by the same kind of socket. Cases are measured
in turn. The goal is judged by the CPU time, as other processes may run.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run
from _shared.cpu_time import cpu_s
from support.sdnmon.agent import Agent
from support.sdnmon.ends import introduce
from support.sdnmon.frames import udp_flow
from support.sdnmon.kernel import Program
from support.sdnmon.openflow import STATISTICS, Connection
from support.sdnmon.tool import FIVE_TUPLE, Tool, switched

from sfcperf.hosts.namespace import NamespaceHost

GOALS_MS = {7_950: 5, 100_000: 120, 1_000_000: 1_500}
"""Entries (the paper has up to 7,950) -> the agent's share of a query."""
RECORD_BYTES, SLOTS_BYTES = 36, 5 * 16
PIECE_BYTES = 1 << 16
BUFFERS = {"without buffers": False, "with buffers": True}


@dataclass(frozen=True)
class Query:
    wall_ms: float
    cpu_ms: float
    """Of the agent."""
    octets: int


def queries(run: Run) -> Iterator[Row]:
    """Tables of growing size."""
    for entries, goal_ms in GOALS_MS.items():
        with tempfile.TemporaryDirectory() as folder, channel(Path(folder), entries) as ends:
            found = run.in_turn(BUFFERS, partial(query, *ends, entries))
        for name, measured in found.items():
            octets = measured[0].octets
            floor = [passed_ms(octets) for _ in measured]
            case, peer = f"{entries:,} entries, {name}", f"{octets:,} bytes alone"
            yield Row(case, [each.wall_ms for each in measured], "ms", peer, floor)
            cpu_ms = [each.cpu_ms for each in measured]
            yield Row(f"{case}, CPU of the agent", cpu_ms, "ms", budget=Budget(high=goal_ms))


def fill(tool: Tool, entries: int) -> None:
    """Begin, and find so many flows."""
    tool("on", "--fields", FIVE_TUPLE, "--capacity", str(entries), "--benchmark", str(entries))
    with Program(tool.state / "current" / "varied") as program:
        program.run(udp_flow(0), repeat=entries)


@contextmanager
def channel(folder: Path, entries: int) -> Iterator[tuple[Connection, int]]:
    """A controller's connection to an agent that has found such a table, and the agent's pid."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with switched(folder) as tool, socket.create_server(("127.0.0.1", 0)) as listener:
        fill(tool, entries)
        agent = Agent(NamespaceHost("here", None, folder), folder, tool.state)
        agent.start(relays=[f"tcp:127.0.0.1:{port}=tcp:127.0.0.1:{listener.getsockname()[1]}"])
        switch = Connection(socket.create_connection(("127.0.0.1", port)))
        controller = Connection(listener.accept()[0])
        try:
            introduce(switch, controller)
            yield controller, agent.pid
        finally:
            agent.stop()
            switch.close()
            controller.close()


def query(controller: Connection, pid: int, entries: int, slots: bool) -> Query:
    """Ask, and read the whole reply."""
    size = RECORD_BYTES + slots * SLOTS_BYTES
    buffer = memoryview(bytearray(entries * (size + 1) + PIECE_BYTES))
    stream = controller.stream
    busy, began = cpu_s(pid), time.perf_counter()
    controller.send_request(STATISTICS, bytes((slots, 0, 0, 0)))
    filled = at = counted = 0
    more = True
    while more:
        filled += stream.recv_into(buffer[filled:])
        while filled - at >= 40 and (length := struct.unpack_from("!H", buffer, at + 2)[0]) <= (
            filled - at
        ):
            more = bool(struct.unpack_from("!H", buffer, at + 16)[0] & 1)
            counted += struct.unpack_from("!I", buffer, at + 24)[0]
            at += length
    wall_s = time.perf_counter() - began
    assert (counted, at) == (entries, filled)
    return Query(wall_s * 1e3, (cpu_s(pid) - busy) * 1e3, filled)


def passed_ms(octets: int) -> float:
    """Time in which a process gets so many bytes from another one, by a socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pid = os.fork()
        if pid == 0:
            with socket.create_connection(listener.getsockname()) as sender:
                piece = bytes(8 * PIECE_BYTES)
                for left in range(octets, 0, -len(piece)):
                    sender.sendall(piece[:left])
            os._exit(0)
        stream, _ = listener.accept()
        buffer = memoryview(bytearray(octets))
        began, filled = time.perf_counter(), 0
        while filled < octets:
            filled += stream.recv_into(buffer[filled:])
        wall_s = time.perf_counter() - began
        os.waitpid(pid, 0)
        stream.close()
    return wall_s * 1e3


if __name__ == "__main__":
    Benchmark(__doc__, {queries: 7}).main()
