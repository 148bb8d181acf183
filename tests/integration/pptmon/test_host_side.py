"""`--host-side`: on the outer ends of a VNF's links; nothing is installed in it.

    sender s0 = h1 [bridge] hin = vin [bridge: the VNF] vout = hout [bridge] h2 = r0 receiver

Here packets leave the host through `enter` and come back through `leave`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.needs import compiled
from support.network.wires import Lab, Port
from support.pptmon.bench import Seen, bridge, exchange, quiet, tap
from support.pptmon.process import BINARY, Pptmon
from support.pptmon.tap import NEEDS_CSUM, Offload, Tap
from support.pptmon.zoo import DATA, FRAMES, ethernet, network, tcp
from support.pptmon_model import packet
from support.pptmon_model.format import Format
from support.pptmon_model.layers import walk

pytestmark = pytest.mark.root


@dataclass
class Outside:
    """A VNF, and the host around it."""

    sender: Tap
    direct: Tap
    """On the outer end itself: what it sends passes tc's egress with tags in the frame."""
    inside: Tap
    """Of the VNF: what arrives there."""
    receiver: Tap
    pptmon: Pptmon

    def exchange(self, *frames: bytes, sender: Tap | None = None) -> Seen:
        return exchange(sender or self.sender, [self.inside], self.receiver, *frames)


@pytest.fixture
def outside(lab: Lab, tmp_path: Path) -> Callable[..., Outside]:
    compiled(BINARY)

    def make(*options: str, offloads: bool = False) -> Outside:
        host, vnf, sender, receiver = map(lab.host, ("host", "vnf", "sender", "receiver"))
        quiet(host)
        quiet(vnf)
        s0, h1 = lab.join((sender, "s0"), (host, "h1"))
        hin, vin = lab.join((host, "hin"), (vnf, "vin"))
        vout, hout = lab.join((vnf, "vout"), (host, "hout"))
        h2, r0 = lab.join((host, "h2"), (receiver, "r0"))
        bridge(host, "b1", (h1, hin))
        bridge(vnf, "b0", (vin, vout))
        bridge(host, "b2", (hout, h2))
        pptmon = Pptmon(host, tmp_path / "pptmon", "source-sink", 9, "hin", "hout",
                        ("--host-side", "--period-ms", "0", *options))  # fmt: skip
        lab.at_end(pptmon.kill)
        pptmon.wait_ready()

        def end(port: Port) -> Tap:
            return tap(lab, port, offloads)

        return Outside(end(s0), end(hin), end(vin), end(r0), pptmon)

    return make


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("layout", Format)
@pytest.mark.parametrize("way", ["through the host", "from the outer end itself"])
def test_every_form(outside: Callable[..., Outside], layout: Format, way: str) -> None:
    """From the end itself, VLAN tags are in the frame; through the host they are beside it."""
    bench = outside("--format", layout.value)
    sender = bench.direct if way == "from the outer end itself" else bench.sender
    wrong = {}
    for name, frame in FRAMES.items():
        seen = bench.exchange(frame, sender=sender)
        [inside] = seen.between[0]
        found = packet.read(inside)
        if found is None or packet.strip(inside) != frame or seen.received != [frame]:
            wrong[name] = (inside.hex(), [one.hex() for one in seen.received])
    assert wrong == {}
    samples = bench.pptmon.samples(len(FRAMES))
    assert len(samples) == len(FRAMES)
    assert all([hop.vnf_id for hop in sample.hops] == [9] for sample in samples)
    counters = bench.pptmon.counters()
    assert counters["reported"] == len(FRAMES)
    assert (counters["failed"], counters["malformed"], counters["foreign"]) == (0, 0, 0)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("version", [4, 6])
def test_super_packets(outside: Callable[..., Outside], version: int) -> None:
    bench = outside(offloads=True)
    size = 1440 if version == 4 else 1420
    frame = bytes(ethernet() / network(version) / tcp(flags="A", data=(DATA * 80)[:20_000]))
    start = walk(frame)[-1].start
    offload = Offload(start, 16, 1 if version == 4 else 4, size, start + 20, NEEDS_CSUM)
    bench.sender.send_with(frame, offload)
    mark = b"the end"
    bench.sender.send_mark(mark)
    [(carried, inside)] = bench.inside.receive_with(mark)
    [(restored, left)] = bench.receiver.receive_with(mark)
    assert inside.gso_size == size - (len(carried) - len(frame))
    assert (left.gso_type, left.gso_size) == (offload.gso_type, size)
    assert restored[: start + 16] == frame[: start + 16]
    assert restored[start + 18 :] == frame[start + 18 :]
    [sample] = bench.pptmon.samples(1)
    assert "segment" in sample.flags
