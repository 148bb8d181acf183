"""The proxy that breaks a cloud, before a small real server: what fails, what passes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from support.cloud.broken_api import BrokenApi
from support.faulty_cloud.faults import Answer, Delay, Fault, Garble, HangUp, Straggle, Truncate
from support.faulty_cloud.proxy import Proxy
from support.faulty_cloud.rules import Request, Rule, Script

TOKEN = {"X-Auth-Token": "t"}


@pytest.fixture
def api() -> Iterator[BrokenApi]:
    with BrokenApi() as server:
        server.tokens.add("t")
        yield server


def before(api: BrokenApi) -> Proxy:
    return Proxy([("network", f"{api.url}/network"), ("identity", f"{api.url}/identity/v3")])


def networks(api: BrokenApi, proxy: Proxy) -> str:
    return proxy.rewritten(f"{api.url}/network/v2.0/networks")


def posting(fault: Fault, **when: int | None) -> Rule:
    return Rule(fault, "network", "POST", r"/networks$", **when)


def outcome(url: str, name: str = "a") -> int | str:
    """Status of a POST of a network, or the name of what `requests` raised."""
    try:
        answer = requests.post(url, json={"network": {"name": name}}, headers=TOKEN, timeout=10)
        answer.json()
    except requests.RequestException as error:
        return type(error).__name__
    return answer.status_code


def test_what_no_rule_concerns_passes_with_the_proxys_addresses(api: BrokenApi) -> None:
    asked = "/network/v2.0/networks?name=%2Fa&b"
    with before(api) as proxy, proxy.failing(posting(HangUp(False))):
        answer = requests.get(proxy.rewritten(api.url) + asked, headers=TOKEN, timeout=10)
        keystone = proxy.rewritten(f"{api.url}/identity/v3")
        version = requests.get(keystone, timeout=10).json()["version"]
    assert answer.json() == {"networks": []}
    assert api.requests == [("GET", asked), ("GET", "/identity/v3")]
    assert version["links"][0]["href"] == f"{keystone}/"


@pytest.mark.parametrize(
    ("fault", "seen", "made"),
    [
        (Answer(503), "JSONDecodeError", []),
        (Answer(409, retry_after="2"), 409, []),
        (Answer(504, reached=True), "JSONDecodeError", ["a"]),
        (HangUp(reached=False), "ConnectionError", []),
        (HangUp(reached=True), "ConnectionError", ["a"]),
        (Truncate(), "ChunkedEncodingError", ["a"]),
        (Garble(), "JSONDecodeError", ["a"]),
        (Delay(0.01), 201, ["a"]),
    ],
)
def test_each_fault_is_met_once(
    api: BrokenApi, fault: Fault, seen: int | str, made: list[str]
) -> None:
    with before(api) as proxy, proxy.failing(posting(fault)) as script:
        assert outcome(networks(api, proxy)) == seen
        assert api.names("networks") == made
        assert outcome(networks(api, proxy)) == 201
    assert api.names("networks") == [*made, "a"]
    assert script.silent == []


def test_a_straggler_arrives_when_all_is_over(api: BrokenApi) -> None:
    with before(api) as proxy, proxy.failing(posting(Straggle(600))):
        assert outcome(networks(api, proxy)) == "ConnectionError"
        assert api.names("networks") == []
        assert outcome(networks(api, proxy), "b") == 201
    assert api.names("networks") == ["a", "b"]


def test_rules_count_what_concerns_them() -> None:
    """Of two rules for one call the second meets the retry; `times` is a row without gaps."""
    busy, lost = posting(Answer(503)), posting(HangUp(True), nth=3, times=2)
    forever = Rule(Answer(500), "network", "DELETE", "/networks/", nth=2, times=None)
    script = Script([busy, lost, forever])
    call, other = Request("network", "POST", "/v2/networks"), Request("network", "POST", "/v2/x")
    faults = [script.fault_of(request) for request in (other, call, call, other, call)]
    assert faults == [None, Answer(503), None, None, HangUp(True)]
    assert script.silent == [lost, forever]
    removal = Request("network", "DELETE", "/v2/networks/1")
    assert [script.fault_of(removal) for _ in range(3)] == [None, Answer(500), Answer(500)]
    assert [script.fault_of(call), script.fault_of(call)] == [HangUp(True), None]
    assert script.silent == []
