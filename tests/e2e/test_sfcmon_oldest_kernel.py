"""sfc-sfcmon at each of its places on the oldest kernel of the README, Linux 6.1 in an emulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine
from support.oldest_kernel.sff_chain import end, make_network, pings, start, start_sff

from sfcperf.dataplane import binaries

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

PINGS = 5
LIMITS = "--window-ms 20 --threshold-eval 0 --threshold-share 0"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    programs = [binaries.find(name) for name in ("sfc-sff", "sfc-sfcmon")]
    with Machine(required(), programs) as machine:
        make_network(machine)
        yield machine


def _start(machine: Machine, space: str, options: str, name: str) -> None:
    start(machine, space, f"sfc-sfcmon {options}", name)


def _end(machine: Machine, name: str) -> list[dict[str, Any]]:
    """What it has printed."""
    return [json.loads(line) for line in end(machine, name).splitlines()]


def _monitored(printed: list[dict[str, Any]]) -> int:
    return sum(line["packets"] for line in printed if line["event"] == "window")


def test_as_a_function_and_in_an_sff(machine: Machine) -> None:
    assert machine.check("uname -r").startswith("6.1.")
    start_sff(machine)
    _start(machine, "function", f"--interface eth0 {LIMITS}", "function")
    assert pings(machine, PINGS) == PINGS
    _start(machine, "sff", f"--sff p1 {LIMITS}", "lookups")
    assert pings(machine, PINGS) == PINGS
    # Two lookups in each direction.
    assert _monitored(_end(machine, "lookups")) == 4 * PINGS
    assert pings(machine, PINGS) == PINGS
    assert _monitored(_end(machine, "function")) == 3 * 2 * PINGS
    end(machine, "sff")


def test_at_ports(machine: Machine) -> None:
    ports = "p3:nsh p1:rule,path=1/255,protocol=icmp p2:rule,path=2/255"
    _start(machine, "sff", f"{LIMITS} {ports}", "ports")
    # Nothing forwards them.
    assert pings(machine, PINGS) == 0
    assert _monitored(_end(machine, "ports")) == PINGS
    filters = machine.check("tc -n sff filter show dev p1 ingress")
    assert "direct-action" not in filters
