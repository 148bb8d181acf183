"""Damaged messages to sfc-sdnmon-agent, compiled with sanitizers. Every one that is a request of
SDN-Mon is answered, the agent lives, and the switch beside it works on."""

from __future__ import annotations

import dataclasses
import random
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sdnmon import openflow as of
from support.sdnmon.frames import udp_flow
from support.sdnmon.mutations import cut, is_request, mutated
from support.sdnmon.openflow import Connection, Controller, Message, Refused, Settings
from support.sdnmon.sanitized import sanitized
from support.sdnmon.switch import Bench, bench
from support.sdnmon.tool import FIVE_TUPLE, layout_of

pytestmark = pytest.mark.root
BATCH = 50
MORE_MEMORY_KB = 30_000
"""That the agent may have taken at the end, for the channels that are open."""


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


@pytest.mark.parametrize("messages", [2_000, pytest.param(100_000, marks=pytest.mark.exhaustive)])
def test_mutated_messages(attacked: tuple[Bench, Target], messages: int) -> None:
    made, target = attacked
    made.connect()
    controller = made.accepted()
    made.ofctl("add-flow", "in_port=1,actions=output:2")
    _attack(target, 1_000, 0)
    before = made.agent.memory_kb
    _attack(target, messages - 1_000, 1)
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
