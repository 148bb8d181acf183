"""Chains that the local driver builds, judged by tshark, tcpdump, ping and iperf3."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.local import processes_with
from support.network.echoes import ping
from support.network.transfers import transfer
from support.probing import made
from support.records.scenarios import scenario, topology
from support.vnfs import tampered_sff

from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.server import start_server
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.local.sff import EbpfSff
from sfcperf.hosts.base import Process
from sfcperf.management.deployment import Deployment
from sfcperf.workflow.model import Link, Match, Node, Resources, Scenario, Topology

pytestmark = pytest.mark.root

REVERSE = str(42 | 1 << 23)
"""SPI of the reverse path."""
USERSPACE = {"engine": "userspace"}
XDP = {"engine": "xdp"}
MIXED = {"node1": "ovs", "node2": "ebpf"}
"""Data planes of nodes: each judges what the other sent."""
BMV2 = pytest.mark.bmv2
BMV2_AND_OTHERS = [
    pytest.param("bmv2", marks=[BMV2, pytest.mark.exhaustive]),
    pytest.param({"node1": "bmv2", "node2": "ebpf"}, marks=[BMV2, pytest.mark.exhaustive]),
    pytest.param({"node1": "ovs", "node2": "bmv2"}, marks=[BMV2, pytest.mark.exhaustive]),
]
LINES = [
    "ebpf",
    pytest.param("ovs", marks=pytest.mark.exhaustive),
    pytest.param({"b": "ovs"}, marks=pytest.mark.exhaustive),
    {"a": "ovs", "c": "ovs"},
    pytest.param("bmv2", marks=[BMV2, pytest.mark.exhaustive]),
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
        argv = [
            "tcpdump",
            "--immediate-mode",
            "-i",
            hop.interface,
            "-U",
            "-w",
            str(file),
            "-c",
            "1000",
        ]
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
@pytest.mark.parametrize("place", ["T1", "T2", "T3"])
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


def test_the_evidence_of_the_proof_is_readable_by_tshark(driver: LocalDriver) -> None:
    chain = scenario(["forwarder", "forwarder"], knobs=XDP)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    (name,) = proof.evidence
    seen = tshark(driver.context.raw_dir / name, "frame.interface_name", "nsh.spi", "nsh.si")
    assert {row for row in seen if row[1] == "42"} == {
        ("forwarder-1", "42", "255"),
        ("forwarder-1", "42", "254"),
        ("forwarder-2", "42", "254"),
        ("forwarder-2", "42", "253"),
    }


def test_spi_and_si_are_those_of_the_workflow(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"] * 2, spi=7001, initial_si=9, knobs=XDP)
    proof = driver.prove_traversal(driver.deploy(chain), chain)
    assert proof.proven
    assert [(o.spi, o.si) for o in proof.forward] == [(7001, 9), (7001, 8)]


def test_length_zero_is_plain_switching(driver: LocalDriver) -> None:
    chain = scenario([], where=topology("T3"))
    deployment = driver.deploy(chain)
    assert deployment.encapsulation == "none"
    assert driver.prove_traversal(deployment, chain).proven
    assert ping(deployment) == 3


def test_no_process_of_a_run_has_a_secret_in_its_environment(
    driver: LocalDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFCPERF_ES_PASSWORD", f"secret-{driver.context.tag}")
    monkeypatch.setenv("SFCPERF_RESULTS", f"results-{driver.context.tag}")
    deployment = driver.deploy(scenario(["forwarder"], knobs=USERSPACE))
    server = deployment.server.host.spawn(["iperf3", "-s"])
    running = processes_with("SFCPERF_RESULTS", f"results-{driver.context.tag}").values()
    (plane,) = deployment.facts["dataplane"].values()
    sff = {
        "ovs": {"ovs-vswitchd", "ovsdb-server"},
        "ebpf": {"sfc-sff"},
        "bmv2": {"simple_switch_g", "python"},
    }[plane]
    assert sff | {"sfc-forwarder", "iperf3"} <= set(running)
    assert processes_with("SFCPERF_ES_PASSWORD", f"secret-{driver.context.tag}") == {}
    server.stop()


@pytest.mark.gate_runs(1)
def test_another_program_at_the_usual_port_of_a_probe(driver: LocalDriver, tmp_path: Path) -> None:
    deployment = driver.deploy(scenario(["forwarder"]))
    host, log = deployment.server.host, tmp_path / "other.txt"
    start_server(host, ["iperf3", "-s"], port=5201, stdout=log, stderr=log)
    probe = made(Iperf3, duration_s=1)
    probe.prepare(deployment, tmp_path)
    assert probe.measure(deployment, tmp_path).notes["port"] == 5202
    probe.cleanup()


def test_replies_can_bypass_the_chain(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], reverse="bypass", knobs=XDP)
    deployment = driver.deploy(chain)
    proof = driver.prove_traversal(deployment, chain)
    assert proof.proven
    assert proof.reverse == ()
    before = deployment.functions[0].counters()["forwarded"]
    assert ping(deployment, 5) == 5
    assert deployment.functions[0].counters()["forwarded"] - before == 5


@pytest.mark.parametrize("place", ["T1", "T3"])
def test_only_what_the_classifier_matches_enters_the_chain(driver: LocalDriver, place: str) -> None:
    match = Match("tcp", destination_port=5201)
    chain = scenario(["forwarder"], where=topology(place), match=match, knobs=XDP)
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


def test_the_proof_fails_when_the_si_is_wrong(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], knobs=XDP)
    deployment = driver.deploy(chain)
    tampered_sff.begin_with_si_200(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert not proof.proven
    assert any("got SPI 42 SI 200 and gave SI 199" in problem for problem in proof.problems)


def test_the_proof_fails_when_nsh_stays_on(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], knobs=XDP)
    deployment = driver.deploy(chain)
    tampered_sff.leave_nsh_on(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert "a packet from client to server arrived with its NSH" in proof.problems


def test_the_proof_fails_when_a_bypass_does_not_bypass(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], reverse="bypass", knobs=XDP)
    deployment = driver.deploy(chain)
    tampered_sff.send_replies_astray(driver, deployment)
    proof = driver.prove_traversal(deployment, chain)
    assert any("should bypass the chain" in problem for problem in proof.problems)


@pytest.mark.exhaustive
def test_si_one_is_not_taken_for_si_twelve(driver: LocalDriver) -> None:
    chain = scenario(["router"] * 11, initial_si=12)
    deployment = driver.deploy(chain)
    sff = driver._built[deployment.id].sffs["node1"]
    assert driver.prove_traversal(deployment, chain).problems == ()
    counted = sff.packets_by_path()
    # The SFF of `ebpf` is judged with captures, and once more without.
    packets = 6 if isinstance(sff, EbpfSff) else 3
    assert [counted[42, si] for si in range(12, 0, -1)] == [packets] * 12


def test_a_dead_function_is_noticed(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], knobs=USERSPACE)
    deployment = driver.deploy(chain)
    assert driver.problems(deployment) == []
    for pid in deployment.meters["forwarder-1"].pids():
        os.kill(pid, signal.SIGKILL)
    while deployment.functions[0].alive() is None:
        time.sleep(0.01)
    (problem,) = driver.problems(deployment)
    assert problem.startswith("forwarder-1: ")
    proof = driver.prove_traversal(deployment, chain)
    assert not proof.proven


def test_a_dead_sff_is_noticed(driver: LocalDriver) -> None:
    deployment = driver.deploy(scenario([]))
    for pid in deployment.meters["sff@node1"].pids():
        os.kill(pid, signal.SIGKILL)
    while not driver._built[deployment.id].sffs["node1"].problem():
        time.sleep(0.01)
    assert any("the SFF of node1: " in problem for problem in driver.problems(deployment))


def test_a_function_gets_the_cpus_and_memory_that_were_asked(driver: LocalDriver) -> None:
    chain = scenario(["forwarder"], knobs=USERSPACE, resources=Resources(1, 48))
    deployment = driver.deploy(chain)
    (pid, *_) = deployment.meters["forwarder-1"].pids()
    status = Path(f"/proc/{pid}/status").read_text()
    assert f"Cpus_allowed_list:\t{deployment.functions[0].vcpus[0]}\n" in status
    group = Path(f"/proc/{pid}/cgroup").read_text()
    assert f"sfcperf-{driver.context.tag}/forwarder-1" in group
    limits = [
        path.read_text().strip()
        for folder in driver._built[deployment.id].groups["forwarder-1"].folders.values()
        for path in (folder / "memory.limit_in_bytes", folder / "memory.max")
        if path.exists()
    ]
    assert limits == [str(48 * 1024 * 1024)]


@pytest.mark.gate_runs(1)
def test_a_link_carries_no_more_than_its_rate(driver: LocalDriver) -> None:
    links = [Link(("node1", "node2"), rate_bps=20_000_000)]
    deployment = driver.deploy(scenario([], where=_between_nodes(links)))
    received = transfer(deployment, "-u", "-b", "60M", "-t", "1", "-l", "1000")
    assert 10_000_000 < received["bits_per_second"] < 20_500_000


def test_offloads_are_off_as_ethtool_sees_them(driver: LocalDriver) -> None:
    deployment = driver.deploy(scenario([]))
    for endpoint in (deployment.client, deployment.server):
        listing = endpoint.host.run(["ethtool", "-k", endpoint.interface], timeout_s=5).text
        for offload in (
            "tx-checksumming",
            "tcp-segmentation-offload",
            "generic-segmentation-offload",
        ):
            assert f"\n{offload}: off" in listing
            assert deployment.facts["offloads"][endpoint.name][offload] is False


def _between_nodes(links: list[Link]) -> Topology:
    return Topology(
        "pair",
        (Node("node1"), Node("node2")),
        tuple(links),
        {"client": "node1", "chain": "node1", "server": "node2"},
    )


def _scenarios() -> list[Scenario]:
    return [scenario(["forwarder"] * length, knobs=XDP) for length in (0, 1, 2)]


@pytest.mark.exhaustive
def test_scenario_after_scenario(driver: LocalDriver) -> None:
    driver.validate(driver.context.config, _scenarios())
    for chain in _scenarios() * 2:
        deployment = driver.deploy(chain)
        assert driver.prove_traversal(deployment, chain).proven
        driver.teardown(deployment)
