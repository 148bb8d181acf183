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
BACK = NAMES[::-1]
Prove = Callable[..., TraversalProof]


@pytest.fixture(scope="module")
def steered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steered]:
    skip_unless(*requirements())
    with Lab(tmp_path_factory.mktemp("steered")) as lab:
        yield Steered(lab, NAMES)


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
def test_a_chain_as_asked_is_proven(
    steered: Steered, proof: Prove, tmp_path: Path, protocol: str
) -> None:
    """Of its evidence, tcpdump finds the marks where the proof says that they were."""
    steered.steer(NAMES, BACK)
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
    files = [tmp_path / "raw" / name for name in found.evidence]
    ends, functions = ["client.pcap", "server.pcap"], [f"{name}.pcap" for name in NAMES]
    assert [file.name for file in files] == [*ends, *functions, "marks.json"]
    marks = json.loads(files[-1].read_text())["from client to server"]
    for file in files[:-1]:
        shown = _tcpdump(file)
        for mark in marks:
            assert shown.count(mark) == (1 if file.name in ends else 2)
    for host in steered.hosts.values():
        assert host.namespace is not None
        argv = ["ip", "netns", "pids", host.namespace.name]
        assert subprocess.run(argv, capture_output=True, check=True).stdout == b""


def test_replies_may_bypass_and_addresses_change_on_the_way(
    steered: Steered, proof: Prove, tmp_path: Path
) -> None:
    """Behind a function that translates, packets have another source."""
    ruleset = b"""table ip t {
        chain c { type nat hook postrouting priority 100; oifname eth2 snat to 198.18.9.9
        }
    }"""
    steered.hosts["b"].run(["nft", "-f", "-"], stdin=ruleset, timeout_s=10)
    try:
        steered.steer(NAMES, [])
        found = proof(reverse="bypass", match=Match("udp"))
    finally:
        steered.hosts["b"].run(["nft", "delete", "table", "ip", "t"], timeout_s=10)
    assert (found.proven, found.problems, found.reverse) == (True, (), ())
    translated = bytes([198, 18, 9, 9]).hex()
    assert translated in _tcpdump(tmp_path / "raw" / "traversal-d0001" / "c.pcap")
    assert translated not in _tcpdump(tmp_path / "raw" / "traversal-d0001" / "a.pcap")


def test_without_functions_nothing_is_between(steered: Steered, proof: Prove) -> None:
    steered.steer([], [])
    found = proof(functions=())
    assert (found.proven, found.problems, found.forward, found.reverse) == (True, (), (), ())
    steered.steer(["a"], [])
    found = proof(functions=())
    assert "the server received it with TTL 63, not 64" in found.problems[0]


ALL = "(3 of 3 packets from client to server)"


@pytest.mark.parametrize(
    ("forward", "others", "problem"),
    [
        ("bac", [], "a received it with TTL 63, not 64: it did not come directly from the client"),
        ("ac", [], f"the packet entered b 0 times instead of once {ALL}"),
        (
            "abc",
            [Flow("server", "a-out", "a-in", only="nw_ttl=63")],
            f"the packet entered a 2 times instead of once {ALL}",
        ),
        (
            "abc",
            [Flow("server", "c-out", "client")],
            f"the server received the packet 0 times instead of once {ALL}",
        ),
        (
            "abc",
            [Flow("server", "a-out", "b-out"), Flow("server", "b-out", "c-in")],
            f"the packet entered b by eth2 instead of eth1 {ALL}",
        ),
    ],
    ids=["order", "left out", "twice", "lost", "wrong side"],
)
def test_requests_that_go_otherwise_are_found(
    steered: Steered, proof: Prove, forward: str, others: list[Flow], problem: str
) -> None:
    steered.steer(forward, BACK)
    if others:
        steered.add(others)
    found = proof()
    assert not found.proven
    assert problem in " ".join(found.problems)
    assert all("from client to server" in problem for problem in found.problems)


@pytest.mark.parametrize(
    ("back", "reverse", "problem"),
    [
        ("", "symmetric", "the packet entered c 0 times instead of once"),
        ("abc", "symmetric", "not 64: it did not come directly from the server"),
        ("b", "bypass", "b was crossed by a packet that should bypass the chain"),
    ],
    ids=["around", "order", "no bypass"],
)
def test_replies_that_go_otherwise_are_found(
    steered: Steered, proof: Prove, back: str, reverse: str, problem: str
) -> None:
    steered.steer(NAMES, back)
    found = proof(reverse=reverse)
    assert not found.proven
    assert problem in " ".join(found.problems)
    assert "from server to client" in found.problems[0]


def test_a_function_that_nobody_asked_for_is_found(steered: Steered, proof: Prove) -> None:
    """Even when it is not watched: it lowers the TTL."""
    steered.steer(NAMES, BACK)
    found = proof(functions=("a", "c"))
    assert not found.proven
    assert "c received it with TTL 62, not 63: it did not come directly from a" in found.problems[0]


def test_a_chain_that_comes_late_is_waited_for(steered: Steered, proof: Prove) -> None:
    steered.steer("ac", BACK)
    late = threading.Timer(1.5, steered.steer, [NAMES, BACK])
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


def _tcpdump(file: Path) -> str:
    """Packets in hexadecimal without blanks."""
    argv = ["tcpdump", "-n", "-t", "-x", "-r", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    rows = [row.split(":", 1)[1] for row in done.stdout.splitlines() if row.startswith("\t0x")]
    return "".join(row.replace(" ", "") for row in rows)
