"""The rule interface of a firewall between two raw ends: what it answers, and what then passes."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.packet import Packet, Raw
from support.any_requests import check_refused_without_token, operations, try_operation
from support.network.wires import Lab, eventually
from support.vnfs.counting import counted
from support.vnfs.kernel_lab import CLIENT, SERVER, Between
from support.vnfs.rule_client import RuleClient, flow_path, rule_client

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.firewall.function import Firewall
from sfcperf.vnfs.rule_interface import policy, running
from sfcperf.vnfs.rule_interface.api import MOST_BODY_BYTES

pytestmark = pytest.mark.root

ALLOWED = "203.0.113.9"
Make = Callable[..., tuple[Between, RuleClient]]


@pytest.fixture
def make(lab: Lab) -> Make:
    """A firewall whose rules are set by REST, and a client."""

    def made(**knobs: Any) -> tuple[Between, RuleClient]:
        between = Between(lab, Firewall, {"rules_by": "rest", "rules": 3, **knobs})
        client = RuleClient(between.function.rule_interface())
        lab.at_end(client.client.close)
        return between, client

    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Between, RuleClient]]:
    with Lab(tmp_path_factory.mktemp("rest")) as lab:
        knobs = {"rules_by": "rest", "rules": 3, "allow": ["203.0.113.0/24"], "max_ttl_s": 600}
        between = Between(lab, Firewall, knobs)
        with rule_client(between.function.rule_interface()) as client:
            yield between, client


@pytest.fixture
def firewall(shared: tuple[Between, RuleClient]) -> tuple[Between, RuleClient]:
    """One for many tests, without rules."""
    shared[1].request("DELETE", "/rules")
    return shared


@pytest.fixture
def rest(firewall: tuple[Between, RuleClient]) -> RuleClient:
    """For tests of answers alone."""
    return firewall[1]


def udp(sport: int = 1000, dport: int = 53, source: str = CLIENT) -> Packet:
    return IP(src=source, dst=SERVER) / UDP(sport=sport, dport=dport) / Raw(b"x" * 64)


# --- answers ---


def test_whatever_is_sent(rest: RuleClient) -> None:
    """No 500; answers are as OpenAPI says; nothing is done without a token."""
    offered = operations(rest.url)
    assert len(offered) == 8
    for operation in offered:
        # A flow of IPv4 and IPv6 is right by the schema, and refused.
        try_operation(operation, rest.headers, 100, gate=5)


def test_nothing_without_the_token(rest: RuleClient) -> None:
    rest.block_source("192.0.2.77")
    token = rest.headers["Authorization"].removeprefix("Bearer ")
    for method, path in (
        ("GET", "/status"),
        ("GET", "/rules"),
        ("PUT", "/rules"),
        ("DELETE", "/rules"),
        ("PUT", "/rules/sources/192.0.2.1"),
        ("DELETE", "/rules/sources/192.0.2.77"),
    ):
        check_refused_without_token(method, rest.url + path, token)
    assert [each["source"] for each in rest.rules()] == ["192.0.2.77"]


@pytest.mark.parametrize(
    "path", ["/rules/sources/192.0.2.5", flow_path("tcp", (CLIENT, 5), (SERVER, 80))]
)
def test_put_and_delete_are_idempotent(rest: RuleClient, path: str) -> None:
    answers = [rest.client.put(path, json={"ttl_s": 50}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert [rest.client.delete(path).status_code for _ in range(2)] == [204, 204]
    assert rest.client.put(path, json={"ttl_s": 50}).status_code == 201
    large = rest.client.put("/rules", content=b" " * (MOST_BODY_BYTES + 1))
    assert large.status_code == 413


def test_a_flow_has_one_rule_for_both_directions(rest: RuleClient) -> None:
    one, other = ("2001:DB8::1", 5), ("2001:db8:0::2", 80)
    assert rest.client.put(flow_path(6, one, other), json={"ttl_s": 9}).status_code == 409
    one, other = ("192.0.2.9", 5), ("192.0.2.10", 80)
    rest.block_flow("tcp", one, other)
    assert rest.client.put(flow_path(6, other, one), json={"ttl_s": 9}).status_code == 200
    [listed] = rest.rules()
    flow = {"protocol": 6, "src": "192.0.2.10", "src_port": 80, "dst": "192.0.2.9", "dst_port": 5}
    assert listed["flow"] == flow
    assert 8 < listed["expires_in_s"] <= 9


def test_many_at_once(rest: RuleClient) -> None:
    rest.block_source("192.0.2.0")
    flow = {"protocol": "udp", "src": CLIENT, "src_port": 1, "dst": SERVER, "dst_port": 2}
    asked = [{"source": f"192.0.2.{n}", "ttl_s": 60} for n in range(100)]
    asked += [{"flow": flow, "ttl_s": 60}, {"source": ALLOWED, "ttl_s": 60}]
    asked += [{"flow": {**flow, "dst": ALLOWED}, "ttl_s": 60}, {"source": "::1", "ttl_s": 60}]
    assert rest.request("PUT", "/rules", {"rules": asked}) == {
        "added": 100,
        "renewed": 1,
        "refused": [
            {"index": 101, "reason": "allow-listed"},
            {"index": 102, "reason": "allow-listed"},
            {"index": 103, "reason": "ip-version"},
        ],
    }
    listed = rest.rules(limit=7)
    assert [each["source"] for each in listed[:-1]] == [f"192.0.2.{n}" for n in range(100)]
    assert listed[-1]["flow"]["protocol"] == 17
    status = rest.status()
    assert (status["flow_rules"], status["source_rules"]) == (1, 100)


@pytest.mark.parametrize(
    ("path", "body", "where", "words"),
    [
        ("/rules/sources/x", {"ttl_s": 5}, "path: address", "IPv4 or IPv6 address"),
        ("/rules/sources/192.0.2.1", {"ttl_s": 0}, "/ttl_s", "greater than 0"),
        ("/rules/sources/192.0.2.1", {"ttl_s": 601}, "/ttl_s", "too long"),
        ("/rules/sources/192.0.2.1", {"ttl_s": 5, "x": 1}, "/x", "Extra inputs"),
        (flow_path("icmp", (CLIENT, 1), (SERVER, 0)), {"ttl_s": 5}, "path: src", "no ports"),
        (flow_path(6, ("::1", 1), (SERVER, 0)), {"ttl_s": 5}, "path: src", "both IPv6"),
        (flow_path("http", (CLIENT, 1), (SERVER, 0)), {"ttl_s": 5}, "path: protocol", "tcp"),
        ("/rules", {"rules": [{"source": "192.0.2.1"}]}, "/rules/0/ttl_s", "required"),
        ("/rules", {"rules": [{"ttl_s": 5}]}, "/rules/0", "either `source` or `flow`"),
        (
            "/rules",
            {"rules": [{"source": "192.0.2.1", "ttl_s": ttl_s} for ttl_s in (1, 1, 601)]},
            "/rules/2/ttl_s",
            "too long",
        ),
    ],
)
def test_what_is_wrong_is_said(
    rest: RuleClient, path: str, body: Any, where: str, words: str
) -> None:
    answer = rest.client.put(path, json=body)
    assert answer.status_code == 422, answer.text
    problems = answer.json()["problems"]
    assert (where, True) in [(each["where"], words in each["message"]) for each in problems]
    assert rest.rules() == []


def test_the_allow_list_holds(rest: RuleClient) -> None:
    answer = rest.client.put(f"/rules/sources/{ALLOWED}", json={"ttl_s": 5})
    assert (answer.status_code, "allow-listed" in answer.json()["error"]) == (409, True)
    path = flow_path("tcp", (ALLOWED, 5), (SERVER, 80))
    assert rest.client.put(path, json={"ttl_s": 5}).status_code == 409


# --- packets ---


def test_flows_are_dropped_in_both_directions(firewall: tuple[Between, RuleClient]) -> None:
    between, client = firewall
    with counted(between.function) as seen:
        assert len(between.there(udp(), udp(1001))) == 2
        client.block_flow("udp", (CLIENT, 1000), (SERVER, 53))
        assert [each[UDP].sport for each in between.there(udp(), udp(1001))] == [1001]
        back = [IP(src=SERVER, dst=CLIENT) / UDP(sport=53, dport=port) for port in (1000, 1001)]
        assert [each[UDP].dport for each in between.back(*back)] == [1001]
        # The same ports of another protocol are another flow.
        assert len(between.there(IP(src=CLIENT, dst=SERVER) / TCP(sport=1000, dport=53))) == 1
    assert seen == {
        "received": 7,
        "forwarded": 5,
        "passed_all_rules": 5,
        "dropped": 2,
        "dropped_by_flow_rule": 2,
    }
    client.request("DELETE", flow_path("udp", (SERVER, 53), (CLIENT, 1000)))
    assert len(between.there(udp())) == 1


def test_sources_are_dropped_with_all_their_fragments(
    firewall: tuple[Between, RuleClient],
) -> None:
    between, client = firewall
    whole = IP(src=CLIENT, dst=SERVER) / UDP(sport=1000, dport=53) / Raw(b"x" * 900)
    first, *others = pieces = fragment(whole, 400)
    assert len(pieces) == 3
    client.block_flow("udp", (CLIENT, 1000), (SERVER, 53))
    with counted(between.function) as seen:
        # Only the first fragment has ports: without it the others are of no use.
        arrived = [each[IP].frag for each in between.there(*pieces)]
        assert arrived == [piece.frag for piece in others]
        assert first.frag not in arrived
        client.block_source(CLIENT)
        assert between.there(*pieces, udp(7)) == []
        # What others send to it still arrives.
        assert len(between.back(IP(src=SERVER, dst=CLIENT) / UDP(sport=5, dport=6))) == 1
    assert (seen["dropped_by_flow_rule"], seen["dropped_by_source_rule"]) == (1, 4)


def test_flows_without_ports_are_all_packets_of_the_protocol(
    firewall: tuple[Between, RuleClient],
) -> None:
    between, client = firewall
    client.block_flow("icmp", (SERVER, 0), (CLIENT, 0))
    pings = [IP(src=CLIENT, dst=SERVER) / ICMP(id=number) for number in range(3)]
    assert [each[IP].proto for each in between.there(*pings, udp())] == [17]
    assert between.back(IP(src=SERVER, dst=CLIENT) / ICMP(type=0)) == []


def test_rules_end_with_their_time(firewall: tuple[Between, RuleClient]) -> None:
    between, client = firewall
    expired = client.status()["expired"]
    client.block_source(CLIENT, 0.5)
    client.block_flow("udp", (CLIENT, 1000), (SERVER, 53), 0.5)
    assert eventually(lambda: len(between.there(udp())) == 1)
    assert eventually(lambda: client.status()["expired"] == expired + 2)
    assert client.rules() == []
    # Renewed, a rule ends later, or earlier, than was said at first.
    client.block_source(CLIENT, 0.2)
    client.block_source(CLIENT, 60)
    client.block_flow("udp", (CLIENT, 5), (SERVER, 53), 0.2)
    assert eventually(lambda: client.status()["flow_rules"] == 0)
    assert between.there(udp(9)) == []
    client.block_source(CLIENT, 0.2)
    assert eventually(lambda: len(between.there(udp())) == 1)


def test_spoofed_sources_fill_no_more_than_there_is(make: Make) -> None:
    between, client = make(max_rules=100, max_changes_per_s=150)
    flow = {"protocol": 6, "dst": SERVER, "dst_port": 80, "src_port": 5}
    asked = [
        {"flow": {**flow, "src": f"10.{n // 256}.{n % 256}.1"}, "ttl_s": 60} for n in range(500)
    ]
    outcome = client.request("PUT", "/rules", {"rules": asked})
    assert outcome["added"] == 100
    assert {each["reason"] for each in outcome["refused"]} == {"full"}
    answer = client.client.put(flow_path(6, (CLIENT, 1), (SERVER, 80)), json={"ttl_s": 5})
    assert (answer.status_code, "full" in answer.json()["error"]) == (409, True)
    # What is there can be renewed, and sources have room of their own.
    assert client.request("PUT", "/rules", {"rules": asked[:50]})["renewed"] == 50
    client.block_source(CLIENT)
    assert between.there(udp()) == []
    # No faster than was declared.
    renewals = client.request("PUT", "/rules", {"rules": asked[:100] * 20})
    assert {each["reason"] for each in renewals["refused"]} == {"rate"}
    assert len(renewals["refused"]) > 1000


# --- the process ---


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("on_failure", ["fail-open", "fail-closed"])
def test_killed(make: Make, monkeypatch: pytest.MonkeyPatch, on_failure: str) -> None:
    between, client = make(on_failure=on_failure)
    client.block_flow("udp", (CLIENT, 1000), (SERVER, 53))
    client.block_source("192.0.2.1")
    before = client.rules()
    rules = between.function._rules  # type: ignore[attr-defined]
    goes_on, spawn = threading.Event(), rules._spawn
    monkeypatch.setattr(rules, "_spawn", lambda: goes_on.wait() and spawn())
    try:
        os.kill(rules.pid, signal.SIGKILL)
        assert eventually(lambda: bool(rules.restarts))
        through = {"fail-open": [1001], "fail-closed": []}[on_failure]
        assert [each[UDP].sport for each in between.there(udp(), udp(1001))] == through
        assert between.function.problem() is None
    finally:
        goes_on.set()
    # The same address and token; who asks meanwhile waits.
    after = client.rules()
    assert [{**each, "expires_in_s": 0} for each in after] == [
        {**each, "expires_in_s": 0} for each in before
    ]
    assert [each[UDP].sport for each in between.there(udp(), udp(1001))] == [1001]
    client.block_source(CLIENT)
    assert between.there(udp(1001)) == []
    counters = between.function.counters()
    assert counters["rule_interface_restarts"] == 1
    assert counters["dropped_while_failed"] == {"fail-open": 0, "fail-closed": 2}[on_failure]


def test_hanging_fail_closed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it says when its rules are gone."""
    monkeypatch.setattr("sfcperf.vnfs.rule_interface.keeper.LEASE_S", 1.0)
    between, client = make(on_failure="fail-closed")
    pid = between.function._rules.pid  # type: ignore[attr-defined]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert eventually(lambda: between.there(udp()) == [])
    finally:
        os.kill(pid, signal.SIGCONT)
    assert eventually(lambda: len(between.there(udp())) == 1)
    assert policy.LEASE_S > policy.TICK_S
    between.host.run(["nft", "flush", "ruleset"], timeout_s=10)
    assert str(between.function.problem()).startswith("the firewall's rules are gone")
    answer = client.client.put("/rules/sources/192.0.2.1", json={"ttl_s": 5})
    assert answer.status_code == 503
    assert "the data plane did not take the change" in answer.json()["error"]


def test_one_that_never_works_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.sys, "executable", "/bin/false")
    with pytest.raises(DeploymentError, match=r"the rule interface: it has ended 21 times"):
        make()


def test_one_that_dies_again_and_again_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    between, _ = make()
    monkeypatch.setattr(running.sys, "executable", "/bin/false")
    os.kill(between.function._rules.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    assert eventually(lambda: between.function.problem() is not None)
    assert "has ended 21 times" in str(between.function.problem())


def test_nothing_stays(make: Make) -> None:
    between, client = make()
    rules = between.function._rules  # type: ignore[attr-defined]
    pid, port = rules.pid, int(client.url.rpartition(":")[2])
    between.function.stop()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    listing = between.host.run(["nft", "list", "ruleset"], timeout_s=10).text
    assert "sfcperf" not in listing
    between.function.stop()


def test_the_token_is_in_no_command_line_and_no_environment(
    firewall: tuple[Between, RuleClient],
) -> None:
    between, client = firewall
    pid = between.function._rules.pid  # type: ignore[attr-defined]
    token = client.headers["Authorization"].removeprefix("Bearer ").encode()
    for file in ("cmdline", "environ"):
        assert token not in Path(f"/proc/{pid}/{file}").read_bytes()
    assert token.decode() not in repr(between.function.rule_interface())
