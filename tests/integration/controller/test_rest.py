"""The REST interface of a controller whose switches are all absent."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from support.any_requests import check_refused_without_token, operations, try_operation
from support.network.wires import Lab, eventually, ip, space
from support.sfcmon.controller_bench import Switches, packet
from support.sfcmon.controller_process import ControllerProcess
from support.sfcmon.controller_states import two_switches
from support.vnfs.rest_controller import REQUEST_S

from sfcperf.hosts.process import inside
from sfcperf.vnfs.sfcmon.controller.api import MOST_BODY_BYTES

# Root: addresses of switches are random, so that the controller must reach nothing.
pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def namespace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder)) as lab:
        host = lab.host("nowhere")
        ip("-n", space(host), "link", "set", "lo", "up")
        assert host.namespace is not None
        yield host.namespace


@pytest.fixture(scope="module")
def controller(namespace: Path) -> Iterator[ControllerProcess]:
    folder = Path(tempfile.mkdtemp(prefix="ctl-"))
    made = ControllerProcess(folder, "127.0.0.1:0", namespace)
    yield made
    with inside(namespace):
        assert made.end() == (0, "")
    shutil.rmtree(folder)


@pytest.fixture
def rest(controller: ControllerProcess, namespace: Path) -> Iterator[ControllerProcess]:
    """With the resources of two switches."""
    with inside(namespace):
        state = two_switches()
        state["paths"] = {"10": state["paths"][10]}
        for switch in state["switches"].values():
            switch["ports"] = {str(port): mtu for port, mtu in switch["ports"].items()}
        controller.request("PUT", "/state", state)
        yield controller


@pytest.fixture(scope="module")
def offered(controller: ControllerProcess, namespace: Path) -> list[Any]:
    """All operations."""
    with inside(namespace):
        return operations(controller.url)


def test_whatever_is_sent(offered: list[Any], rest: ControllerProcess) -> None:
    """No 500; answers are as OpenAPI says; nothing is done without a token."""
    _send_whatever(offered, rest)


@pytest.mark.bmv2
@pytest.mark.exhaustive
def test_whatever_is_sent_with_switches(offered: list[Any], rest: ControllerProcess) -> None:
    with Switches() as switches:
        state = switches.state(window_ms=50)
        rest.request("PUT", "/state", state)
        assert eventually(rest.in_sync)
        _send_whatever(offered, rest, kept="/state")
        rest.request("PUT", "/state", state)
        assert eventually(rest.in_sync)
        switches.server.drain()
        switches.client.send([packet()])
        assert eventually(lambda: len(switches.server.waiting()) == 1)


def _send_whatever(offered: list[Any], rest: ControllerProcess, kept: str | None = None) -> None:
    """`kept`: what is not replaced."""
    assert len(offered) > 30
    for operation in offered:
        if (operation.method.upper(), operation.path) != ("PUT", kept):
            # Resources that are right by themselves may refer to what is not there.
            try_operation(operation, rest.headers, 20, gate=3)


# --- access ---


def test_nothing_without_the_token(rest: ControllerProcess) -> None:
    before = rest.request("GET", "/state")
    for method, path in (
        ("GET", "/state"),
        ("PUT", "/state"),
        ("DELETE", "/rules/there"),
        ("GET", "/nothing"),
    ):
        check_refused_without_token(method, rest.url + path, rest.token)
    lower = {"Authorization": f"bearer {rest.token}"}
    assert requests.get(f"{rest.url}/state", headers=lower, timeout=REQUEST_S).status_code == 401
    assert rest.request("GET", "/state") == before


def test_a_large_body_is_not_read(rest: ControllerProcess) -> None:
    """And a body needs a length."""
    host, port = rest.url.removeprefix("http://").split(":")
    for token, status in ((rest.token, b"413"), ("x", b"401")):
        with socket.create_connection((host, int(port)), timeout=REQUEST_S) as connection:
            head = f"PUT /state HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            length = f"Content-Length: {MOST_BODY_BYTES + 1}\r\n\r\n"
            connection.sendall((head + length).encode())
            assert connection.recv(100).split()[1] == status
    assert rest.client.put("/state", content=iter([b"{}"])).status_code == 411


# --- resources ---


def test_put_is_idempotent(rest: ControllerProcess) -> None:
    chain = {"types": ["forwarder"]}
    answers = [rest.client.put("/chains/short", json=chain) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    assert rest.request("GET", "/chains/short") == chain
    assert sorted(rest.request("GET", "/chains")) == ["short", "web"]
    assert [rest.client.delete("/chains/short").status_code for _ in range(2)] == [204, 404]
    assert rest.client.get("/chains/short").status_code == 404


RULE = {"switch": "s1", "port": 1, "priority": 1}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "where", "words"),
    [
        ("PUT", "/chains/web", {"types": []}, 422, "/types", "at least 1 item"),
        ("PUT", "/chains/web", {"types": ["a"], "x": 1}, 422, "/x", "Extra inputs"),
        ("PUT", "/chains/a%20b", {"types": ["a"]}, 422, "path: name", "pattern"),
        ("PUT", "/paths/0", {}, 422, "path: name", "greater than or equal to 1"),
        ("PUT", "/rules/there", {**RULE, "path": 12}, 422, "/path", "no path with SPI 12"),
        ("PUT", "/rules/there", {**RULE, "path": 10, "match": {"source": "1.2.3.4/8"}}, 422,
         "/match/source", "has host bits set"),
        ("PUT", "/chains/web", {"types": ["a"]}, 409, "/paths/10/hops", "2 functions, but chain"),
        ("DELETE", "/functions/fw-1", None, 409, "/paths/10/hops/1", "no function 'fw-1'"),
        ("DELETE", "/paths/10", None, 409, "/rules/back/path", "no path with SPI 11"),
        ("PUT", "/monitoring/s1", {}, 422, "", "no Thrift interface"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    rest: ControllerProcess,
    method: str,
    path: str,
    body: Any,
    status: int,
    where: str,
    words: str,
) -> None:
    before = rest.request("GET", "/state")
    answer = rest.client.request(method, path, json=body)
    assert answer.status_code == status, answer.text
    problems = answer.json()["problems"]
    assert (where, True) in [(each["where"], words in each["message"]) for each in problems]
    assert rest.request("GET", "/state") == before


def test_what_is_no_json(rest: ControllerProcess) -> None:
    headers = {"Content-Type": "application/json"}
    nested = ["{", "[" * 100_000, '{"types": ["\\ud800"]}', '{"types": NaN}', "1" * 5000, "\0"]
    for text in (*nested, "NaN", "null"):
        answer = rest.client.put("/chains/web", content=text, headers=headers)
        assert (answer.status_code, bool(answer.json()["problems"])) == (422, True), text[:20]


def test_what_is_not_there(rest: ControllerProcess) -> None:
    for method, path, status, words in (
        ("GET", "/switches/s9/counters", 404, "there is no switch s9"),
        ("GET", "/switches/s1/counters", 409, "s1: "),
        ("GET", "/switches/s1/flows", 409, "switch 's1' is not monitored"),
        ("POST", "/switches/s1/windows", 409, "switch 's1' is not monitored"),
        ("GET", "/nothing", 404, "Not Found"),
        ("POST", "/state", 405, "Method Not Allowed"),
    ):
        answer = rest.client.request(method, path)
        assert (answer.status_code, words in answer.json()["error"]) == (status, True), answer.text


def test_absent_switches_are_in_the_status(rest: ControllerProcess) -> None:
    status = rest.request("GET", "/status")["switches"]
    assert sorted(status) == ["s1", "s2"]
    for each in status.values():
        assert not each["connected"]
        assert not each["in_sync"]
        assert each["problem"]
