"""The controller and switches that fail in ways that a real agent does not: a stand-in provokes
them. tests/e2e has real switches and agents."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from schemathesis import checks
from support.any_requests import check_refused_without_token, operations, try_operation
from support.network.wires import eventually
from support.sdnmon import wire
from support.sdnmon.controller import Controller, path
from support.sdnmon.stand_in import EXPERIMENTER, Answer, StandIn
from support.vnfs.rest_controller import REQUEST_S

from sfcperf.dataplane.sdnmon.controller import messages
from sfcperf.dataplane.sdnmon.controller.messages import Kind, Status
from sfcperf.dataplane.sdnmon.fields import Layout

SETTINGS = {"fields": "ipv4_src,tp_dst"}
LAYOUT = Layout({"ipv4_src": 0xFFFFFFFF, "tp_dst": 0xFFFF})
STATUS = Status(
    *(LAYOUT, "hash", 2, 1000, 0.5, 9, 1000, 1000, 0, 2, 0),
    totals=dict.fromkeys(messages.TOTALS, 0),
    ports={"veth0": 3},
)
ENTRIES: list[wire.Entry] = [
    (bytes.fromhex("0a000001 0050 0014"), 1, 3, 180, [(1, 60), (2, 120)]),
    (bytes.fromhex("0a000002 0035 0014"), 0, 5, 500, [(0, 0), (5, 500)]),
]


def send_status(switch: StandIn, xid: int, _: bytes) -> None:
    switch.reply(Kind.STATUS, xid, wire.status(STATUS))


def send_statistics(switch: StandIn, xid: int, content: bytes) -> None:
    slots = 2 if content[0] else 0
    for entry in ENTRIES:
        body = wire.statistics([(*entry[:4], entry[4][:slots])], 8, slots, 9, more=True)
        switch.reply(Kind.STATISTICS, xid, body)
    switch.reply(Kind.STATISTICS, xid, wire.statistics([], 8, slots, 9, more=False))


GOOD: dict[int, Answer] = {Kind.STATUS: send_status, Kind.STATISTICS: send_statistics}
FIRST_PART = wire.statistics(ENTRIES[:1], 8, 2, 9, more=True)


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    made = Controller(tmp_path_factory.mktemp("controller"))
    yield made
    code, said = made.end()
    # What switches sent wrong is said in a line each.
    assert (code, "Traceback" in said) == (0, False), said


Connect = Callable[..., StandIn]


@pytest.fixture
def connect(controller: Controller) -> Iterator[Connect]:
    """Connects a stand-in that the controller then knows."""
    made = []

    def connected(answers: dict[int, Answer], **how: Any) -> StandIn:
        switch = StandIn(controller.openflow, answers={**GOOD, **answers}, **how)
        made.append(switch)
        problem = Kind.FEATURES in answers
        controller.await_switches(1, problem=problem)
        return switch

    yield connected
    for switch in made:
        switch.leave()
    controller.await_switches()


def _later(call: Callable[[], Any]) -> Future[Any]:
    executor = ThreadPoolExecutor(1)
    future = executor.submit(call)
    executor.shutdown(wait=False)
    return future


# --- answers ---


@pytest.mark.parametrize("version", [4, 5, 6])
def test_what_a_switch_can(controller: Controller, connect: Connect, version: int):
    connect({}, version=version)
    [found] = controller.request("GET", "/switches").values()
    assert found["openflow"] == version
    assert found["features"]["most_slots"] == 64
    assert "ipv4_src" in found["features"]["fields"]
    assert "presence" not in found["features"]["fields"]


def test_statistics(controller: Controller, connect: Connect) -> None:
    connect({})
    head, *entries = controller.lines(path(1, "statistics"))
    fields = {"ipv4_src": "255.255.255.255", "tp_dst": 65535}
    known = {"entries": 2, "epoch": 9, "interval_ms": 500, "ratio": 0.5}
    assert head == {**known, "fields": fields}
    added = {"flow": {"ipv4_src": "10.0.0.1", "tp_dst": 80}, "packets": 3, "bytes": 180}
    sampled = {"flow": {"ipv4_src": "10.0.0.2", "tp_dst": 53}, "packets": 5, "bytes": 500}
    assert entries == [
        {**added, "added": True, "intervals": [[9, 2, 120], [8, 1, 60]]},
        {**sampled, "added": False, "intervals": [[9, 5, 500]]},
    ]
    _, *entries = controller.lines(path(1, "statistics?buffers=false"))
    assert [entry.keys() for entry in entries] == [{"flow", "packets", "bytes", "added"}] * 2


def test_volume(controller: Controller, connect: Connect) -> None:
    def none(switch: StandIn, xid: int, _: bytes) -> None:
        unsampled = Status(**{**vars(STATUS), "ratio": 0.0})
        switch.reply(Kind.STATUS, xid, wire.status(unsampled))

    switch = connect({})
    found = controller.request("GET", path(1, "volume"))
    # The sampled flow stands for two, the added one for itself.
    assert [found[name]["value"] for name in ("packets", "bytes", "flows")] == [13, 1180, 3]
    assert (found["sampled_flows"], found["added_flows"]) == (1, 1)
    switch.answers[Kind.STATUS] = none
    status, error = controller.refused("GET", path(1, "volume"))
    assert (status, "no flow is sampled" in error) == (409, True)


def test_keys_are_those_of_the_table(controller: Controller, connect: Connect):
    def changed(switch: StandIn, xid: int, content: bytes) -> None:
        count = struct.unpack_from("!H", content)[0]
        switch.reply(Kind.ADD_ENTRIES, xid, struct.pack("!III", count, 0, 0))

    switch = connect({Kind.ADD_ENTRIES: changed})
    flows = ["ipv4_src=10.0.0.1,tp_dst=80", {"ipv4_src": "10.0.0.2", "tp_dst": 53}]
    found = controller.request("POST", path(1, "entries/add"), {"flows": flows})
    assert found == {"done": 2, "unchanged": 0, "no_room": 0}
    kind, _, content = switch.received[-1]
    keys = [entry[0] for entry in ENTRIES]
    assert (kind, content) == (Kind.ADD_ENTRIES, bytes.fromhex("0002 0008") + b"".join(keys))
    status, error = controller.refused("POST", path(1, "entries/add"), {"flows": ["tp_src=1"]})
    assert (status, "is no field of this table" in error) == (422, True)


# --- failures ---


def test_the_agent_refuses(controller: Controller, connect: Connect) -> None:
    text = "why it does not: für Menschen \x01\x02"
    switch = connect({})
    for code, status in ((1, 502), (2, 409), (3, 409), (4, 409), (5, 502), (6, 503), (99, 502)):
        switch.answers[Kind.MODE_ON] = lambda s, xid, _, code=code: s.refuse(xid, code, text)
        found = controller.refused("PUT", path(1, "monitoring"), SETTINGS)
        assert found == (status, f"{1:016x}: {text}")
        # And the connection works.
        assert controller.request("DELETE", path(1, "monitoring")) is None


@pytest.mark.parametrize("code", [1, 3, 4])
def test_a_switch_without_agent(controller: Controller, connect: Connect, code: int):
    def unknown(kind: int) -> Answer:
        return lambda switch, xid, content: switch.bad_request(kind, xid, content, code)

    connect({kind: unknown(kind) for kind in (Kind.FEATURES, Kind.MODE_ON)})
    [found] = controller.request("GET", "/switches").values()
    assert "it has no agent" in found["problem"]
    status, error = controller.refused("PUT", path(1, "monitoring"), SETTINGS)
    assert (status, "it has no agent" in error) == (409, True)


def test_errors_of_other_applications_are_not_ours(controller: Controller, connect: Connect):
    def others(switch: StandIn, xid: int, _: bytes) -> None:
        flow_mod = struct.pack("!BBHIQQ", 4, 14, 24, xid, 0, 0)
        switch.send(1, xid, struct.pack("!HH", 5, 2) + flow_mod)
        switch.send(1, xid, struct.pack("!HHI", 0xFFFF, 1, 0x4F4E4600) + b"of somebody else")
        switch.send(EXPERIMENTER, xid, struct.pack("!II", 0x4F4E4600, 0x8002))
        switch.reply(Kind.MODE_OFF, xid)

    connect({Kind.MODE_OFF: others})
    assert controller.request("DELETE", path(1, "monitoring")) is None


def test_another_version_of_the_messages(controller: Controller, connect: Connect):
    connect(
        {Kind.FEATURES: lambda s, xid, _: s.reply(Kind.FEATURES, xid, wire.features(version=2))}
    )
    [found] = controller.request("GET", "/switches").values()
    assert "another version" in found["problem"]


def test_openflow_1_0_is_too_old(controller: Controller):
    with StandIn(controller.openflow, version=1):
        controller.await_switches(1, problem=True)
        status, error = controller.refused("GET", path(1, "status"))
        assert (status, "OpenFlow 1.3" in error) == (409, True)
    controller.await_switches()


def test_no_answer(controller: Controller, connect: Connect):
    late = threading.Event()
    held = []

    def silent(switch: StandIn, xid: int, _: bytes) -> None:
        if late.is_set():
            switch.reply(Kind.MODE_OFF, held[0])  # nobody waits for it any more
            switch.reply(Kind.MODE_OFF, xid)
        held.append(xid)

    connect({Kind.MODE_OFF: silent})
    status, error = controller.refused("DELETE", path(1, "monitoring"))
    assert (status, "no answer to MODE_OFF for 5 s" in error) == (504, True)
    late.set()
    assert controller.request("DELETE", path(1, "monitoring")) is None


@pytest.mark.parametrize("after", ["nothing", "a part", "half a part"])
def test_a_switch_leaves_while_a_call_waits(controller: Controller, connect: Connect, after: str):
    def leave(switch: StandIn, xid: int, _: bytes) -> None:
        body = wire.statistics([ENTRIES[0]], 8, 2, 9, more=True)
        if after == "a part":
            switch.reply(Kind.STATISTICS, xid, body)
        elif after == "half a part":
            head = struct.pack("!II", wire.EXPERIMENTER, 0x800C)
            message = struct.pack("!BBHI", 4, 4, 16 + len(body), xid) + head + body
            switch._socket.sendall(message[:40])
        switch.leave()

    connect({Kind.STATISTICS: leave})
    status, error = controller.refused("GET", path(1, "statistics"))
    assert (status, "the connection ended" in error) == (503, True)


@pytest.mark.parametrize(
    "bodies",
    [
        [b""],
        [bytes(23)],
        [wire.statistics([], 12, 2, 9, more=False)],
        [FIRST_PART, wire.statistics(ENTRIES[1:], 8, 2, 10, more=False)],
        [FIRST_PART, wire.statistics([(*ENTRIES[1][:4], [])], 8, 0, 9, more=False)],
    ],
)
def test_statistics_that_are_wrong(
    controller: Controller, connect: Connect, bodies: list[bytes]
) -> None:
    def wrong(switch: StandIn, xid: int, _: bytes) -> None:
        for body in bodies:
            switch.reply(Kind.STATISTICS, xid, body)

    connect({Kind.STATISTICS: wrong})
    assert controller.refused("GET", path(1, "statistics"))[0] == 502


def test_a_reply_without_an_end(controller: Controller, connect: Connect):
    def endless(switch: StandIn, xid: int, content: bytes) -> None:
        body = wire.statistics([(bytes(8), 0, 1, 60, [])] * 1500, 8, 0, 9, more=True)
        while True:  # until the connection is closed, or nobody reads any more
            switch.reply(Kind.STATISTICS, xid, body)

    connect({Kind.STATISTICS: endless})
    status, _ = controller.refused("GET", path(1, "statistics?buffers=false"))
    assert status == 502


def test_readers_that_are_slow(controller: Controller, connect: Connect):
    """Each holds a table; when they leave, there is room again."""

    def many(switch: StandIn, xid: int, _: bytes) -> None:
        count = 1000
        entries = [(number.to_bytes(8), 0, 1, 60, []) for number in range(count)]
        for last in range(100):
            body = wire.statistics(entries, 8, 0, 9, more=last < 99)
            switch.reply(Kind.STATISTICS, xid, body)

    connect({Kind.STATISTICS: many})
    where = f"{controller.url}{path(1, 'statistics')}"
    slow = [
        requests.get(where, headers=controller.headers, stream=True, timeout=REQUEST_S)
        for _ in range(4)
    ]
    assert [answer.status_code for answer in slow] == [200] * 4
    status, error = controller.refused("GET", path(1, "statistics"))
    assert (status, "4 answers with statistics" in error) == (503, True)
    for answer in slow:
        answer.close()
    assert eventually(lambda: controller.client.get(path(1, "volume")).status_code == 200)


def test_a_switch_that_connects_again(controller: Controller, connect: Connect):
    """Its old connection may not be noticed to be dead yet."""
    before = connect({Kind.MODE_OFF: lambda *_: None})
    waiting = _later(lambda: controller.refused("DELETE", path(1, "monitoring")))
    assert eventually(lambda: before.received[-1][0] == Kind.MODE_OFF)
    connect({})
    assert waiting.result()[0] == 503
    assert controller.request("DELETE", path(1, "monitoring")) is None


def test_connections_that_end_leave_no_threads(controller: Controller):
    threads = Path(f"/proc/{controller.process.pid}/task")

    def visit() -> None:
        for version in (1, 4, 9):
            with StandIn(controller.openflow, version=version) as switch:
                switch.send(0, 1)
        controller.await_switches()

    visit()
    assert eventually(lambda: len(list(threads.iterdir())) < 60)
    before = len(list(threads.iterdir()))
    for _ in range(10):
        visit()
    assert eventually(lambda: len(list(threads.iterdir())) <= before + 2)


def test_connections_that_say_nothing_end_and_keep_no_switch_out(
    controller: Controller, connect: Connect
):
    host, port = controller.openflow.rsplit(":", 1)
    idle = [socket.create_connection((host, int(port)), timeout=60) for _ in range(70)]
    with contextlib.ExitStack() as opened:
        for each in idle:
            opened.enter_context(each)
        connect({})
        assert idle[0].recv(1 << 10)  # HELLO
        with contextlib.suppress(ConnectionResetError):
            assert idle[0].recv(1) == b""
    controller.await_switches(1)


def test_notifications(controller: Controller, connect: Connect) -> None:
    switch = connect({})
    before = [each["number"] for each in controller.request("GET", "/notifications")]
    switch.experimenter(0x4000, 0, struct.pack("!QII", 10**18, 101, 100))
    switch.experimenter(0x4000, 0, b"wrong")
    after = f"/notifications?after={max(before, default=0)}"
    assert eventually(lambda: len(controller.request("GET", after)) == 1)
    [found] = controller.request("GET", after)
    known = {"switch": f"{1:016x}", "time_ns": 10**18, "entries": 101, "threshold": 100}
    assert found == {"number": len(before) + 1, **known}


# --- the REST interface ---


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("switch", [1, 0])
def test_whatever_is_sent(controller: Controller, connect: Connect, switch: int) -> None:
    """No 500; answers are as OpenAPI says; nothing is done without a token. Of no switch, and of
    one that answers."""
    connect({kind: _numbers(kind) for kind in (Kind.ADD_ENTRIES, Kind.REMOVE_ENTRIES, Kind.PRUNE)})
    offered = operations(controller.url)
    assert len(offered) == 15
    fixed = {"switch": f"{switch:016x}"}
    for operation in offered:
        # What is wrong may be a parameter without a value, which is not in the URL of a GET.
        excluded = [checks.negative_data_rejection] if operation.method.upper() == "GET" else []
        # Fields and flows are texts, whose grammar the schema does not have.
        headers = controller.headers
        try_operation(operation, headers, 100, gate=3, excluded=excluded, fixed=fixed)


def _numbers(kind: int) -> Answer:
    count = 1 if kind == Kind.PRUNE else 3
    return lambda switch, xid, _: switch.reply(kind, xid, bytes(4 * count))


def test_nothing_without_the_token(controller: Controller, connect: Connect) -> None:
    switch = connect({})
    before = list(switch.received)
    for method, where in (
        ("GET", "/switches"),
        ("DELETE", path(1, "monitoring")),
        ("PUT", path(1, "limit")),
    ):
        check_refused_without_token(method, controller.url + where, controller.token)
    assert switch.received == before


def test_what_is_wrong_is_said(controller: Controller, connect: Connect) -> None:
    connect({})
    wrong = "the request is wrong"
    for method, where, body, status, words in (
        ("GET", path(9, "status"), None, 404, "no switch with this ID"),
        ("GET", "/switches/1/status", None, 422, wrong),
        ("PUT", path(1, "monitoring"), {"fields": "ipv4"}, 422, wrong),
        ("PUT", path(1, "monitoring"), {"fields": {}}, 422, wrong),
        ("PUT", path(1, "monitoring"), {**SETTINGS, "ratio": 2}, 422, wrong),
        ("PUT", path(1, "table"), {**SETTINGS, "capacity": 5, "limit": 6}, 422, wrong),
        ("PUT", path(1, "sampling-ratio"), {"ratio": "1"}, 422, wrong),
        ("PUT", path(1, "limit"), {"limit": 0}, 422, wrong),
        ("POST", path(1, "entries/add"), {"flows": []}, 422, wrong),
        ("GET", "/notifications?before=1", None, 422, wrong),
        ("GET", "/notifications?after=-1", None, 422, wrong),
        ("GET", path(1, "statistics?buffer=true"), None, 422, wrong),
        ("POST", path(1, "status"), None, 405, "Method Not Allowed"),
    ):
        found = controller.refused(method, where, body)
        assert (found[0], words in found[1]) == (status, True), found
