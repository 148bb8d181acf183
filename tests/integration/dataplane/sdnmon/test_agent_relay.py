"""What sfc-sdnmon-agent lets pass, between ends of the test's own: byte for byte, in order."""

from __future__ import annotations

import random
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.network.wires import eventually
from support.sdnmon.ends import Ends, ends, introduce
from support.sdnmon.openflow import (
    ADD_ENTRIES,
    ECHO_REQUEST,
    EXPERIMENTER,
    FEATURES,
    HELLO,
    MULTIPART_REQUEST,
    OF_EXPERIMENTER,
    PORT_DESC,
    STATUS,
    VERSION_1_3,
    VERSION_1_5,
    Connection,
    Message,
)
from support.tiers import is_gate

pytestmark = pytest.mark.root
LONGEST = 65535
FLOW_MOD = 14
MOST_MEMORY_KB = 20_000


@pytest.fixture(scope="module")
def between(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    with ends(tmp_path_factory.mktemp("ends")) as made:
        yield made


def _messages(seed: int, count: int, version: int = VERSION_1_5) -> list[bytes]:
    """Of all types and lengths, among them experimenter messages of others and cut ones of ours."""
    draw = random.Random(seed)
    made = []
    for xid in range(count):
        kind = draw.randrange(36)
        body = draw.randbytes(draw.choice([0, 1, 4, 7, 8, 56, 1500, LONGEST - 8]))
        if kind == OF_EXPERIMENTER and len(body) >= 8:
            body = struct.pack("!I", draw.choice([0x2320, EXPERIMENTER + 1])) + body[4:]
        elif kind == OF_EXPERIMENTER and len(body) >= 4:
            body = struct.pack("!I", EXPERIMENTER) + body[4:]
        made.append(Message(version, kind, xid, body).packed)
    return made


def _pass(sender: Connection, receiver: Connection, data: bytes, seed: int) -> None:
    """Send in pieces of any size, and compare what comes out."""
    draw = random.Random(seed)

    def feed() -> None:
        at = 0
        while at < len(data):
            size = draw.choice([1, 7, 9, 100, 4096, 200_000])
            sender.stream.sendall(data[at : at + size])
            at += size

    feeder = threading.Thread(target=feed)
    feeder.start()
    received = bytearray()
    while len(received) < len(data):
        taken = receiver.stream.recv(1 << 18)
        assert taken
        received += taken
    feeder.join()
    assert received == data


@pytest.mark.gate_runs(2)
@pytest.mark.parametrize("version", [VERSION_1_5, VERSION_1_3])
@pytest.mark.parametrize("seed", range(3))
def test_all_else_passes(between: Ends, seed: int, version: int) -> None:
    switch, controller = between.introduced(version)
    data = b"".join(_messages(seed, 200, version))
    _pass(controller, switch, data, seed)
    _pass(switch, controller, data, seed + 1)
    assert controller.ask(FEATURES)


def test_both_ways_at_once(between: Ends) -> None:
    switch, controller = between.introduced()
    data = [b"".join(_messages(seed, 300)) for seed in (100, 101)]
    one = threading.Thread(target=_pass, args=(controller, switch, data[0], 5))
    one.start()
    _pass(switch, controller, data[1], 6)
    one.join()
    assert controller.ask(FEATURES)


def test_requests_among_others_are_taken_out(between: Ends) -> None:
    """Answered in order, and nothing of them reaches the switch."""
    switch, controller = between.introduced()
    others = _messages(3, 100)
    request = Message(VERSION_1_5, OF_EXPERIMENTER, 7, struct.pack("!II", EXPERIMENTER, STATUS))
    mixed = b"".join(other + request.packed for other in others)
    feeder = threading.Thread(target=controller.stream.sendall, args=(mixed,))
    feeder.start()
    wanted, received = b"".join(others), b""
    while len(received) < len(wanted):
        received += switch.stream.recv(1 << 18)
    feeder.join()
    assert received == wanted
    for _ in others:
        assert controller.reply(7, STATUS) == bytes(4)


def _hello(version: int, bitmap: int | None) -> bytes:
    body = b"" if bitmap is None else struct.pack("!HHI", 1, 8, bitmap)
    return Message(version, HELLO, 1, body).packed


@pytest.mark.parametrize(
    ("switch_hello", "controller_hello", "version"),
    [
        (_hello(1, None), _hello(6, None), 1),
        (_hello(6, 0b1010010), _hello(5, 0b110010), 4),
        (_hello(6, 0b10), _hello(6, 0b1110010), 1),
        (_hello(3, None), _hello(6, 0b1110010), 3),
        (_hello(6, 0b1110010), _hello(4, None), 4),
    ],
)
def test_versions(
    between: Ends, switch_hello: bytes, controller_hello: bytes, version: int
) -> None:
    """Before OpenFlow 1.3 all messages pass, also those that would be ours."""
    switch, controller = between.connected(version)
    request = struct.pack("!II", EXPERIMENTER, STATUS)
    switch.stream.sendall(switch_hello)
    controller.stream.sendall(controller_hello)
    switch.receive(lambda message: message.type == HELLO)
    controller.receive(lambda message: message.type == HELLO)
    if version >= VERSION_1_3:
        asked = switch.receive(lambda message: message.type == MULTIPART_REQUEST)
        assert asked.version == version
        switch.send(19, struct.pack("!HHI", PORT_DESC, 0, 0), asked.xid)
        assert controller.ask(STATUS) == bytes(4)
    else:
        passed = controller.send(OF_EXPERIMENTER, request)
        assert switch.receive(lambda message: True).xid == passed
    xid = controller.send(ECHO_REQUEST, b"after")
    assert switch.receive(lambda message: True).xid == xid


def test_messages_before_hello_or_of_another_version_are_the_switchs_business(
    between: Ends,
) -> None:
    switch, controller = between.connected()
    switch.send(HELLO)
    controller.send_request(STATUS)
    assert switch.receive(lambda message: True).exp_type == STATUS
    switch, controller = between.introduced()
    controller.version = VERSION_1_3
    controller.send_request(STATUS)
    assert switch.receive(lambda message: True).exp_type == STATUS


@pytest.mark.parametrize("by_switch", [False, True])
def test_a_message_that_is_none_closes_the_channel(between: Ends, by_switch: bool) -> None:
    whose = "switch" if by_switch else "controller"
    for length in (0, 7):
        switch, controller = between.introduced()
        sender = switch if by_switch else controller
        sender.stream.sendall(struct.pack("!BBHI", VERSION_1_5, FLOW_MOD, length, 1))
        assert switch.has_ended()
        assert controller.has_ended()
        said = f"the {whose} sent a message of {length} bytes, which is none"
        assert said in between.agent.complaints


def _sent_without_reader(sender: Connection, data: bytes) -> int:
    """Bytes that are taken until the sender would wait for long."""
    sender.stream.settimeout(0.3)
    sent = 0
    while sent < 1 << 28:
        try:
            sent += sender.stream.send(data[sent % len(data) :])
        except TimeoutError:
            sender.stream.settimeout(20)
            return sent
    raise AssertionError("nothing holds the sender up")


@pytest.mark.parametrize("by_switch", [False, True])
def test_one_end_waits_for_the_other(between: Ends, by_switch: bool) -> None:
    """Memory is bounded, and nothing is lost when the other end reads at last."""
    switch, controller = between.introduced()
    sender, receiver = (switch, controller) if by_switch else (controller, switch)
    data = Message(VERSION_1_5, FLOW_MOD, 1, bytes(1000)).packed * 1000
    sent = _sent_without_reader(sender, data)
    assert between.agent.memory_kb < MOST_MEMORY_KB
    whole, received = sent - sent % 1008, 0
    while received < whole:
        received += len(receiver.stream.recv(1 << 20))
    assert received == whole


def test_a_controller_that_reads_no_replies_is_asked_no_more(between: Ends) -> None:
    switch, controller = between.introduced()
    body = struct.pack("!II", EXPERIMENTER, ADD_ENTRIES)
    request = Message(VERSION_1_5, OF_EXPERIMENTER, 1, body).packed
    sent = _sent_without_reader(controller, request * 1000)
    assert between.agent.memory_kb < MOST_MEMORY_KB
    xid = switch.send(ECHO_REQUEST)
    echo = controller.receive(lambda message: message.type == ECHO_REQUEST)
    assert echo.xid == xid
    assert sent > 1 << 16


def test_what_was_sent_before_the_end_arrives(between: Ends) -> None:
    """The controller sends and is gone; the switch reads late."""
    switch, controller = between.introduced()
    data = b"".join(Message(VERSION_1_5, FLOW_MOD, n, bytes(992)).packed for n in range(200))
    controller.stream.sendall(data)
    controller.close()
    received = b""
    while taken := switch.stream.recv(1 << 18):
        received += taken
    assert received == data


def test_a_controller_that_is_not_there(between: Ends) -> None:
    """The switch's connection ends; the next attempt finds the controller that is there then."""
    hidden = between.controller.path.rename(between.controller.path.with_suffix(".away"))
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(10)
        stream.connect(between.agent.address.removeprefix("unix:"))
        assert stream.recv(1) == b""
    hidden.rename(between.controller.path)
    assert "cannot connect to the controller" in between.agent.complaints
    assert between.introduced()[1].ask(FEATURES)


def _dialogue() -> bytes:
    """HELLO, a request, a message for the switch, one of the longest kind, cut ones."""
    request = Message(VERSION_1_5, OF_EXPERIMENTER, 2, struct.pack("!II", EXPERIMENTER, STATUS))
    other = Message(VERSION_1_5, FLOW_MOD, 3, bytes(20))
    add = struct.pack("!IIHH", EXPERIMENTER, ADD_ENTRIES, 1, 16) + bytes(16)
    return (
        _hello(VERSION_1_5, None)
        + other.packed
        + request.packed
        + Message(VERSION_1_5, OF_EXPERIMENTER, 4, add).packed
        + other.packed
    )


@pytest.mark.parametrize("resets", [False, True])
def test_a_controller_that_disconnects_at_every_point(between: Ends, resets: bool) -> None:
    """The switch's end is closed as well, having got the whole messages from before."""
    dialogue = _dialogue()
    for point in range(0, len(dialogue) + 1, 10 if is_gate() else 1):
        switch, controller = between.connected()
        switch.send(HELLO)
        controller.stream.sendall(dialogue[:point])
        if resets:
            controller.receive(lambda message: message.type == HELLO)
            switch.send(ECHO_REQUEST)  # unread data makes the end a reset
            assert eventually(lambda c=controller: bool(c.stream.recv(1, socket.MSG_PEEK)))
        controller.close()
        assert switch.has_ended()


def test_after_all_of_this_there_is_nothing_left(between: Ends) -> None:
    for connection in between.opened:
        connection.close()
    descriptors = Path(f"/proc/{between.agent.pid}/fd")
    assert eventually(lambda: len(list(descriptors.iterdir())) < 10)
    assert between.introduced()[1].ask(FEATURES)


def test_addresses_of_tcp(tmp_path: Path) -> None:
    """On both sides, and beside another relay."""
    with ExitStack() as stack:
        listeners, places, options = {}, {}, []
        for host, family in (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)):
            with socket.create_server((host, 0), family=family) as free:
                places[host] = free.getsockname()[1]
            made = socket.create_server((host, 0), family=family)
            listeners[host] = stack.enter_context(made)
            written = f"tcp:[{host}]" if ":" in host else f"tcp:{host}"
            options += ["--relay", f"{written}:{places[host]}={written}:{made.getsockname()[1]}"]
        between = stack.enter_context(ends(tmp_path, options=options))
        for host, port in places.items():
            switch = Connection(socket.create_connection((host, port), timeout=20))
            controller = Connection(listeners[host].accept()[0])
            between.opened += (switch, controller)
            introduce(switch, controller)
            assert controller.ask(FEATURES)
        assert between.introduced()[1].ask(FEATURES)


def test_connections_that_say_nothing_keep_no_switch_out(between: Ends) -> None:
    most_channels = 256
    idle = [between.connected() for _ in range(most_channels + 20)]
    _, controller = between.introduced()
    assert controller.ask(FEATURES)
    assert idle[0][0].stream.recv(1) == b""
    for pair in idle:
        for end in pair:
            end.close()


@pytest.mark.exhaustive  # for 10 s
def test_a_switch_that_says_nothing_is_not_waited_for(between: Ends) -> None:
    switch, controller = between.connected()
    assert switch.stream.recv(1) == controller.stream.recv(1) == b""
