"""sfc-sff on the oldest kernel of the README: Linux 6.1, in an emulator, which has no tcx."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine
from support.oldest_kernel.sff_chain import MACS, TABLES, end, make_network, pings, start, start_sff

from sfcperf.dataplane import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

STATIONS = f"""\
tap tap-near tap-far on TAPPED
station {MACS["client"]} port 1
station {MACS["server"]} port 2
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    programs = [binaries.find("sfc-sff"), binaries.find("sfc-forwarder")]
    with Machine(required(), programs) as machine:
        make_network(machine)
        machine.check(
            "ip -n sff link add tap-near mtu 1616 type veth peer name tap-far mtu 1616\n"
            "ip -n sff link set tap-near up\n"
            "ip -n sff link set tap-far up"
        )
        forwarder = "sfc-forwarder --engine xdp --interface eth0 --stats /tmp/forwarder"
        start(machine, "function", forwarder, "forwarder")
        yield machine


def _start(machine: Machine, *, tapped: bool = False) -> None:
    start_sff(machine, TABLES + STATIONS.replace("TAPPED", "yes" if tapped else "no"))


def _filters(machine: Machine) -> int:
    said = machine.check(
        "for port in p1 p2 p3 tap-far; do tc -n sff filter show dev $port ingress; done"
    )
    return said.count("direct-action")


def test_its_verifier_accepts_the_programs(machine: Machine) -> None:
    assert machine.check("uname -r").startswith("6.1.")
    assert machine.check("sfc-sff --probe") == ""


@pytest.mark.parametrize("tapped", [False, True], ids=["xdp", "tap"])
def test_packets_cross_a_chain(machine: Machine, tapped: bool) -> None:
    _start(machine, tapped=tapped)
    assert pings(machine) == 5
    assert _filters(machine) == 4
    end(machine, "sff")
    assert _filters(machine) == 0
    assert machine.check("ip -n sff -d link show | grep -c prog/xdp || :") == "0\n"
    assert '"no_path": 0' in machine.check("tail -n 1 /tmp/sff.out")


def test_nothing_passes_where_it_was_killed(machine: Machine) -> None:
    """Its tc filters stay until another one takes their place, or the interfaces go."""
    _start(machine)
    end(machine, "sff", "KILL")
    assert machine.check("ip -n sff -d link show | grep -c prog/xdp || :") == "0\n"
    assert _filters(machine) == 4
    assert pings(machine) == 0
    _start(machine)
    assert _filters(machine) == 4
    assert pings(machine) == 5
    end(machine, "sff")
    assert _filters(machine) == 0
