"""The proof of traversal for infrastructures that chain by themselves, on a switch that steers well
or badly: what it says must be so."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from support.needs import skip_unless
from support.network.steered import Flow, Steered
from support.network.wires import Lab
from support.records.scenarios import scenario

from sfcperf.drivers.openstack.traversal.proof import prove, requirements
from sfcperf.errors import DeploymentError
from sfcperf.management.deployment import TraversalProof
from sfcperf.workflow.model import Match

pytestmark = pytest.mark.root
NAMES = ("a", "b", "c")
Prove = Callable[..., TraversalProof]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    skip_unless(*requirements())
    with Lab(tmp_path_factory.mktemp("steered")) as made:
        yield made


@pytest.fixture(scope="module")
def steered(lab: Lab) -> Steered:
    return Steered(lab, NAMES)


@pytest.fixture
def proof(steered: Steered, tmp_path: Path) -> Prove:
    """Prove the chain of all functions, or of `functions`, once and for all."""

    def proven(
        functions: Sequence[str] = NAMES,
        reverse: str = "symmetric",
        match: Match | None = None,
        settle_s: float = 0.0,
    ) -> TraversalProof:
        chosen = [f for f in steered.functions if f.name in functions]
        asked = scenario(["router"] * len(chosen), reverse=reverse, match=match)  # type: ignore[arg-type]
        client, server = steered.endpoints
        folder = tmp_path / "raw" / "traversal-d0001"
        return prove(
            client,
            server,
            chosen,
            steered.macs,
            asked,
            folder,
            settle_s=settle_s,
            arrival_timeout_s=0.6,
        )

    return proven


@pytest.mark.parametrize("protocol", ["any", "udp", "tcp"])
def test_a_chain_as_asked_is_proven(steered: Steered, proof: Prove, protocol: str) -> None:
    steered.steer(NAMES, NAMES[::-1])
    found = proof(match=Match(protocol))  # type: ignore[arg-type]
    assert (found.proven, found.problems) == (True, ())
    assert [(h.function, h.packets, h.ttl, h.ttl_after) for h in found.forward] == [
        ("a", 3, 64, 63),
        ("b", 3, 63, 62),
        ("c", 3, 62, 61),
    ]
    assert [(h.function, h.packets, h.ttl) for h in found.reverse] == [
        ("c", 3, 64),
        ("b", 3, 63),
        ("a", 3, 62),
    ]
    assert {(h.spi, h.si, h.si_after) for h in found.forward} == {(None, None, None)}


def test_its_evidence_is_for_anybody(steered: Steered, proof: Prove, tmp_path: Path) -> None:
    """tcpdump finds the marks where the proof says that they were."""
    steered.steer(NAMES, NAMES[::-1])
    found = proof(match=Match("udp"))
    files = [tmp_path / "raw" / name for name in found.evidence]
    assert [file.name for file in files] == [
        "client.pcap",
        "server.pcap",
        "a.pcap",
        "b.pcap",
        "c.pcap",
        "marks.json",
    ]
    marks = json.loads(files[-1].read_text())["from client to server"]
    for file in files[:-1]:
        shown = _tcpdump(file)
        for mark in marks:
            assert shown.count(mark) == (1 if file.name in ("client.pcap", "server.pcap") else 2)


def test_replies_may_bypass(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, [])
    found = proof(reverse="bypass")
    assert (found.proven, found.problems, found.reverse) == (True, (), ())


def test_without_functions_nothing_is_between(steered: Steered, proof: Prove) -> None:
    steered.steer([], [])
    found = proof(functions=())
    assert (found.proven, found.problems, found.forward, found.reverse) == (True, (), (), ())


def test_addresses_may_change_on_the_way(steered: Steered, proof: Prove, tmp_path: Path) -> None:
    """Behind a function that translates, packets have another source."""
    rules = (
        "table ip t {",
        "chain c { type nat hook postrouting priority 100;",
        "oifname eth2 snat to 198.18.9.9",
        "}",
        "}",
    )
    ruleset = "\n".join(rules).encode()
    steered.hosts["b"].run(["nft", "-f", "-"], stdin=ruleset, timeout_s=10)
    try:
        steered.steer(NAMES, [])
        found = proof(reverse="bypass", match=Match("udp"))
    finally:
        steered.hosts["b"].run(["nft", "delete", "table", "ip", "t"], timeout_s=10)
    assert (found.proven, found.problems) == (True, ())
    translated = bytes([198, 18, 9, 9]).hex()
    assert translated in _tcpdump(tmp_path / "raw" / "traversal-d0001" / "c.pcap")
    assert translated not in _tcpdump(tmp_path / "raw" / "traversal-d0001" / "a.pcap")


def test_a_wrong_order_is_found(steered: Steered, proof: Prove) -> None:
    steered.steer(["b", "a", "c"], NAMES[::-1])
    found = proof()
    assert not found.proven
    assert [h.function for h in found.forward] == ["b", "a", "c"]
    assert (
        "a received it with TTL 63, not 64: it did not come directly from the client"
        in " ".join(found.problems)
    )
    assert all("from client to server" in problem for problem in found.problems)


def test_a_function_that_is_left_out_is_found(steered: Steered, proof: Prove) -> None:
    steered.steer(["a", "c"], NAMES[::-1])
    found = proof()
    assert not found.proven
    assert found.problems == (
        "the packet entered b 0 times instead of once (3 of 3 packets from client to server)",
    )
    assert {h.function: h.packets for h in found.forward}["b"] == 0


def test_a_function_that_is_crossed_twice_is_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, NAMES[::-1])
    steered.add([Flow("server", "a-out", "a-in", only="nw_ttl=63")])
    found = proof()
    assert not found.proven
    assert found.problems == (
        "the packet entered a 2 times instead of once (3 of 3 packets from client to server)",
    )


def test_replies_that_go_around_are_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, [])
    found = proof()
    assert not found.proven
    assert found.problems == (
        "the packet entered c 0 times instead of once (3 of 3 packets from server to client)",
    )


def test_replies_in_the_order_of_requests_are_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, NAMES)
    found = proof()
    assert not found.proven
    assert "from server to client" in found.problems[0]


def test_replies_that_should_bypass_and_do_not_are_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, ["b"])
    found = proof(reverse="bypass")
    assert not found.proven
    assert found.problems[0] == (
        "the client received it with TTL 63, not 64: it did not come directly from the server "
        "(3 of 3 packets from server to client)"
    )
    assert "b was crossed by a packet that should bypass the chain" in found.problems[1]


def test_a_function_that_nobody_asked_for_is_found(steered: Steered, proof: Prove) -> None:
    """Even when it is not watched: it lowers the TTL."""
    steered.steer(NAMES, NAMES[::-1])
    found = proof(functions=("a", "c"))
    assert not found.proven
    assert "c received it with TTL 62, not 63: it did not come directly from a" in found.problems[0]


def test_a_chain_of_none_that_is_one_is_found(steered: Steered, proof: Prove) -> None:
    steered.steer(["a"], [])
    found = proof(functions=())
    assert "the server received it with TTL 63, not 64" in found.problems[0]


def test_packets_that_do_not_arrive_are_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, NAMES[::-1])
    steered.add([Flow("server", "c-out", "client")])
    found = proof()
    assert found.problems == (
        "the server received the packet 0 times instead of once "
        "(3 of 3 packets from client to server)",
    )


def test_a_function_entered_by_the_wrong_side_is_found(steered: Steered, proof: Prove) -> None:
    steered.steer(NAMES, NAMES[::-1])
    steered.add([Flow("server", "a-out", "b-out"), Flow("server", "b-out", "c-in")])
    found = proof()
    assert found.problems == (
        "the packet entered b by eth2 instead of eth1 (3 of 3 packets from client to server)",
    )


def test_a_chain_that_comes_late_is_waited_for(steered: Steered, proof: Prove) -> None:
    steered.steer(["a", "c"], NAMES[::-1])
    late = threading.Timer(1.5, steered.steer, [NAMES, NAMES[::-1]])
    late.start()
    found = proof(settle_s=20.0)
    late.join()
    assert (found.proven, found.problems) == (True, ())
    assert "attempt 1," not in found.method


def test_a_host_that_cannot_be_watched_is_told(
    steered: Steered, proof: Prove, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = steered.hosts["b"]
    spawn = host.spawn
    monkeypatch.setattr(
        host, "spawn", lambda argv, **to: spawn(["tcpdump", "-i", "gone", *argv[3:]], **to)
    )
    with pytest.raises(DeploymentError, match=r"tcpdump does not capture at b: .*gone"):
        proof()


def test_nothing_keeps_running(steered: Steered, proof: Prove) -> None:
    proof()
    for host in steered.hosts.values():
        assert host.namespace is not None
        done = subprocess.run(
            ["ip", "netns", "pids", host.namespace.name], capture_output=True, text=True, check=True
        )
        assert done.stdout == ""


def _tcpdump(file: Path) -> str:
    """Packets in hexadecimal without blanks."""
    argv = ["tcpdump", "-n", "-t", "-x", "-r", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    rows = [row.split(":", 1)[1] for row in done.stdout.splitlines() if row.startswith("\t0x")]
    return "".join(row.replace(" ", "") for row in rows)
