"""Damaged messages to sfc-sdnmon-agent, compiled with sanitizers. Every one that is a request of
SDN-Mon is answered, the agent lives, and the switch beside it works on."""

from __future__ import annotations

import dataclasses
import random
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sanitized import built
from support.sdnmon import openflow as of
from support.sdnmon.agent import TOOL
from support.sdnmon.ends import Ends, ends
from support.sdnmon.frames import udp_flow
from support.sdnmon.mutations import SETTINGS, cut, is_request, mutated
from support.sdnmon.openflow import Connection, Controller, Message, Refused, Settings
from support.sdnmon.switch import Bench, bench
from support.sdnmon.tool import FIVE_TUPLE, layout_of

pytestmark = pytest.mark.root
BATCH = 50
MORE_MEMORY_KB = 30_000
"""That the agent may have taken at the end, for the channels that are open."""


def sanitized() -> list[str]:
    """The command; compiled if a source has changed since. A finding ends the process."""
    # What is freed is kept for a while: a little of it, so that memory can be judged.
    return ["env", "ASAN_OPTIONS=quarantine_size_mb=1", str(built(TOOL) / TOOL)]


class Target:
    """The agent's second relay, with ends of the test's own."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "fuzz.sock"
        self._controller = Controller(folder / "fuzz-controller.sock")
        self.relay = f"unix:{self._path}=unix:{self._controller.path}"

    def connected(self) -> tuple[Connection, Connection]:
        """The switch's end, which has said HELLO, and the controller's."""
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(of.PATIENCE_S)
        stream.connect(str(self._path))
        switch, controller = Connection(stream), self._controller.accept()
        for end in (switch, controller):
            end.send(of.HELLO)
        for end in (switch, controller):
            end.receive(lambda message: message.type == of.HELLO)
        return switch, controller

    def close(self) -> None:
        self._controller.close()


@pytest.fixture
def attacked(tmp_path: Path) -> Iterator[tuple[Bench, Target]]:
    target = Target(tmp_path)
    options = ["--port", "p0", "--port", "p1", "--relay", target.relay]
    with bench(tmp_path, command=sanitized(), options=options) as made:
        try:
            yield made, target
        finally:
            target.close()


def _drain(connection: Connection) -> None:
    """Throw away what has come."""
    connection.stream.setblocking(False)
    try:
        while connection.stream.recv(1 << 18):
            pass
    except BlockingIOError:
        connection.stream.settimeout(of.PATIENCE_S)


def _await_answers(controller: Connection, sent: list[Message]) -> None:
    """One to each request, by its xid; that of a statistics request may have several messages."""
    waiting = {message.xid for message in sent if is_request(message)}
    last = controller.send_request(of.FEATURES, xid=(1 << 32) - 1)
    while True:
        answer = controller.receive(lambda message: True)
        more = answer.exp_type == of.STATISTICS | of.REPLY and answer.body[9] & 1
        if answer.exp_type != of.OVERFLOW_NOTIFICATION and not more:
            if answer.xid != last:
                assert answer.xid in waiting, answer
                waiting.discard(answer.xid)
                continue
            # The reply to a statistics request may come behind those of later requests.
            if not waiting:
                return
            last = controller.send_request(of.FEATURES, xid=last)


def _attack(target: Target, messages: int, seed: int) -> None:
    draw = random.Random(seed)
    switch, controller = target.connected()
    for first in range(1, messages, BATCH):
        sent = [mutated(draw, xid) for xid in range(first, first + BATCH)]
        # Most are looked at further if monitoring is on. That it is on already is an error.
        begun = controller.send_request(of.MODE_ON, SETTINGS, xid=(1 << 32) - 2)
        controller.receive(lambda message, xid=begun: message.xid == xid)
        if draw.random() < 0.2:
            controller.stream.sendall(cut(draw, sent))
            controller.close()
            assert switch.has_ended()
            switch, controller = target.connected()
            continue
        controller.stream.sendall(b"".join(message.packed for message in sent))
        _await_answers(controller, sent)
        _drain(switch)
    switch.close()
    controller.close()


@pytest.mark.parametrize("messages", [500, pytest.param(100_000, marks=pytest.mark.exhaustive)])
def test_mutated_messages(attacked: tuple[Bench, Target], messages: int) -> None:
    made, target = attacked
    made.connect()
    controller = made.accepted()
    made.ofctl("add-flow", "in_port=1,actions=output:2")
    _attack(target, messages // 5, 0)
    before = made.agent.memory_kb
    _attack(target, messages - messages // 5, 1)
    assert made.agent.is_alive(), made.agent.complaints
    assert made.agent.memory_kb < before + MORE_MEMORY_KB
    controller.barrier()
    settings = Settings(layout_of(FIVE_TUPLE).masks)
    try:
        controller.ask(of.MODE_ON, settings.packed)
    except Refused as refused:
        assert refused.code == of.ON
        controller.ask(of.RESET_TABLE, settings.packed)
    receiver = made.senders[1].wire()
    made.send([udp_flow(1)])
    assert receiver.drain() == [udp_flow(1)]
    receiver.close()
    found = controller.status()
    assert (found.totals["received"], found.ports) == (1, made.names)
    assert found.settings == dataclasses.replace(settings, limit=settings.capacity)
    assert made.agent.signal(signal.SIGTERM) == 0, made.agent.complaints
    assert "Sanitizer" not in made.agent.complaints
    assert "runtime error" not in made.agent.complaints


_ASKED = (of.MULTIPART_REQUEST, of.BARRIER_REQUEST)


def _hello(draw: random.Random) -> bytes:
    """With elements, which may be damaged."""
    body = struct.pack("!HHI", 1, 8, 0b1110000)
    for _ in range(draw.randrange(4)):
        at = draw.randrange(len(body) + 1)
        body = body[:at] + draw.randbytes(draw.randrange(12)) + body[at + draw.randrange(9) :]
    return body


def _ports(draw: random.Random, version: int) -> bytes:
    """Of a switch, with numbers, lengths and names that may be wrong."""
    ports = b""
    for _ in range(draw.randrange(8)):
        name = draw.choice([b"lo", b"none", draw.randbytes(16)]).ljust(16, b"\0")
        length = draw.choice([72, 72, 72, draw.randrange(1 << 16)]) if version > 4 else 0
        number = draw.choice([1, 2, 3, 0xFFFFFFFE, draw.randrange(1 << 32)])
        port = struct.pack("!IHH8s16s", number, length, 0, b"", name)
        ports += port + bytes((64 if version == 4 else 72) - len(port))
    return ports[: draw.choice([len(ports), draw.randrange(len(ports) + 1)])]


def _introduced(made: Ends, draw: random.Random) -> tuple[Connection, Connection]:
    version = draw.choice([of.VERSION_1_3, of.VERSION_1_5])
    switch, controller = made.connected(version)
    for one in (switch, controller):
        one.send(of.HELLO, _hello(draw))
    for one in (switch, controller):
        one.receive(lambda message: message.type == of.HELLO)
    return switch, controller


@pytest.mark.parametrize("channels", [200, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_mutated_messages_of_a_switch(tmp_path: Path, channels: int) -> None:
    """HELLO and descriptions of ports; all reaches the controller but the replies to the agent."""
    draw = random.Random(channels)
    with ends(tmp_path, command=sanitized()) as made:
        for _ in range(channels):
            switch, controller = _introduced(made, draw)
            controller.send(of.BARRIER_REQUEST)
            asked = switch.receive(lambda message: message.type in _ASKED)
            if asked.type == of.MULTIPART_REQUEST:
                for more in (draw.random() < 0.3, False):
                    body = struct.pack("!HHI", of.PORT_DESC, more, 0) + _ports(draw, asked.version)
                    switch.send(of.MULTIPART_REPLY, body, asked.xid)
                    if not more:
                        break
            for reason in (0, 1, 2):
                status = bytes((reason,)).ljust(8, b"\0") + _ports(draw, asked.version)
                switch.send(of.PORT_STATUS, status)
            switch.send(of.BARRIER_REPLY, xid=7)
            controller.receive(lambda message: message.type == of.BARRIER_REPLY)
            kinds = [message.type for message in controller.others]
            assert kinds == [of.PORT_STATUS] * 3
            for one in (switch, controller):
                one.close()
        assert made.agent.signal(signal.SIGTERM) == 0, made.agent.complaints
