"""sfc-sfcmon at each of its places on the oldest kernel of the README, Linux 6.1 in an emulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine

from sfcperf.vnfs import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

PINGS = 5
ENDS = {"client": 1, "server": 2, "function": 3}
MACS = {name: f"02:00:00:00:20:{number:02x}" for name, number in ENDS.items()}
TABLES = f"""\
node 02:00:00:00:10:01
port 1 interface p1 kind endpoint mtu 1500 xdp yes
port 2 interface p2 kind endpoint mtu 1500
port 3 interface p3 kind nsh mtu 1500 xdp yes
path 1 255 from 1 to nsh port 3 mac {MACS["function"]}
path 1 254 from 3 to end port 2
path 2 255 from 2 to nsh port 3 mac {MACS["function"]}
path 2 254 from 3 to end port 1
rule 1 path 1 255
rule 2 path 2 255
"""
QUIET = "sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
LIMITS = "--window-ms 20 --threshold-eval 0 --threshold-share 0"
READY_WITHIN_S = 60


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    programs = [binaries.find(name) for name in ("sfc-sff", "sfc-sfcmon")]
    with Machine(required(), programs) as machine:
        _network(machine)
        yield machine


def _network(machine: Machine) -> None:
    """client 10.0.0.1 - [sff: p1 p3 p2] - server 10.0.0.2; SFCMon is the function behind p3."""
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
    machine.check("\n".join([*commands, "ip netns exec client ethtool -K eth0 gro on"]))


def _start(machine: Machine, space: str, tool: str, options: str, name: str) -> None:
    machine.check(
        f"rm -f /tmp/{name}.out\n"
        f"ip netns exec {space} dash -c 'echo $$ >/tmp/{name}.pid; exec {tool} {options}'"
        f" >/tmp/{name}.out 2>&1 &\n"
        f"timeout {READY_WITHIN_S} dash -c"
        f" 'until grep -q ready /tmp/{name}.out; do sleep 0.1; done'"
        f" || {{ cat /tmp/{name}.out; exit 1; }}"
    )


def _end(machine: Machine, name: str) -> list[dict[str, Any]]:
    """What it has printed."""
    machine.check(
        f"pid=$(cat /tmp/{name}.pid); kill $pid\nwhile [ -e /proc/$pid/fd ] &&"
        " ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done; sleep 0.2"
    )
    return [json.loads(line) for line in machine.check(f"cat /tmp/{name}.out").splitlines()]


def _monitored(printed: list[dict[str, Any]]) -> int:
    return sum(line["packets"] for line in printed if line["event"] == "window")


def _ping(machine: Machine) -> int:
    said = machine.run(f"ip netns exec client ping -c {PINGS} -W 3 10.0.0.2").said
    return said.count("bytes from")


def test_as_a_function_and_in_an_sff(machine: Machine) -> None:
    assert machine.check("uname -r").startswith("6.1.")
    machine.check(f"cat >/tmp/sff.tables <<'END'\n{TABLES}END\n")
    _start(machine, "sff", "sfc-sff", "--tables /tmp/sff.tables", "sff")
    _start(machine, "function", "sfc-sfcmon", f"--interface eth0 {LIMITS}", "function")
    assert _ping(machine) == PINGS
    _start(machine, "sff", "sfc-sfcmon", f"--sff p1 {LIMITS}", "lookups")
    assert _ping(machine) == PINGS
    # Two lookups in each direction.
    assert _monitored(_end(machine, "lookups")) == 4 * PINGS
    assert _ping(machine) == PINGS
    assert _monitored(_end(machine, "function")) == 3 * 2 * PINGS
    _end(machine, "sff")


def test_at_ports(machine: Machine) -> None:
    ports = "p3:nsh p1:rule,path=1/255,protocol=icmp p2:rule,path=2/255"
    _start(machine, "sff", "sfc-sfcmon", f"{LIMITS} {ports}", "ports")
    # Nothing forwards them.
    assert _ping(machine) == 0
    assert _monitored(_end(machine, "ports")) == PINGS
    filters = machine.check("tc -n sff filter show dev p1 ingress")
    assert "direct-action" not in filters
