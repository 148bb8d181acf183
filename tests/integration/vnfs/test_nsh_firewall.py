"""What the NSH-aware firewall does with packets, and that its rules need no process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import truediv
from pathlib import Path

import pytest
from scapy.contrib.mpls import MPLS
from scapy.contrib.nsh import NSH
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import (
    ICMPv6EchoRequest,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
)
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from support.attacks.frames import UNPARSED
from support.network.wires import Lab, eventually, ip, space
from support.vnfs.attached import behind_sff
from support.vnfs.counting import counted
from support.vnfs.firewall_bench import (
    A6,
    B6,
    CONTEXT,
    FORMS,
    A,
    B,
    Fire,
    FireBench,
    flow4,
    framed,
    marked,
    start,
    through,
)
from support.vnfs.malformed import damaged

from sfcperf.dataplane import binaries
from sfcperf.errors import DeploymentError
from sfcperf.vnfs.forwarder.function import attach_pass
from sfcperf.vnfs.nsh_firewall.function import NshFirewall
from sfcperf.vnfs.nsh_firewall.tool import BINARY
from sfcperf.workflow.defaults import with_defaults

pytestmark = pytest.mark.root

MAC = "02:00:00:00:aa:02"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fire]:
    with Lab(tmp_path_factory.mktemp("fire")) as lab:
        yield start(lab)


@pytest.fixture
def fire(shared: Fire) -> Fire:
    """One for many tests, without rules."""
    shared[1].request("DELETE", "/rules")
    return shared


@pytest.mark.parametrize("how", FORMS)
def test_flows_are_dropped_in_both_directions(fire: Fire, how: str) -> None:
    bench, client = fire
    packets = [
        flow4(0),
        marked(IP(src=B, dst=A) / UDP(sport=53, dport=1000), 1),
        flow4(2, sport=53, dport=1000),
        flow4(3, kind=TCP),
        marked(IP(src=A, dst=B, options=[Raw(bytes(8))]) / UDP(sport=1000, dport=53), 4),
    ]
    assert through(bench, *packets, how=how) == [0, 1, 2, 3, 4]
    client.block_flow("udp", (A, 1000), (B, 53))
    with counted(bench.function) as seen:
        assert through(bench, *packets, how=how) == [2, 3]
    assert seen == {"received": 6, "forwarded": 3, "dropped": 3, "dropped_by_flow_rule": 3}
    client.request("DELETE", f"/rules/flows/17/{B}/53/{A}/1000")
    assert through(bench, *packets, how=how) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("how", FORMS)
def test_sources_are_dropped(fire: Fire, how: str) -> None:
    """With all they send, but not what is sent to them."""
    bench, client = fire
    client.block_source(A)
    client.block_source(A6)
    packets = [
        flow4(0),
        marked(IP(src=A, dst=B) / ICMP(), 1),
        marked(IP(src=B, dst=A) / UDP(), 2),
        marked(IP(src=A, dst=B, proto=200), 3),
        marked(IPv6(src=A6, dst=B6) / UDP(), 4),
        marked(IPv6(src=B6, dst=A6) / UDP(), 5),
    ]
    assert through(bench, *packets, how=how) == [2, 5]


EXTENSIONS: dict[str, Callable[[], Packet | None]] = {
    "none": lambda: None,
    "hop by hop": IPv6ExtHdrHopByHop,
    "options": lambda: IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(),
    "routing": lambda: IPv6ExtHdrRouting(addresses=[A6, B6]),
    "first fragment": lambda: IPv6ExtHdrFragment(id=1, m=1),
    "all": lambda: (
        IPv6ExtHdrHopByHop()
        / IPv6ExtHdrDestOpt()
        / IPv6ExtHdrRouting(addresses=[A6])
        / IPv6ExtHdrFragment(id=1, m=1)
    ),
}


@pytest.mark.parametrize("how", ["ethernet", "plain"])
def test_flows_of_ipv6(fire: Fire, how: str) -> None:
    bench, client = fire
    client.block_flow("tcp", (A6, 1000), (B6, 80))

    def packet(number: int, more: Packet | None, *ends: tuple[str, int]) -> Packet:
        (source, sport), (destination, dport) = ends
        header = IPv6(src=source, dst=destination)
        return marked((header / more if more else header) / TCP(sport=sport, dport=dport), number)

    for name, extension in EXTENSIONS.items():
        packets = [
            packet(0, extension(), (A6, 1000), (B6, 80)),
            packet(1, extension(), (B6, 80), (A6, 1000)),
            packet(2, extension(), (A6, 1001), (B6, 80)),
        ]
        assert through(bench, *packets, how=how) == [2], name


def test_fragments_and_arp(fire: Fire) -> None:
    bench, client = fire
    whole = IP(src=A, dst=B, id=7) / UDP(sport=1000, dport=53) / Raw(os.urandom(1000))
    pieces = fragment(whole, 400)
    later = IPv6(src=A6, dst=B6) / IPv6ExtHdrFragment(nh=17, offset=100, id=1) / Raw(os.urandom(64))
    client.block_flow("udp", (A, 1000), (B, 53))
    client.block_flow("udp", (A6, 1000), (B6, 53))
    # Only the first fragment has ports: without it the others are of no use.
    assert through(bench, *pieces, later) == [1, 2, 3]
    client.block_source(A)
    client.block_source(A6)
    assert through(bench, *pieces, later) == []
    arp = bench.frame(NSH(spi=42, context_header=CONTEXT) / Ether() / ARP(psrc=A))
    assert len(bench.exchange(arp)) == 1


def test_flows_without_ports_are_all_packets_of_the_protocol(fire: Fire) -> None:
    bench, client = fire
    client.block_flow("icmp", (B, 0), (A, 0))
    client.block_flow("icmpv6", (B6, 0), (A6, 0))
    pings = [marked(IP(src=A, dst=B) / ICMP(id=number), number) for number in range(2)]
    pings.append(marked(IPv6(src=A6, dst=B6) / ICMPv6EchoRequest(), 2))
    late = IP(src=A, dst=B, proto=1, frag=100) / Raw(os.urandom(64))
    assert through(bench, *pings, late, flow4(4)) == [4]


JUDGED = {"priority tag", "priority tag of a provider", "VLAN tag", "two tags"}
INSIDE: dict[str, Callable[[], Packet]] = {
    **{
        name: lambda make=make: (
            NSH(spi=42, context_header=CONTEXT) / make(MAC, MAC, IP(src=A, dst=B) / UDP())
        )
        for name, make in UNPARSED.items()
    },
    "NSH in the NSH": lambda: (
        NSH(spi=42, nextproto=4, context_header=CONTEXT)
        / NSH(spi=42, nextproto=1, context_header=CONTEXT)
        / IP(src=A, dst=B)
        / UDP()
    ),
    "MPLS in the NSH": lambda: (
        NSH(spi=42, nextproto=5, context_header=CONTEXT) / MPLS(s=1) / IP(src=A, dst=B) / UDP()
    ),
    "unknown to RFC 8300": lambda: (
        NSH(spi=42, nextproto=254, context_header=CONTEXT) / IP(src=A, dst=B) / UDP()
    ),
}


def test_a_blocked_source_behind_other_headers(fire: Fire) -> None:
    """The receiver may read what no rule can judge."""
    bench, client = fire
    client.block_source(A)
    for name, inside in INSIDE.items():
        cause = "dropped_by_source_rule" if name in JUDGED else "dropped_unparsed"
        check_dropped(bench, bench.frame(inside()), cause, name)


def check_dropped(bench: FireBench, frame: Packet, cause: str, name: str) -> None:
    """The frame alone, and not the one that ends an exchange."""
    with counted(bench.function) as seen:
        assert bench.exchange(frame) == [], name
    assert seen == {"received": 2, "forwarded": 1, "dropped": 1, cause: 1}, name


CUT = {
    "IPv4 header": (IP(src=A, dst=B), 19),
    "ports": (IP(src=A, dst=B) / UDP(), 22),
    "IPv6 header": (IPv6(src=A6, dst=B6), 39),
    "extension header": (IPv6(src=A6, dst=B6) / IPv6ExtHdrHopByHop() / UDP(), 44),
    "too many": (reduce(truediv, [IPv6(src=A6, dst=B6), *[IPv6ExtHdrDestOpt()] * 6, UDP()]), None),
    "version": (IP(version=5, src=A, dst=B) / UDP(), None),
    "length": (IP(ihl=4, src=A, dst=B) / UDP(), None),
}


def test_what_no_rule_can_judge_is_dropped(fire: Fire) -> None:
    bench, _ = fire
    for part, (packet, size) in CUT.items():
        version = 2 if isinstance(packet, IPv6) else 1
        header = NSH(spi=42, nextproto=version, context_header=CONTEXT)
        frame = bench.frame(header / Raw(bytes(packet)[:size]))
        check_dropped(bench, frame, "dropped_unparsed", part)


def test_survives_damaged_packets(fire: Fire) -> None:
    """Nothing crashes; every packet is counted once."""
    bench, client = fire
    client.block_source(A)
    chance = random.Random(0)
    originals = [bytes(framed(bench, flow4(), how)) for how in FORMS]
    six = IPv6(src=A6, dst=B6) / IPv6ExtHdrHopByHop() / IPv6ExtHdrFragment() / UDP()
    originals += [bytes(framed(bench, marked(six, 1), how)) for how in FORMS]
    rounds = 20
    with counted(bench.function) as new:
        for _ in range(rounds):
            bench.exchange(*(damaged(chance.choice(originals), chance) for _ in range(50)))
    assert bench.function.problem() is None
    assert new["received"] == new["forwarded"] + new["dropped"]
    assert new["received"] + new.get("passed", 0) == 51 * rounds
    causes = sum(count for name, count in new.items() if name.startswith("dropped_"))
    assert causes == new["dropped"] > 0


@pytest.mark.exhaustive
def test_rules_hold_while_their_filter_is_cleared_for_others(lab: Lab) -> None:
    """The smallest filter takes turns after a few rules: those in force must not be lost in one."""
    bench, _ = start(lab, max_rules=16)
    argv = [str(binaries.find(BINARY)), "--interface", "sf0", "change"]
    chance = random.Random(1)
    lasting: list[int] = []
    brief, hosts = range(40, 48), range(64)
    packets = [marked(IP(src=f"192.0.2.{host}", dst=B) / UDP(), host) for host in hosts]
    for turn in range(20):
        if turn % 4 == 0:
            lasting.append(turn)
        # 1 ms is over when the tool has ended and the packets are sent.
        lines = [f"source 1 192.0.2.{host}" for host in brief]
        lines += [f"source 60000 192.0.2.{host}" for host in lasting[-1:]]
        chance.shuffle(lines)
        bench.sf.host.run(argv, stdin="\n".join([*lines, ""]).encode(), timeout_s=10)
        time.sleep(0.005)
        assert through(bench, *packets) == [host for host in hosts if host not in lasting]


# --- without a process ---


@pytest.mark.parametrize("on_failure", ["fail-open", "fail-closed"])
def test_killed(lab: Lab, on_failure: str) -> None:
    bench, client = start(lab, on_failure=on_failure)
    client.block_flow("udp", (A, 1000), (B, 53))
    rules = bench.function._rules  # type: ignore[attr-defined]
    rules._spawn = lambda: None  # it stays dead
    os.kill(rules.pid, signal.SIGKILL)
    assert eventually(lambda: bool(rules.restarts))
    frames = [framed(bench, each) for each in (flow4(), flow4(1, sport=1001))]
    bench.wire.send([bytes(frame) for frame in frames])
    counted_as = "forwarded" if on_failure == "fail-open" else "dropped_while_failed"
    wanted = {"fail-open": 1, "fail-closed": 2}[on_failure]
    # A packet is counted as received before it is counted as what becomes of it.
    found = bench.counted(lambda now: (now["received"], now[counted_as]) == (2, wanted))
    assert (found["received"], found[counted_as]) == (2, wanted)
    assert len(bench.wire.drain()) == {"fail-open": 1, "fail-closed": 0}[on_failure]


def test_nothing_stays(lab: Lab) -> None:
    bench, client = start(lab)
    client.block_source("192.0.2.1")
    pid = changing(bench)
    for _ in range(2):
        bench.function.stop()
        [link] = json.loads(ip("-n", space(bench.sf.host), "-j", "link", "show", "dev", "sf0"))
        assert "xdp" not in link
        assert bench.function.problem() == "sf0 carries no firewall"
    assert not Path(f"/proc/{pid}").exists()


def test_what_a_killed_run_left_is_replaced_and_others_are_not(lab: Lab) -> None:
    bench, client = start(lab)
    client.block_source(A)
    tool = bench.function._tool  # type: ignore[attr-defined]
    tool.attach(bench.function._policy)  # type: ignore[attr-defined]
    assert through(bench, flow4()) == [0]
    bench.function.stop()
    attach_pass(bench.sf.host, ["sf0"])
    with pytest.raises(DeploymentError, match="another XDP program is attached"):
        NshFirewall.start(
            bench.sf.host,
            behind_sff("fw-1", bench.sf, lab.outputs),
            with_defaults(NshFirewall.parameters, {}),
        )
    [link] = json.loads(ip("-n", space(bench.sf.host), "-j", "link", "show", "dev", "sf0"))
    assert "xdp" in link


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        ([], 2, "--interface is missing"),
        (["--interface", "lo"], 2, "one COMMAND is needed"),
        (["--interface", "lo", "start"], 2, "'start' is not attach"),
        (["--interface", "lo", "attach"], 1, "is not an Ethernet interface"),
        (["--interface", "nothing", "list"], 1, "No such device"),
        (["--interface", "lo", "--max-rules", "0", "attach"], 2, "from 1 to 1000000"),
    ],
)
def test_wrong_options_are_said(argv: list[str], status: int, words: str) -> None:
    done = subprocess.run([str(binaries.find(BINARY)), *argv], capture_output=True, text=True)
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr


def test_wrong_rules_are_said(fire: Fire) -> None:
    bench, _ = fire
    argv = [str(binaries.find(BINARY)), "--interface", "sf0", "change"]
    for line in (
        "flow 5 6 192.0.2.1 80 198.51.100.1",
        "flow 5 6 192.0.2.1 80 2001:db8::1 80",
        "flow 5 256 192.0.2.1 80 198.51.100.1 80",
        "flow -5 6 192.0.2.1 80 198.51.100.1 80",
        "source 5 192.0.2",
        "source x 192.0.2.1",
        "lease -",
        "nonsense",
    ):
        text = f"source 1 192.0.2.99\n{line}\n".encode()
        done = bench.sf.host.run(argv, stdin=text, timeout_s=10, check=False)
        assert (done.returncode, b"line 2: this is no rule" in done.stderr) == (1, True), line


# --- the process that makes changes ---


def in_force(bench: FireBench) -> set[str]:
    """Sources of rules, as the kernel has them."""
    argv = [str(binaries.find(BINARY)), "--interface", "sf0", "list"]
    lines = bench.sf.host.run(argv, timeout_s=10).text.splitlines()
    return {line.split()[2] for line in lines if line.startswith("source ")}


def changing(bench: FireBench) -> int:
    """Its process id."""
    conversation = bench.function._tool._changing  # type: ignore[attr-defined]
    return int(conversation.pid)


def test_a_wrong_line_undoes_nothing_and_ends_nothing(fire: Fire) -> None:
    bench, _ = fire
    argv = [str(binaries.find(BINARY)), "--interface", "sf0", "change"]
    conversation = bench.sf.host.converse(argv)
    text = b"source 60000 192.0.2.1\nnonsense\nsource 60000 192.0.2.2\n\n"
    assert conversation.ask(text, 10) == b"failed: line 2: this is no rule"
    assert in_force(bench) == {"192.0.2.1"}
    assert conversation.ask(b"source 60000 192.0.2.3\nsource - 192.0.2.1\n\n", 10) == b"done"
    assert in_force(bench) == {"192.0.2.3"}
    assert conversation.ask(b"\n", 10) == b"done"
    conversation.close()
    bench.sf.host.run(argv, stdin=b"source - 192.0.2.3\n", timeout_s=10)


def test_changes_reach_the_program_that_is_there(lab: Lab) -> None:
    """A process that had its maps at hand would change those of one that is gone."""
    bench, client = start(lab)
    tool = bench.function._tool  # type: ignore[attr-defined]
    client.block_source("192.0.2.1")
    pid = changing(bench)
    tool._run("detach")
    answer = client.client.put("/rules/sources/192.0.2.2", json={"ttl_s": 60})
    assert (answer.status_code, "sf0 carries no firewall" in answer.json()["error"]) == (503, True)
    tool.attach(bench.function._policy)  # type: ignore[attr-defined]
    client.block_source("192.0.2.3")
    assert (in_force(bench), changing(bench)) == ({"192.0.2.3"}, pid)


def test_killed_between_changes(fire: Fire) -> None:
    bench, client = fire
    client.block_source("192.0.2.1")
    pid = changing(bench)
    os.kill(pid, signal.SIGKILL)
    client.block_source("192.0.2.2")
    assert in_force(bench) == {"192.0.2.1", "192.0.2.2"}
    assert changing(bench) != pid


def test_killed_during_a_change(fire: Fire) -> None:
    bench, client = fire
    client.block_source("192.0.2.1")
    os.kill(pid := changing(bench), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        setting = pool.submit(client.block_source, "192.0.2.2")
        # The change is in its pipe, and nobody reads it.
        assert eventually(lambda: bench.function._tool._changing is None)  # type: ignore[attr-defined]
        os.kill(pid, signal.SIGKILL)
        setting.result()
    assert in_force(bench) == {"192.0.2.1", "192.0.2.2"}


def test_killed_twice_during_a_change_is_told(fire: Fire, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, client = fire
    tool = bench.function._tool  # type: ignore[attr-defined]
    client.block_source("192.0.2.1")
    monkeypatch.setattr(tool, "_argv", ["false"])
    os.kill(changing(bench), signal.SIGKILL)
    answer = client.client.put("/rules/sources/192.0.2.2", json={"ttl_s": 60})
    assert (answer.status_code, "false has ended" in answer.json()["error"]) == (503, True)
    monkeypatch.undo()
    client.block_source("192.0.2.3")
    assert in_force(bench) == {"192.0.2.1", "192.0.2.3"}


def test_killed_again_and_again(fire: Fire) -> None:
    """Whatever it does just then, what was answered is in force."""
    bench, client = fire
    addresses = [f"192.0.2.{host}" for host in range(1, 251)]

    def block_all() -> None:
        for address in addresses:
            client.block_source(address)

    chance = random.Random(1)
    killed = set()
    with ThreadPoolExecutor(1) as pool:
        setting = pool.submit(block_all)
        while not setting.done():
            time.sleep(chance.uniform(0, 0.01))
            conversation = bench.function._tool._changing  # type: ignore[attr-defined]
            if conversation is not None and conversation.pid not in killed:
                killed.add(conversation.pid)
                os.kill(conversation.pid, signal.SIGKILL)
        setting.result()
    assert in_force(bench) == set(addresses)
    assert len(killed) > 5
