"""The reference model of SDN-Mon: against golden vectors, tshark and statistics."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from scipy.stats import binom, chisquare
from support.sdnmon.frames import ETHERNET, forms, random_frames
from support.sdnmon.tool import layout_of
from support.tiers import examples

from sfcperf.dataplane.sdnmon import model
from sfcperf.dataplane.sdnmon.fields import HEADERS, NAMES, Layout
from sfcperf.dataplane.sdnmon.frame import MalformedError, read
from sfcperf.dataplane.sdnmon.model import Monitor, hash64, is_sampled

VECTORS = json.loads((Path(model.__file__).parent / "vectors.json").read_text())
ALL = layout_of(",".join(NAMES))


def test_golden_vectors() -> None:
    for case in VECTORS["cases"]:
        layout = layout_of(case["fields"])
        for vector in case["frames"]:
            try:
                key = read(bytes.fromhex(vector["frame"]), layout)
            except MalformedError as problem:
                assert str(problem) == vector["total"]
            else:
                assert key.hex() == vector["key"]
                assert f"{hash64(key, int(VECTORS['hash_key'], 16)):016x}" == vector["hash"]
    totals = {f["total"] for case in VECTORS["cases"] for f in case["frames"] if "total" in f}
    assert totals == {
        "malformed_truncated", "malformed_ip", "malformed_transport", "malformed_nsh",
        "too_many_headers", "without_fields",
    }  # fmt: skip


TSHARK = {
    "eth.dst": "eth_dst", "eth.src": "eth_src", "eth.type": "eth_type", "vlan.etype": "eth_type",
    "vlan.id": "vlan_vid", "vlan.priority": "vlan_pcp",
    "ip.src": "ipv4_src", "ip.dst": "ipv4_dst", "ip.proto": "ip_proto", "ipv6.src": "ipv6_src",
    "ipv6.dst": "ipv6_dst", "ip.dsfield.dscp": "ip_dscp", "ip.dsfield.ecn": "ip_ecn",
    "ipv6.tclass.dscp": "ip_dscp", "ipv6.tclass.ecn": "ip_ecn", "udp.srcport": "tp_src",
    "udp.dstport": "tp_dst", "tcp.srcport": "tp_src", "tcp.dstport": "tp_dst",
    "sctp.srcport": "tp_src", "sctp.dstport": "tp_dst", "tcp.flags": "tcp_flags",
    "icmp.type": "icmp_type", "icmp.code": "icmp_code", "icmpv6.type": "icmp_type",
    "icmpv6.code": "icmp_code", "nsh.spi": "nsh_spi", "nsh.si": "nsh_si", "vxlan.vni": "tunnel_id",
}  # fmt: skip
FIRST = ("vlan_vid", "vlan_pcp", "eth_dst", "eth_src", "eth_type")
"""Of a packet in a packet tshark lists both values: ours is the last one, but for these."""
JUDGED = (
    "udp", "tcp", "sctp", "icmp", "udp over IPv6", "icmpv6", "extensions", "tag",
    "vxlan", "vxlan over IPv6", "nsh", "nsh with metadata of type 2", "nsh with Ethernet",
    "nsh in vxlan-gpe", "nsh in vxlan-gpe over IPv6",
)  # fmt: skip


def _number(text: str) -> int:
    if re.fullmatch("(..:){5}..", text):
        return int(text.replace(":", ""), 16)
    if "." in text or ":" in text:
        return int(ip_address(text))
    return int(text, 0)


def test_tshark_reads_the_same(tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: apt-get install tshark")
    capture = tmp_path / "frames.pcap"
    wrpcap(str(capture), [Ether(forms()[name]) for name in JUDGED])
    argv = ["tshark", "-r", str(capture), "-T", "json", *(w for f in TSHARK for w in ("-e", f))]
    packets = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    assert len(packets) == len(JUDGED)
    judged = set()
    for name, packet in zip(JUDGED, packets, strict=True):
        key, layers = read(forms()[name], ALL), packet["_source"]["layers"]
        for field, values in layers.items():
            ours = TSHARK[field]
            if field.startswith("udp.") and "tcp.srcport" in layers:
                continue  # that of the tunnel
            if field == "eth.type" and "vlan.etype" in layers:
                continue  # that of the tag
            if field.startswith("ip") and not _has(key, "ipv6" if "ipv6" in field else "ipv4"):
                continue  # that of the tunnel
            judged.add(field)
            seen = _number(values[0 if ours in FIRST else -1])
            if ours == "vlan_vid":
                seen |= 0x1000
            assert _value(key, ours) == seen, (name, field)
    assert judged == set(TSHARK)


def _value(key: bytes, name: str) -> int:
    """Of a field in a key of all fields."""
    at = 0
    for field in ALL.fields:
        if field.name == name:
            return int.from_bytes(key[at : at + field.bytes], "big")
        at += field.bytes
    raise KeyError(name)


def _has(key: bytes, name: str) -> bool:
    """Whether the packet has this version of IP."""
    return bool(_value(key, "presence") >> HEADERS.index(name[:4]) & 1)


@given(st.sets(st.sampled_from(NAMES), min_size=1), st.integers(0, 2**32))
@examples(200)
def test_a_key_of_fewer_fields_is_a_part_of_the_longer_one(names: set[str], seed: int) -> None:
    """If no field of a tunnel is there, all fields but those inside are the same."""
    layout = layout_of(",".join(names))
    for frame in random_frames(seed, 5):
        try:
            key = read(frame, layout)
        except MalformedError:
            continue
        assert len(key) % 4 == 0
        assert len(key) - 4 < sum(field.bytes for field in layout.fields) <= len(key)
        monitor = Monitor(layout, seed)
        monitor.receive(frame)
        assert set(monitor.table) == {key}


@given(st.integers(0, 2**64 - 1), st.binary(min_size=16, max_size=16))
@examples(200)
def test_a_greater_ratio_samples_more(secret: int, key: bytes) -> None:
    sampled = [is_sampled(key, secret, ratio / 20) for ratio in range(21)]
    assert sampled == sorted(sampled)
    assert sampled[0] is False
    assert sampled[20] is True


@pytest.mark.parametrize("step", [1, 65536])
def test_flows_that_follow_each_other_are_sampled_as_if_at_random(step: int) -> None:
    """The number that is sampled has the binomial distribution over secrets."""
    layout = layout_of("ipv4_src")
    keys = [layout.key({"ipv4_src": n * step}, ("ipv4",)) for n in range(200)]
    share = [
        binom.cdf(sum(is_sampled(key, secret, 0.5) for key in keys), 200, 0.5)
        for secret in range(400)
    ]
    # Bounds of about a quarter each, as the distribution is one of whole numbers.
    edges = [binom.cdf(limit, 200, 0.5) for limit in (94, 99, 104)]
    observed = [0, 0, 0, 0]
    for value in share:
        observed[sum(value > edge for edge in edges)] += 1
    bounds = [0.0, *edges, 1.0]
    expected = [400 * (high - low) for low, high in itertools.pairwise(bounds)]
    assert chisquare(observed, expected).pvalue > 1e-4


def test_masked_bits_do_not_tell_flows_apart() -> None:
    layout = Layout({"ipv4_src": 0xFFFFFF00, "tcp_flags": 0x002})
    keys = {
        read(bytes(ETHERNET / IP(src=f"10.0.0.{n}", dst="10.1.0.1") / TCP(flags=flags)), layout)
        for n in (1, 2)
        for flags in ("S", "SA")
    }
    assert len(keys) == 1
