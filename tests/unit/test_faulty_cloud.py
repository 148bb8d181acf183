"""The proxy that breaks a cloud, before a small real server: what fails, what passes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
import yaml
from support.faulty_cloud.catalogue import Service
from support.faulty_cloud.clouds import NAME, write_clouds
from support.faulty_cloud.faults import Answer, Delay, Fault, Garble, HangUp, Straggle, Truncate
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Request, Rule, Script
from support.network.answering import answering


class Api(ThreadingHTTPServer):
    """Two services of one origin: `/network/...` keeps things, `/identity/...` has a catalogue."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.things: list[str] = []
        self.heard: list[tuple[str, str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def endpoints(self) -> list[tuple[str, str]]:
        return [("network", f"{self.url}/network"), ("identity", f"{self.url}/identity/v3")]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def _answer(self, status: int, document: object, **headers: str) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._hear()
        if self.path.startswith("/identity"):
            url = self.server.url
            return self._answer(200, {"links": [url, f"{url}/network", f"{url}0"]})
        if self.path.startswith("/network/elsewhere"):
            return self._answer(302, None, Location=f"{self.server.url}/network/things")
        return self._answer(200, {"things": self.server.things})

    def do_POST(self) -> None:
        self._hear()
        name = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.things.append(name)
        self._answer(201, {"thing": name})

    def do_DELETE(self) -> None:
        self._hear()
        self.server.things.clear()
        self.send_response(204)
        self.end_headers()

    def _hear(self) -> None:
        self.server.heard.append((self.command, self.path, dict(self.headers)))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Api]:
    with answering(Api()) as server:
        yield server


@pytest.fixture
def proxy(api: Api) -> Iterator[Proxy]:
    with Proxy(api.endpoints) as running:
        yield running


@pytest.fixture
def things(api: Api, proxy: Proxy) -> str:
    """Where the network's things are, by the proxy."""
    return proxy.rewritten(f"{api.url}/network/things")


def posting(fault: Fault, **when: int | None) -> Rule:
    return Rule(fault, "network", "POST", r"/things$", **when)


def outcome(url: str) -> int | str:
    """Status of a POST of the thing `a`, or the name of what `requests` raised."""
    try:
        answer = requests.post(url, data="a", timeout=10)
        answer.json()
    except requests.RequestException as error:
        return type(error).__name__
    return answer.status_code


def test_what_no_rule_concerns_passes_as_it_is(api: Api, proxy: Proxy, things: str) -> None:
    with proxy.failing(posting(HangUp(False))) as script:
        answer = requests.get(f"{things}?name=%2Fa&b", headers={"X-Token": "t"}, timeout=10)
        assert requests.delete(things, timeout=10).status_code == 204
    assert answer.json() == {"things": []}
    assert [(method, path) for method, path, _ in api.heard] == [
        ("GET", "/network/things?name=%2Fa&b"),
        ("DELETE", "/network/things"),
    ]
    headers = api.heard[0][2]
    assert headers["X-Token"] == "t"
    assert headers["Host"] == api.url.removeprefix("http://")
    assert [(each.request, each.status) for each in script.exchanges] == [
        (Request("network", "GET", "/network/things", "name=%2Fa&b"), 200),
        (Request("network", "DELETE", "/network/things"), 204),
    ]
    assert script.injected == []


def test_addresses_of_the_cloud_become_the_proxys(api: Api, proxy: Proxy, things: str) -> None:
    ours = things.removesuffix("/network/things")
    links = requests.get(f"{ours}/identity/v3", timeout=10).json()["links"]
    # A port that only begins like the cloud's is another one.
    assert links == [ours, f"{ours}/network", f"{api.url}0"]
    moved = requests.get(f"{ours}/network/elsewhere", timeout=10, allow_redirects=False)
    assert moved.headers["Location"] == things


@pytest.mark.parametrize(
    ("fault", "seen", "made"),
    [
        (Answer(503), "JSONDecodeError", []),
        (Answer(409), 409, []),
        (Answer(504, reached=True), "JSONDecodeError", ["a"]),
        (HangUp(reached=False), "ConnectionError", []),
        (HangUp(reached=True), "ConnectionError", ["a"]),
        (Truncate(), "ChunkedEncodingError", ["a"]),
        (Garble(), "JSONDecodeError", ["a"]),
        (Delay(0.01), 201, ["a"]),
    ],
)
def test_each_fault(
    api: Api, proxy: Proxy, things: str, fault: Fault, seen: int | str, made: list[str]
) -> None:
    with proxy.failing(posting(fault)) as script:
        assert outcome(things) == seen
        assert api.things == made
        # Once only.
        assert outcome(things) == 201
    assert api.things == [*made, "a"]
    assert [each.fault for each in script.exchanges] == [fault, None]
    assert [each.fault for each in script.injected] == [fault]
    assert script.silent == []


def test_a_straggler_arrives_when_all_is_over(api: Api) -> None:
    with Proxy(api.endpoints) as proxy:
        things = proxy.rewritten(f"{api.url}/network/things")
        with proxy.failing(posting(Straggle(600))):
            assert outcome(things) == "ConnectionError"
            assert api.things == []
            assert requests.post(things, data="b", timeout=10).status_code == 201
    assert api.things == ["b", "a"]


@pytest.mark.parametrize("value", ["2", None])
def test_retry_after(proxy: Proxy, things: str, value: str | None) -> None:
    with proxy.failing(posting(Answer(429, retry_after=value))):
        answer = requests.post(things, data="a", timeout=10)
    assert (answer.status_code, answer.headers.get("Retry-After")) == (429, value)


def test_a_server_that_is_down_is_a_closed_connection(unused_port: int) -> None:
    with Proxy([("network", f"http://127.0.0.1:{unused_port}")]) as proxy:
        url = proxy.rewritten(f"http://127.0.0.1:{unused_port}/things")
        with proxy.failing() as script:
            assert outcome(url) == "ConnectionError"
    assert [each.status for each in script.exchanges] == [None]


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_rules_count_what_concerns_them() -> None:
    """Of two rules for one call the second meets the retry; `times` is a row without gaps."""
    busy, lost = posting(Answer(503)), posting(HangUp(True), nth=3, times=2)
    script = Script([busy, lost])
    call, other = Request("network", "POST", "/v2/things"), Request("network", "POST", "/v2/thing")
    faults = [script.fault_of(request) for request in (other, call, call, other, call)]
    assert faults == [None, Answer(503), None, None, HangUp(True)]
    assert script.silent == [lost]
    assert [script.fault_of(call), script.fault_of(call)] == [HangUp(True), None]
    assert script.silent == []


def test_a_fault_for_ever() -> None:
    script = Script([posting(Answer(503), nth=2, times=None)])
    call = Request("network", "POST", "/v2/things")
    assert script.silent != []
    assert [script.fault_of(call) for _ in range(4)] == [None, *[Answer(503)] * 3]
    assert script.silent == []


def test_services_of_one_origin_are_told_by_the_path() -> None:
    service = Service(
        [
            ("compute", "http://c/nova/v2.1/"),
            ("placement", "http://c/nova"),
            ("network", "http://c"),
        ]
    )
    assert service.of("/nova/v2.1") == service.of("/nova/v2.1/servers") == "compute"
    assert service.of("/nova/v2.10") == "placement"
    assert service.of("/v2.0/ports") == service.of("/novae") == "network"
    assert Service([("compute", "http://c/v2.1")]).of("/") == "compute"


def test_an_entry_of_its_own(api: Api, proxy: Proxy, tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    entry = {"auth": {"auth_url": f"{api.url}/identity/v3", "username": "u"}, "region_name": "R"}
    real.write_text(yaml.safe_dump({"clouds": {"c": entry, "d": entry}}))
    (tmp_path / "into").mkdir()
    written = yaml.safe_load(write_clouds(proxy, real, "c", tmp_path / "into").read_text())
    assert written["clouds"]["c"] == written["clouds"]["d"] == entry
    ours = written["clouds"][NAME]
    assert ours["auth"]["auth_url"] == proxy.rewritten(entry["auth"]["auth_url"])
    assert requests.get(ours["auth"]["auth_url"], timeout=10).status_code == 200
    assert ours["region_name"] == "R"
