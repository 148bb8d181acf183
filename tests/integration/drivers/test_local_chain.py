"""Chains that the local driver builds, judged by tshark, tcpdump, ping and iperf3."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.local import processes_with, small_workflow
from support.network.echoes import ping
from support.network.transfers import transfer
from support.probing import made
from support.records.scenarios import scenario, topology
from support.vnfs import tampered_sff

from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.server import start_server
from sfcperf.control.drivers import Drivers
from sfcperf.drivers.journal import FileJournal
from sfcperf.drivers.local.dataplane import resolve
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.sff import EbpfSff
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Link, Match, Node, Resources, Topology

pytestmark = pytest.mark.root

REVERSE = str(42 | 1 << 23)
"""SPI of the reverse path."""
USERSPACE = {"engine": "userspace"}
XDP = {"engine": "xdp"}
MIXED = {"node1": "ovs", "node2": "ebpf"}
"""Data planes of nodes: each judges what the other sent."""
OFFLOADS = ("tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload")
BMV2 = pytest.mark.bmv2
BMV2_AND_OTHERS = [
    pytest.param("bmv2", marks=[BMV2, pytest.mark.exhaustive]),
    pytest.param({"node1": "ovs", "node2": "bmv2"}, marks=[BMV2, pytest.mark.exhaustive]),
]
LINES = [
    "ebpf",
    {"a": "ovs", "c": "ovs"},
    pytest.param({"a": "bmv2", "b": "ovs", "c": "ebpf"}, marks=BMV2),
    pytest.param({"a": "ebpf", "b": "bmv2", "c": "ovs"}, marks=BMV2),
]


def tshark(file: Path, *fields: str, only: str = "nsh") -> list[tuple[str, ...]]:
    """Fields of the packets in a capture, as tshark sees them."""
    wanted = [argument for field in fields for argument in ("-e", field)]
    argv = ["tshark", "-r", str(file), "-Y", only, "-T", "fields", *wanted]
    listing = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return [tuple(line.split("\t")) for line in listing.splitlines()]


def capture(deployment: Deployment, folder: Path) -> dict[str, tuple[Path, Process]]:
    """A real tcpdump at every hop, capturing when this returns."""
    running = {}
    deployment.show_packets(True)
    for hop in deployment.hops:
        file, errors = folder / f"{hop.name}.pcap", folder / f"{hop.name}.err"
        argv = ["tcpdump", "--immediate-mode", "-i", hop.interface, "-U", "-w", str(file)]
        running[hop.name] = (file, hop.host.spawn(argv, stderr=errors))
        while "listening on" not in (errors.read_text() if errors.exists() else ""):
            time.sleep(0.01)
    return running


def test_si_falls_from_255_to_253_at_each_hop_of_three_in_t3(
    driver: LocalDriver, tmp_path: Path
) -> None:
    deployment = driver.deploy(scenario(["forwarder"] * 3, where=topology("T3"), knobs=XDP))
    captures = capture(deployment, tmp_path)
    assert ping(deployment, 5) == 5
    for _, process in captures.values():
        process.stop()
    for position, si in ((1, 255), (2, 254), (3, 253)):
        seen = tshark(captures[f"forwarder-{position}"][0], "nsh.spi", "nsh.si", "icmp.type")
        towards, back = str(si), str(si - 1)
        requests = [(spi, index) for spi, index, kind in seen if kind == "8"]
        assert requests == [("42", towards), ("42", back)] * 5
        replies = {(spi, index) for spi, index, kind in seen if kind == "0"}
        first = 255 - (3 - position)
        assert replies == {(REVERSE, str(first)), (REVERSE, str(first - 1))}
    # Each SFF takes one from the TTL before its lookup: the classifier's, then one for each SF.
    towards_first = tshark(
        captures["forwarder-1"][0], "nsh.ttl", only="nsh.si == 255 && icmp.type == 8"
    )
    assert [int(ttl, 16) for (ttl,) in towards_first] == [61] * 5
    # Endpoints know nothing of NSH.
    assert tshark(captures["client"][0], "nsh.spi") == []
    assert tshark(captures["server"][0], "nsh.spi") == []
    # Between nodes it travels in VXLAN-GPE.
    link = tshark(captures["node1-node2"][0], "udp.dstport", "nsh.si", only="nsh && icmp")
    assert ("4790", "255") in {(ports.split(",")[0], si) for ports, si in link}


@pytest.mark.gate_runs("pairwise")
@pytest.mark.parametrize(
    "dataplane", ["ebpf", "ovs", MIXED, *BMV2_AND_OTHERS], ids=str, indirect=True
)
@pytest.mark.parametrize("place", ["T1", "T3"])
@pytest.mark.parametrize("encapsulation", ["nsh-eth", "nsh-vxlan-gpe"])
@pytest.mark.parametrize("knobs", [XDP, USERSPACE], ids=["xdp", "userspace"])
def test_every_way_of_building_it_carries_traffic_both_ways(
    driver: LocalDriver, place: str, encapsulation: str, knobs: dict[str, str]
) -> None:
    chain = scenario(
        ["forwarder", "router", "forwarder"],
        where=topology(place),
        encapsulation=encapsulation,  # type: ignore[arg-type]
        knobs=knobs,
    )
    deployment = driver.deploy(chain)
    assert deployment.encapsulation == encapsulation
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert [(o.function, o.spi, o.si, o.si_after) for o in proof.forward] == [
        ("forwarder-1", 42, 255, 254),
        ("router-2", 42, 254, 253),
        ("forwarder-3", 42, 253, 252),
    ]
    assert [(o.function, o.si, o.si_after) for o in proof.reverse] == [
        ("forwarder-3", 255, 254),
        ("router-2", 254, 253),
        ("forwarder-1", 253, 252),
    ]
    assert ping(deployment) == 3
    # TCP at the full segment size: what is too large for a hop would be lost, not slow. What is
    # in flight when the sender has sent everything does not count as received: at most the buffers
    # of both sockets, which the kernel makes twice as large as is asked.
    for direction in ([], ["-R"]):
        received = transfer(deployment, "-n", "4M", "-w", "128K", *direction)["bytes"]
        assert received >= (4 << 20) - 2 * (2 * 128 << 10)
    assert driver.problems(deployment) == []


def test_spi_and_si_are_those_of_the_workflow(driver: LocalDriver) -> None:
    """By the evidence of the proof, as tshark reads it."""
    chain = scenario(["forwarder"] * 2, spi=7001, initial_si=9, knobs=XDP)
    proof = driver.prove_traversal(driver.deploy(chain), chain)
    assert proof.proven
    assert [(o.spi, o.si) for o in proof.forward] == [(7001, 9), (7001, 8)]
    (name,) = proof.evidence
    seen = tshark(driver.context.raw_dir / name, "frame.interface_name", "nsh.spi", "nsh.si")
    assert {row for row in seen if row[1] == "7001"} == {
        ("forwarder-1", "7001", "9"),
        ("forwarder-1", "7001", "8"),
        ("forwarder-2", "7001", "8"),
        ("forwarder-2", "7001", "7"),
    }


def test_length_zero_is_plain_switching(driver: LocalDriver) -> None:
    """Without offloads, as ethtool sees them, and until an SFF dies, which is noticed."""
    chain = scenario([], where=topology("T3"))
    deployment = driver.deploy(chain)
    assert deployment.encapsulation == "none"
    assert driver.prove_traversal(deployment, chain).proven
    assert ping(deployment) == 3
    for endpoint in (deployment.client, deployment.server):
        listing = endpoint.host.run(["ethtool", "-k", endpoint.interface], timeout_s=5).text
        for offload in OFFLOADS:
            assert f"\n{offload}: off" in listing
            assert deployment.facts["offloads"][endpoint.name][offload] is False
    for pid in deployment.meters["sff@node1"].pids():
        os.kill(pid, signal.SIGKILL)
    while not driver._built[deployment.id].sffs["node1"].problem():
        time.sleep(0.01)
    assert any("the SFF of node1: " in problem for problem in driver.problems(deployment))


def test_processes_of_a_chain(
    driver: LocalDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None has a secret in its environment; a function has the CPUs and the memory that were asked
    for; a probe does not disturb another program at its usual port; what dies is noticed."""
    tag = driver.context.tag
    monkeypatch.setenv("SFCPERF_ES_PASSWORD", f"secret-{tag}")
    monkeypatch.setenv("SFCPERF_RESULTS", f"results-{tag}")
    chain = scenario(["forwarder"], knobs=USERSPACE, resources=Resources(1, 48))
    deployment = driver.deploy(chain)
    log = tmp_path / "other.txt"
    start_server(deployment.server.host, ["iperf3", "-s"], port=5201, stdout=log, stderr=log)
    (plane,) = deployment.facts["dataplane"].values()
    sff = {
        "ovs": {"ovs-vswitchd", "ovsdb-server"},
        "ebpf": {"sfc-sff"},
        "bmv2": {"simple_switch_g", "python"},
    }[plane]
    running = set(processes_with("SFCPERF_RESULTS", f"results-{tag}").values())
    assert sff | {"sfc-forwarder", "iperf3"} <= running
    assert processes_with("SFCPERF_ES_PASSWORD", f"secret-{tag}") == {}

    (pid, *_) = deployment.meters["forwarder-1"].pids()
    status = Path(f"/proc/{pid}/status").read_text()
    assert f"Cpus_allowed_list:\t{deployment.functions[0].vcpus[0]}\n" in status
    assert f"sfcperf-{tag}/forwarder-1" in Path(f"/proc/{pid}/cgroup").read_text()
    limits = [
        path.read_text().strip()
        for folder in driver._built[deployment.id].groups["forwarder-1"].folders.values()
        for path in (folder / "memory.limit_in_bytes", folder / "memory.max")
        if path.exists()
    ]
    assert limits == [str(48 * 1024 * 1024)]

    probe = made(Iperf3, duration_s=1)
    probe.prepare(deployment, tmp_path)
    assert probe.measure(deployment, tmp_path).notes["port"] == 5202
    probe.cleanup()

    assert driver.problems(deployment) == []
    for pid in deployment.meters["forwarder-1"].pids():
        os.kill(pid, signal.SIGKILL)
    while deployment.functions[0].alive() is None:
        time.sleep(0.01)
    (problem,) = driver.problems(deployment)
    assert problem.startswith("forwarder-1: ")
    assert not driver.prove_traversal(deployment, chain).proven


def test_replies_can_bypass_the_chain(driver: LocalDriver) -> None:
    """If they do not, the proof fails."""
    chain = scenario(["forwarder"], reverse="bypass", knobs=XDP)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.proven
    assert proof.reverse == ()
    before = deployment.functions[0].counters()["forwarded"]
    assert ping(deployment, 5) == 5
    assert deployment.functions[0].counters()["forwarded"] - before == 5
    tampered_sff.send_replies_astray(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert any("should bypass the chain" in problem for problem in proof.problems)


def test_only_what_the_classifier_matches_enters_the_chain(driver: LocalDriver) -> None:
    match = Match("tcp", destination_port=5201)
    chain = scenario(["forwarder"], where=topology("T3"), match=match, knobs=XDP)
    deployment = driver.deploy(chain)
    assert driver.prove_traversal(deployment, chain).proven
    counters = deployment.functions[0].counters
    before = counters()["forwarded"]
    assert ping(deployment) == 3
    assert counters()["forwarded"] == before
    transfer(deployment, "-n", "1M")
    assert counters()["forwarded"] > before + 50


@pytest.mark.exhaustive
def test_thirty_two_functions(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"] * 32, knobs=XDP)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert [o.si for o in proof.forward] == list(range(255, 223, -1))
    assert ping(deployment) == 3


@pytest.mark.parametrize("dataplane", LINES, ids=str, indirect=True)
def test_functions_spread_over_a_line_of_nodes(driver: LocalDriver) -> None:
    """a - b - c: from a to c the underlay goes through b."""
    line = Topology(
        "line",
        (Node("a"), Node("b"), Node("c")),
        (Link(("a", "b")), Link(("b", "c"))),
        {"client": "a", "chain": "c", "server": "a"},
    )
    chain = scenario(["forwarder", "router", "forwarder"], where=line, nodes=["c", "a", "b"])
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.problems == ()
    assert ping(deployment) == 3


def test_the_proof_fails_when_a_function_is_left_out(driver: LocalDriver) -> None:
    chain = scenario(["forwarder", "forwarder"], knobs=XDP)
    deployment = driver.deploy(chain)
    tampered_sff.skip_the_second(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert not proof.proven
    assert "forwarder-2 was crossed once by 0 of 3 packets from client to server" in proof.problems


def test_the_proof_fails_when_nsh_stays_on_or_the_si_is_wrong(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], knobs=XDP)
    deployment = driver.deploy(chain)
    tampered_sff.leave_nsh_on(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert "a packet from client to server arrived with its NSH" in proof.problems
    tampered_sff.begin_with_si_200(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert not proof.proven
    assert any("got SPI 42 SI 200 and gave SI 199" in problem for problem in proof.problems)


@pytest.mark.gate_runs(1)
def test_a_link_carries_no_more_than_its_rate(driver: LocalDriver) -> None:
    pair = Topology(
        "pair",
        (Node("node1"), Node("node2")),
        (Link(("node1", "node2"), rate_bps=20_000_000),),
        {"client": "node1", "chain": "node1", "server": "node2"},
    )
    deployment = driver.deploy(scenario([], where=pair))
    received = transfer(deployment, "-u", "-b", "60M", "-t", "1", "-l", "1000")
    assert 10_000_000 < received["bits_per_second"] < 20_500_000


@pytest.mark.exhaustive
def test_si_one_is_not_taken_for_si_twelve(driver: LocalDriver) -> None:
    chain = scenario(["router"] * 11, initial_si=12)
    deployment = driver.deploy(chain)
    sff = driver._built[deployment.id].sffs["node1"]
    assert driver.prove_traversal(deployment, chain).problems == ()
    counted = sff.packets_by_path()
    # Three packets each: for the path, for counters of the data planes, and, as captures may be
    # what carries packets, once more without them on `ebpf`.
    packets = 9 if isinstance(sff, EbpfSff) else 6
    assert [counted[42, si] for si in range(12, 0, -1)] == [packets] * 12


def test_the_manifest_has_the_data_planes_of_nodes_that_are_not_named(tmp_path: Path) -> None:
    document = small_workflow(
        topology={
            "nodes": {"node1": {}, "node2": {}},
            "links": [{"between": ["node1", "node2"]}],
            "placement": dict.fromkeys(("client", "chain", "server"), "node1"),
        },
        infrastructure={"driver": "local", "config": {"dataplane": {"node1": "ovs"}}},
    )
    drivers = Drivers(load_document(document, tmp_path))
    drivers.open(
        run_id="test",
        tags=["abcdef"],
        journal=FileJournal(tmp_path / "journal.jsonl"),
        state_dir=tmp_path / "state",
        raw_dir=tmp_path / "raw",
        log=print,
        services={},
    )
    facts = drivers.facts()["infrastructure"]
    assert facts["dataplane"] == sorted({"ovs", resolve("auto")})
