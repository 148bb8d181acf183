"""The reference model of SFCMon: its golden vectors, and what they must contain."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from support.sfcmon import vectors
from support.tiers import examples

from sfcperf.dataplane.nsh import Nsh
from sfcperf.dataplane.nsh.frame import Reason, Unparsed, parse
from sfcperf.dataplane.nsh.packet import Flow, unpadded
from sfcperf.sketches.iblt import Iblt
from sfcperf.sketches.listing import listing
from sfcperf.vnfs.sfcmon.model import Bank
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds

TEXT = (files("sfcperf.vnfs.sfcmon") / "vectors.json").read_text()
GOLDEN = json.loads(TEXT)
CASES = {case["name"]: case for case in GOLDEN["cases"]}


def test_the_golden_vectors_are_those_of_the_model() -> None:
    """In its reference configuration; each reason is in them."""
    assert vectors.document() == GOLDEN
    assert all(CASES["frames that cannot be parsed"]["after"]["unparsed"])
    assert Sizes(**GOLDEN["sizes"]) == Sizes()


def test_loaded_registers_are_the_same_again() -> None:
    for case in CASES.values():
        bank = Bank()
        bank.load(case["after"])
        assert bank.registers() == case["after"], case["name"]


def test_saturation_in_the_golden_vectors() -> None:
    after = CASES["counters at their maximum"]["after"]
    assert after["packets"] == 2**32 - 1
    assert after["unparsed"][Reason.TRUNCATED] == 2**32 - 1
    assert {value for _, _, value in after["cms"]} == {2**24 - 1}
    assert {packets for *_, packets, _ in after["iblt"]} == {1, 0, 2**32 - 1}


def test_themany_flows_of_the_golden_vectors_by_brute_force() -> None:
    """With dictionaries instead of sketches, whose errors are none at this size."""
    case = CASES["two paths, two IP versions, many flows"]
    limits = Thresholds(**case["thresholds"])
    sources: Counter[bytes] = Counter()
    flows: dict[Flow, list[int]] = {}
    for number, frame in enumerate(case["frames"], start=1):
        packet = parse(bytes.fromhex(frame))
        key = packet.flow.flow_id_1
        sources[key] += 1
        if number < limits.eval or sources[key] < limits.packets:
            continue
        if sources[key] * 2**32 >= limits.share * number:
            flows.setdefault(packet.flow, []).append(packet.size_bytes)
    bank = Bank()
    bank.load(case["after"])
    found = bank.listing()
    assert found.complete
    assert {Flow.of_key(f.key): (f.packets, f.bytes) for f in found.flows} == {
        flow: (len(sizes), sum(sizes)) for flow, sizes in flows.items()
    }
    assert len({flow.src.version for flow in flows}) == len({flow.si for flow in flows}) == 2


def test_the_false_positive_of_the_golden_vectors_is_detected() -> None:
    bank = Bank()
    bank.load(CASES["a Bloom filter false positive"]["after"])
    found = bank.listing()
    assert [Flow.of_key(flow.key).src.version for flow in found.flows] == [6]
    assert found.residual_cells == 3


@examples(400)
@given(data=st.binary(max_size=120), cut=st.integers(0, 200))
def test_no_frame_makes_it_fail(data: bytes, cut: int) -> None:
    whole = bytes.fromhex(CASES["one packet of IPv6"]["frames"][0])
    for frame in (data, whole[:cut] + data):
        try:
            parse(frame)
        except Unparsed as unparsed:
            assert unparsed.reason in Reason


@given(
    flow=st.builds(
        Flow,
        spi=st.integers(0, 2**24 - 1),
        si=st.integers(0, 255),
        src=st.ip_addresses(v=4),
        dst=st.ip_addresses(v=4),
        proto=st.integers(0, 255),
        src_port=st.integers(0, 65535),
        dst_port=st.integers(0, 65535),
    )
)
def test_a_key_gives_its_flow_back(flow: Flow) -> None:
    assert Flow.of_key(flow.flow_id_2) == flow
    assert unpadded(flow.flow_id_2.ljust(44, b"\0")) == flow.flow_id_2


def test_fields_that_hold_no_key() -> None:
    key = bytearray(parse(vectors.TCP4).flow.flow_id_2.ljust(44, b"\0"))
    for at, value in ((5, 5), (6, 1), (43, 1)):
        assert unpadded(bytes(key[:at] + bytes([value]) + key[at + 1 :])) is None


def test_fragments_of_a_datagram_are_one_flow() -> None:
    packet = IP(src="10.0.0.1", dst="10.0.0.2", proto=17) / bytes(3000)
    frames = [
        bytes(Ether(type=0x894F) / (Nsh(1, 2, next_protocol=1).encode() + bytes(part)))
        for part in packet.fragment(1000)
    ]
    assert len(frames) > 1
    assert len({parse(frame).flow for frame in frames}) == 1


def _register_flows(after: dict[str, Any]) -> int:
    table = Iblt(Sizes().iblt)
    for place, count, key_sum, *sums in after["iblt"]:
        table.cells.set(place, (count, int(key_sum, 16), *sums))
    return len(listing(table.shape, table.cells, unpadded).flows)


def test_flows_in_the_golden_vectors() -> None:
    flows = {
        "one packet of IPv4": 1,
        "a flow of three packets, of different sizes": 1,
        "encapsulations": 4,
        "Threshold_Eval": 1,
        "a number of packets": 1,
    }
    assert {name: _register_flows(CASES[name]["after"]) for name in flows} == flows
