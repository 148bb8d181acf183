"""sfc-sff on the oldest kernel of the README: Linux 6.1, in an emulator, which has no tcx."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine

from sfcperf.vnfs import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

PORTS = (1, 2, 3)
ENDS = {"client": 1, "server": 2, "function": 3}
MACS = {name: f"02:00:00:00:20:{number:02x}" for name, number in ENDS.items()}
TABLES = f"""\
node 02:00:00:00:10:01
tap tap-near tap-far on TAPPED
port 1 interface p1 kind endpoint mtu 1500 xdp yes
port 2 interface p2 kind endpoint mtu 1500
port 3 interface p3 kind nsh mtu 1500 xdp yes
station {MACS["client"]} port 1
station {MACS["server"]} port 2
path 1 255 from 1 to nsh port 3 mac {MACS["function"]}
path 1 254 from 3 to end port 2
path 2 255 from 2 to nsh port 3 mac {MACS["function"]}
path 2 254 from 3 to end port 1
rule 1 path 1 255
rule 2 path 2 255
"""
QUIET = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
READY_WITHIN_S = 60


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    programs = [binaries.find("sfc-sff"), binaries.find("sfc-forwarder")]
    with Machine(required(), programs) as machine:
        _network(machine)
        yield machine


def _network(machine: Machine) -> None:
    """client 10.0.0.1 - [sff: p1 p3 p2] - server 10.0.0.2; a forwarder is behind p3."""
    commands = ["ip netns add sff", f"ip netns exec sff {QUIET}"]
    for name, number in ENDS.items():
        commands += [
            f"ip netns add {name}",
            f"ip netns exec {name} {QUIET}",
            f"ip -n {name} link add eth0 mtu 1600 address {MACS[name]} type veth"
            f" peer name p{number} mtu 1600 netns sff",
            f"ip -n {name} link set eth0 up",
            f"ip -n sff link set p{number} up",
        ]
    for name, other in (("client", "server"), ("server", "client")):
        commands += [
            f"ip -n {name} address add 10.0.0.{ENDS[name]}/24 dev eth0",
            f"ip -n {name} neighbour add 10.0.0.{ENDS[other]} lladdr {MACS[other]} dev eth0",
        ]
    commands += [
        "ip netns exec client ethtool -K eth0 gro on",
        "ip -n sff link add tap-near mtu 1616 type veth peer name tap-far mtu 1616",
        "ip -n sff link set tap-near up",
        "ip -n sff link set tap-far up",
        "ip netns exec function sfc-forwarder --engine xdp --interface eth0 --stats /tmp/forwarder"
        " >/tmp/forwarder.out 2>&1 &",
        _until_ready("/tmp/forwarder.out"),
    ]
    machine.check("\n".join(commands))


def _until_ready(out: str) -> str:
    return f"timeout {READY_WITHIN_S} dash -c 'until grep -q ready {out}; do sleep 0.1; done'"


def _start(machine: Machine, *, tapped: bool = False) -> None:
    tables = TABLES.replace("TAPPED", "yes" if tapped else "no")
    machine.check(
        f"cat >/tmp/sff.tables <<'END'\n{tables}END\n"
        "rm -f /tmp/sff.out\n"
        "ip netns exec sff dash -c 'echo $$ >/tmp/sff.pid; exec sfc-sff --tables /tmp/sff.tables'"
        " >/tmp/sff.out 2>&1 &\n"
        + _until_ready("/tmp/sff.out")
        + " || { cat /tmp/sff.out; exit 1; }"
    )


def _end(machine: Machine, how: str) -> None:
    machine.check(
        f"pid=$(cat /tmp/sff.pid); kill -{how} $pid\nwhile [ -e /proc/$pid/fd ] &&"
        " ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done; sleep 0.2"
    )


def _pings(machine: Machine) -> int:
    said = machine.run("ip netns exec client ping -c 5 -W 3 10.0.0.2").said
    return said.count("bytes from")


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
    assert _pings(machine) == 5
    assert _filters(machine) == 4
    _end(machine, "TERM")
    assert _filters(machine) == 0
    assert machine.check("ip -n sff -d link show | grep -c prog/xdp || :") == "0\n"
    assert '"no_path": 0' in machine.check("tail -n 1 /tmp/sff.out")


def test_nothing_passes_where_it_was_killed(machine: Machine) -> None:
    """Its tc filters stay until another one takes their place, or the interfaces go."""
    _start(machine)
    _end(machine, "KILL")
    assert machine.check("ip -n sff -d link show | grep -c prog/xdp || :") == "0\n"
    assert _filters(machine) == 4
    assert _pings(machine) == 0
    _start(machine)
    assert _filters(machine) == 4
    assert _pings(machine) == 5
    _end(machine, "TERM")
    assert _filters(machine) == 0
