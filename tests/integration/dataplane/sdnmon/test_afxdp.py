"""SDN-Mon at ports of Open vSwitch that take frames by AF_XDP, before tc."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.network.wires import Lab, Port, eventually
from support.sdnmon.frames import udp_flows
from support.sdnmon.tool import FIVE_TUPLE, Tool, switched

from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch, create_database

pytestmark = [pytest.mark.root, pytest.mark.exhaustive]
FLOWS, TIMES = 50, 4
AF_XDP = ("type=afxdp", "options:xdp-mode=native")


@dataclass
class Bench:
    senders: list[Port]
    """The other ends of both ports."""
    tool: Tool


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Lab(tmp_path) as lab:
        switch, sender = lab.host("switch"), lab.host("sender")
        ends = [lab.join((sender, f"s{n}"), (switch, f"p{n}"))[0] for n in range(2)]
        create_database(switch, tmp_path / "empty.db")
        vswitch = OpenVSwitch(switch, tmp_path)
        lab.at_end(vswitch.stop)
        vswitch.start(tmp_path / "empty.db")
        ports = [Interface("br0", f"p{n}", n + 1, AF_XDP) for n in range(2)]
        vswitch.configure({"br0": "02:00:00:00:00:99"}, ports)
        vswitch.add_flows("br0", ["in_port=1,actions=2"])
        with switched(tmp_path, switch) as tool:
            yield Bench(ends, tool)


def _forwarded(senders: list[Port], frames: list[bytes]) -> int:
    """How many of the frames cross the switch."""
    first, second = (port.wire() for port in senders)
    first.send(frames)
    seen: list[bytes] = []

    def all_came() -> bool:
        seen.extend(frame for frame in second.waiting() if frame in frames)
        return len(seen) == len(frames)

    eventually(all_came)
    first.close()
    second.close()
    return len(seen)


def test_counted_equals_forwarded(bench: Bench) -> None:
    """And the switch forwards as before when monitoring has ended."""
    senders, tool = bench.senders, bench.tool
    tool.on(FIVE_TUPLE, ports=["p0", "p1"])
    assert [port["attach"] for port in tool.status["ports"]] == ["xdp", "xdp"]
    for _ in range(TIMES):
        assert _forwarded(senders, udp_flows(range(FLOWS))) == FLOWS
    assert {entry["packets"] for entry in tool.entries} == {TIMES}
    assert len(tool.entries) == FLOWS
    tool("reset", "--fields", "ipv4_dst")
    assert _forwarded(senders, udp_flows(range(FLOWS))) == FLOWS
    (entry,) = tool.entries
    assert entry["packets"] == FLOWS
    tool("off")
    assert _forwarded(senders, udp_flows(range(FLOWS))) == FLOWS
