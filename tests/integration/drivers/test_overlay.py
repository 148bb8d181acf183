"""The overlay of the OpenStack driver in namespaces in place of VMs, behind a switch that lets only
VXLAN-GPE through."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from support.needs import skip_unless
from support.network.overlay_lab import CARD, OverlayLab, described, prove_shown
from support.network.transfers import transfer
from support.network.wires import Lab, Wire, eventually, ip, space
from support.probing import made
from support.records.scenarios import scenario
from support.vnfs.nsh_programs import hop

from sfcperf import plugins
from sfcperf.drivers.openstack.overlay.deployment import OverlayDeployment
from sfcperf.drivers.openstack.overlay.node import OverlayNode
from sfcperf.drivers.openstack.overlay.node import requirements as overlay_requirements
from sfcperf.drivers.openstack.traversal.proof import requirements
from sfcperf.errors import DeploymentError
from sfcperf.management import health
from sfcperf.management.deployment import Deployment
from sfcperf.passive.base import Monitor
from sfcperf.passive.interfaces import InterfaceMonitor
from sfcperf.passive.sff import SffMonitor
from sfcperf.passive.tcpdump import TcpdumpMonitor

pytestmark = pytest.mark.root

MIXED = ("forwarder", "firewall")
"""The first takes NSH, the second plain IP."""
NAMES = [f"{kind}-{number}" for number, kind in enumerate(MIXED, start=1)]
REVERSE = 42 | 1 << 23


@pytest.fixture
def overlay(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OverlayLab]:
    """With network cards that take native XDP; the parameter may be `generic`."""
    skip_unless(*requirements(), *overlay_requirements())
    with Lab(tmp_path) as lab:
        yield OverlayLab(lab, NAMES, getattr(request, "param", "native"))


def ping(chain: Deployment, *more: str) -> bool:
    argv = ["ping", "-n", "-c", "3", "-i", "0.05", "-W", "2", *more, chain.server.address]
    done = chain.client.host.run(argv, timeout_s=30, check=False)
    return " 3 received" in done.text


def on_card(lab: OverlayLab, name: str, folder: Path, action: Callable[[], object]) -> list[str]:
    """What tshark reads in the frames that the switch has exchanged with a VM meanwhile: UDP port,
    SPI/SI, and the addresses of the innermost IP. VMs ask for addresses that they have not used for
    a while, by ARP."""
    pcap, said = folder / f"{name}.pcap", folder / f"{name}.txt"
    port = f"p{1 + list(lab.vms).index(name)}"
    argv = [
        "tcpdump",
        "-i",
        port,
        "-U",
        "--immediate-mode",
        "-Z",
        "root",
        "-w",
        str(pcap),
        "not arp",
    ]
    capture = lab.switch.spawn(argv, stderr=said)
    try:
        assert eventually(lambda: said.exists() and "listening" in said.read_text())
        action()
        assert eventually(lambda: pcap.stat().st_size > 24)
    finally:
        capture.stop()
    argv = ["tshark", "-r", str(pcap), "-d", "udp.port==4790,vxlan_gpe", "-T", "fields"]
    for field in ("udp.dstport", "nsh.spi", "nsh.si", "icmp.type"):
        argv += ["-e", field]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("reverse", ["symmetric", "bypass"])
@pytest.mark.parametrize("overlay", ["native", "generic"], indirect=True)
def test_a_chain_of_both_kinds_of_functions(
    overlay: OverlayLab, tmp_path: Path, reverse: str, request: pytest.FixtureRequest
) -> None:
    """By XDP and, while the proof looks, by the tap. tshark reads the SPI and SI between VMs. The
    switch drops nothing: all that VMs send is VXLAN-GPE, from their own addresses."""
    deployed = overlay.deploy(scenario(MIXED, reverse=reverse))  # type: ignore[arg-type]
    chain = described(deployed)
    cards = {name: card["xdp"] for name, card in chain.facts["underlay"].items()}
    assert set(cards.values()) == {request.node.callspec.params["overlay"]}
    assert set(cards) == {"client", "server", *NAMES}
    proof = prove_shown(deployed, chain, tmp_path / "traversal")
    assert (proof.proven, proof.problems) == (True, ())
    assert [(h.function, h.spi, h.si, h.si_after) for h in proof.forward] == [
        (NAMES[0], 42, 255, 254),
        (NAMES[1], None, None, None),
    ]
    back = [(h.function, h.spi, h.si, h.si_after) for h in proof.reverse]
    symmetric = [(NAMES[1], None, None, None), (NAMES[0], REVERSE, 254, 253)]
    assert back == (symmetric if reverse == "symmetric" else [])
    assert ping(chain)
    assert ping(chain, "-M", "do", "-s", str(1400 - 28))
    # With lost checksums, or packets that are too large, nothing arrives.
    for way in ([], ["-R"]):
        assert transfer(chain, "-t", "1", *way, folder=tmp_path)["bytes"] > 1 << 20
    seen = on_card(overlay, NAMES[1], tmp_path, lambda: ping(chain))
    assert {line.split("\t")[0] for line in seen} == {"4790"}
    hops = {tuple(line.split("\t")[1:3]) for line in seen}
    # The firewall's VM sends on what has no NSH any more at the end of the path.
    forward = {("42", "254"), ("", "")}
    back_again = {(str(REVERSE), "255"), (str(REVERSE), "254")}
    assert hops == (forward | back_again if reverse == "symmetric" else forward)
    counted = chain.sffs[f"sff@{NAMES[1]}"].read()
    assert {look.si for look in counted.lookups if look.spi == 42 and look.packets} == {254, 253}
    assert chain.unparsed() == {"sff@client": 0, "sff@server": 0}
    assert deployed.cross_unshown(chain) == []
    assert overlay.dropped() == 0
    assert health.problems(chain) == []
    # The switch drops what is not VXLAN-GPE.
    nodes, card = deployed.layout.nodes, overlay.vms["client"].namespace
    assert card is not None
    here, there = nodes["client"], nodes["server"]
    other = Ether(src=here.mac, dst=there.mac) / IP(src=here.address) / UDP(dport=4791)
    with closing(Wire(card, CARD)) as wire:
        wire.send([bytes(other)])
    assert eventually(lambda: overlay.dropped() == 1)


def test_a_function_that_is_left_out(overlay: OverlayLab, tmp_path: Path) -> None:
    """The client's SFF sends packets past the first function: the proof says so, and so do counters
    without captures."""
    deployed = overlay.deploy(scenario(MIXED))
    chain, sff, fw = described(deployed), deployed.sffs["client"], deployed.layout.nodes[NAMES[1]]
    honest, process = sff._tables, sff._process
    assert process is not None

    def tables(*, shown: bool) -> str:
        lines = honest(shown=shown).splitlines()
        past = f"path 42 254 from 1 to gpe port 200 mac {fw.mac} address {fw.address}"
        lines = [past if line.startswith("path 42 255 ") else line for line in lines]
        return "\n".join(lines).replace("rule 1 path 42 255", "rule 1 path 42 254") + "\n"

    sff._tables = tables  # type: ignore[method-assign]
    process.change(tables(shown=False))
    assert ping(chain)
    found = deployed.cross_unshown(chain)
    lost = "counted 0 of 3 packets from client to server with SPI 42 SI 255 without captures"
    assert {f"the SFF of client {lost}", f"the SFF of {NAMES[0]} {lost}"} <= set(found)
    proof = prove_shown(deployed, chain, tmp_path / "traversal")
    assert not proof.proven
    assert f"the packet entered {NAMES[0]} 0 times instead of once" in proof.problems[0]


def test_vms_are_used_again(overlay: OverlayLab, tmp_path: Path) -> None:
    """By a chain of length 0, another order, and the first chain; nothing stays in between, nor
    where a process was killed."""
    for types, killed in ((MIXED, True), ((), False), (MIXED[:1], False)):
        deployed = overlay.deploy(scenario(types))
        chain = described(deployed)
        assert chain.encapsulation == ("nsh-eth" if types else "none")
        assert ping(chain)
        proof = prove_shown(deployed, chain, tmp_path / f"traversal-{len(types)}")
        assert (proof.proven, proof.problems) == (True, ())
        assert ping(chain)
        if killed:
            kill(deployed, "client")
            assert "the SFF of client: " in deployed.problems()[0]
            assert not ping(chain)
        deployed.stop()
        for name in overlay.vms:
            assert overlay.interfaces(name) == ["lo", CARD]
            assert "prog/xdp" not in ip("-n", space(overlay.vms[name]), "link", "show", CARD)
    assert overlay.dropped() == 0


def kill(deployed: OverlayDeployment, name: str) -> None:
    """End the SFF of a VM as the kernel does."""
    process = deployed.sffs[name]._process
    assert process is not None
    subprocess.run(["kill", "-9", *map(str, process.pids())], check=True)
    assert eventually(lambda: process.problem())


def test_what_monitors_see(overlay: OverlayLab, tmp_path: Path) -> None:
    """Captures and counters at the SFFs' ports have every packet of both directions; counters of
    the SFFs too."""
    chain = described(overlay.deploy(scenario(MIXED)))
    packets = {"client": 60, NAMES[0]: 120, f"{NAMES[1]}-in": 60, f"{NAMES[1]}-out": 60}
    captured = observe(chain, made(TcpdumpMonitor), tmp_path)
    assert {name: captured[name, "captured_packets"] for name in packets} == packets
    counted = observe(chain, made(InterfaceMonitor, interval_s=0.2), tmp_path)
    for name, count in packets.items():
        ways = (counted[name, f"{way}_packets"] for way in ("rx", "tx"))
        assert sum(ways) >= count
    looked = observe(chain, made(SffMonitor, interval_s=0.2), tmp_path)
    for node, si in (("client", 255), (NAMES[0], 254), (NAMES[1], 253)):
        assert looked[f"sff@{node}/spi42-si{si}", "packets"] >= 30


def observe(deployment: Deployment, monitor: Monitor, folder: Path) -> dict[tuple[str, str], Any]:
    """Source and metric -> its values added up, of a monitor while 30 pings cross the chain."""
    monitor.start(deployment, folder)
    argv = ["ping", "-n", "-c", "30", "-i", "0.02", "-W", "2", deployment.server.address]
    deployment.client.host.run(argv, timeout_s=30)
    found: dict[tuple[str, str], Any] = {}
    for seen in monitor.stop():
        key = seen.source, seen.metric
        found[key] = found.get(key, 0) + seen.value
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", sorted(plugins.names("vnf")))
def test_all_types_of_functions(tmp_path: Path, kind: str) -> None:
    skip_unless(*requirements(), *overlay_requirements())
    asked = scenario([kind])
    skip_unless(*plugins.load("vnf", kind).requirements(asked.chain.functions[0].knobs))
    with Lab(tmp_path) as lab:
        overlay = OverlayLab(lab, [f"{kind}-1"])
        deployed = overlay.deploy(asked)
        chain = described(deployed)
        proof = prove_shown(deployed, chain, tmp_path / "traversal")
        assert (proof.proven, proof.problems) == (True, ())
        assert ping(chain)
        assert transfer(chain, "-t", "1", folder=tmp_path)["bytes"] > 1 << 20
        assert health.problems(chain) == []


def test_a_program_that_takes_nsh(tmp_path: Path) -> None:
    """It returns frames to the address of its VM's SFF."""
    skip_unless(*requirements(), *overlay_requirements())
    with Lab(tmp_path) as lab:
        deployed = OverlayLab(lab, ["program-1"]).deploy(
            scenario(["program"], knobs=hop("nsh-eth"))
        )
        chain = described(deployed)
        proof = prove_shown(deployed, chain, tmp_path / "traversal")
        assert (proof.proven, proof.problems) == (True, ())
        assert [(seen.si, seen.si_after) for seen in proof.forward] == [(255, 254)]
        assert ping(chain)


def test_what_the_classifier_cannot_parse(overlay: OverlayLab) -> None:
    """Is dropped and counted, or goes round the chain, as on the local driver."""
    for bypass in (False, True):
        asked = scenario(MIXED[:1], bypass_unparsed=bypass)
        deployed = overlay.deploy(asked)
        chain = described(deployed)
        interface, client = chain.client.interface, deployed.layout.client
        server = deployed.layout.server
        with_tag = bytes(Ether(dst=server.mac, src=client.mac) / Dot1Q(vlan=5) / Raw(bytes(46)))
        port, there = (overlay.vms[name].namespace for name in ("client", "server"))
        assert port is not None
        assert there is not None
        with closing(Wire(port, interface)) as here, closing(Wire(there, interface)) as end:
            here.send([with_tag] * 5)
            dropped = 0 if bypass else 5
            assert len(end.drain()) == 5 - dropped
            assert sum(chain.unparsed().values()) == dropped
        deployed.stop()


def test_a_card_that_is_taken(tmp_path: Path) -> None:
    """Another XDP program is on it: the message names it, and nothing stays."""
    skip_unless(*requirements(), *overlay_requirements())
    with Lab(tmp_path) as lab:
        overlay = OverlayLab(lab, [])
        first = overlay.deploy(scenario())
        second = OverlayNode(
            overlay.guests["client"].host, first.layout, first.scenario, "client", 1400
        )
        with pytest.raises(DeploymentError, match="client: the SFF in its VM") as caught:
            second.launch()
        assert "another XDP program is attached: sff" in str(caught.value)
        assert overlay.interfaces("client") == ["lo", CARD]
