"""sfc-sdnmon on the oldest kernel of the README: Linux 6.1, in an emulator, which has no tcx."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.oldest_kernel.kernel import required
from support.oldest_kernel.machine import Machine
from support.oldest_kernel.network import send
from support.oldest_kernel.sff_chain import make_network
from support.sdnmon.frames import udp_flow

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sdnmon.fields import NAMES

pytestmark = [pytest.mark.exhaustive, pytest.mark.server]

TOOL = "nsenter --net=/run/netns/sff sfc-sdnmon --state /sys/fs/bpf/switch"
FRAMES = 5


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(required(), [binaries.find("sfc-sdnmon")]) as machine:
        make_network(machine)
        machine.check("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf")
        yield machine


def _said(machine: Machine, command: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in machine.check(f"{TOOL} {command}").splitlines()]


@pytest.mark.parametrize("mode", ["hash", "bloom", "parse"])
@pytest.mark.parametrize(
    "fields", [",".join(NAMES), "ipv4_src,ipv4_dst,ip_proto,tp_src,tp_dst", "eth_src", "nsh_spi"]
)
def test_its_verifier_accepts_the_programs(machine: Machine, fields: str, mode: str) -> None:
    assert machine.check("uname -r").startswith("6.1.")
    machine.check(f"{TOOL} on --fields {fields} --mode {mode} --slots 64 p1")
    (status,) = _said(machine, "status")
    assert [port["attach"] for port in status["ports"]] == ["clsact"]
    machine.check(f"{TOOL} off")
    assert machine.check("tc -n sff filter show dev p1 ingress") == ""


def test_packets_are_counted_by_flow(machine: Machine) -> None:
    """And notifications come, entries are added and removed."""
    machine.check(f"{TOOL} on --fields eth_type,eth_dst --notify 1 p1")
    send(machine, "client", "eth0", [udp_flow(number) for number in range(FRAMES)])
    (entry,) = (
        entry
        for entry in _said(machine, "entries")[1:-1]
        if entry["flow"] == {"eth_dst": "02:00:00:00:00:02", "eth_type": 0x800}
    )
    assert entry["packets"] == FRAMES
    machine.check(f"{TOOL} add eth_type=0x0806,eth_dst=02:00:00:00:00:01")
    machine.check(f"{TOOL} add eth_type=0x0806,eth_dst=02:00:00:00:00:02")
    assert len(_said(machine, "events")) == 1
    (changed,) = _said(machine, "remove eth_type=0x0806,eth_dst=02:00:00:00:00:01")
    assert changed["flows"] == 1
    machine.check(f"{TOOL} reset --fields ipv4_src")
    assert _said(machine, "status")[0]["entries"] == 0
    machine.check(f"{TOOL} off")
