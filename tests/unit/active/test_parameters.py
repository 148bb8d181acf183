"""What the schemas of the probes let in, and what follows from parameters alone."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sfcperf.active.ab import Ab
from sfcperf.active.base import Probe
from sfcperf.active.ditg import Ditg
from sfcperf.active.httperf import Httperf
from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.ndr import Ndr
from sfcperf.active.ping import Ping
from sfcperf.active.pktgen import Pktgen
from sfcperf.active.sfcmon_simulation import SfcmonSimulation

PROBES: list[type[Probe]] = [Ping, Iperf3, Httperf, Ab, Ndr, Pktgen, SfcmonSimulation, Ditg]


def filled(probe: type[Probe], **given: Any) -> dict[str, Any]:
    properties = probe.parameters["properties"]
    return {n: p["default"] for n, p in properties.items() if "default" in p} | given


def accepts(probe: type[Probe], **given: Any) -> bool:
    return Draft202012Validator(probe.parameters).is_valid(given)


@pytest.mark.parametrize("probe", PROBES)
def test_schema_is_sound_and_documented(probe: type[Probe]) -> None:
    Draft202012Validator.check_schema(probe.parameters)
    assert all(value["description"] for value in probe.parameters["properties"].values())
    assert accepts(probe)
    assert accepts(probe, **filled(probe))
    assert not accepts(probe, unknown=1)


def test_ip_protocols_are_those_of_the_measured_packets() -> None:
    assert Ping.ip_protocols(filled(Ping)) == {"icmp"}
    assert Httperf.ip_protocols(filled(Httperf)) == {"tcp"}
    assert Ab.ip_protocols(filled(Ab)) == {"tcp"}
    for protocol in ("tcp", "udp"):
        assert Iperf3.ip_protocols(filled(Iperf3, protocol=protocol)) == {protocol}
    assert Pktgen.ip_protocols(filled(Pktgen)) == {"udp"}
    assert Pktgen.ip_protocols(filled(Pktgen, protocol="tcp-syn")) == {"tcp"}


@pytest.mark.parametrize("probe", PROBES)
def test_metrics_are_declared_well(probe: type[Probe]) -> None:
    metrics = probe.metrics(filled(probe))
    assert sum(metric.primary for metric in metrics) == 1
    assert len({metric.name for metric in metrics}) == len(metrics)
    for metric in metrics:
        suffix = {"us": "_us", "bit/s": "_bps"}.get(metric.unit, "")
        assert metric.name.endswith(suffix)


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"rate_bps": "maximum"}, True),
        ({"rate_bps": "fast"}, False),
        ({"protocol": "udp", "congestion": "cubic"}, False),
        ({"congestion": "cubic"}, True),
        ({"congestion": "cubic; reboot"}, False),
        ({"payload_bytes": 40}, False),
        ({"write_bytes": 1000}, True),
        ({"protocol": "udp", "write_bytes": 1000}, False),
        ({"protocol": "udp", "payload_bytes": 40}, True),
        ({"protocol": "sctp"}, False),
        ({"port": 1023}, False),
    ],
)
def test_iperf3_parameters(given: dict[str, Any], valid: bool) -> None:
    assert accepts(Iperf3, **given) is valid


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"connections": 1000}, True),
        ({"connections": 1001}, False),
        ({"connections": 5000, "rate_per_s": 100}, True),
        ({"rate_per_s": 0}, False),
    ],
)
def test_httperf_parameters(given: dict[str, Any], valid: bool) -> None:
    assert accepts(Httperf, **given) is valid


def test_the_port_of_a_load_balancer_is_never_chosen() -> None:
    assert accepts(Ab, server_ports=[8081], port=80)
    assert not accepts(Ab, server_ports=[8081])


def test_labels() -> None:
    assert Iperf3.label(filled(Iperf3, protocol="udp")) == "iperf3-udp"
    assert Iperf3.label(filled(Iperf3)) == "iperf3-tcp"
    assert Ping.label(filled(Ping)) == "ping"


def test_durations() -> None:
    assert Ping.duration_s(filled(Ping, count=21, interval_s=0.1)) == pytest.approx(2)
    assert Iperf3.duration_s(filled(Iperf3, duration_s=3, omit_s=1)) == 4
    assert Httperf.duration_s(filled(Httperf, duration_s=3)) == 3
    assert Httperf.duration_s(filled(Httperf, rate_per_s=50, connections=100)) == 2


def test_expected_packets_are_fewer_than_are_sent() -> None:
    assert Ping.expected_packets(filled(Ping, count=20)) == 10
    # 1 Mbit/s in datagrams of 1000 bytes for 4 s are 500 datagrams.
    udp = filled(Iperf3, protocol="udp", rate_bps=1_000_000, payload_bytes=1000, duration_s=4)
    assert Iperf3.expected_packets(udp) == 250
    # 10 connections of 5 calls: SYN, 5 requests, FIN each are 70.
    http = filled(Httperf, connections=10, calls_per_connection=5)
    assert Httperf.expected_packets(http) == 35
    assert Ab.expected_packets(filled(Ab, requests=100)) == 150
    assert Ab.expected_packets(filled(Ab, requests=100, keep_alive=True)) == 50


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"frame_bytes": 64}, True),
        ({"frame_bytes": 63}, False),
        ({"frame_bytes": 1519}, False),
        ({"frame_bytes": "imix"}, True),
        ({"frame_bytes": "imix", "imix": [{"frame_bytes": 64, "weight": 1}]}, True),
        ({"imix": [{"frame_bytes": 64}]}, False),
        ({"imix": [{"frame_bytes": 64, "weight": 0}]}, False),
        ({"imix": []}, False),
        ({"rate_pps": 0}, False),
        ({"rate_pps": 1}, True),
        ({"duration_s": 0.01}, True),
        ({"flows": 64_513}, False),
        ({"distribution": "zipf", "zipf_exponent": 1.1}, True),
        ({"zipf_exponent": 0}, False),
        ({"engine": "dpdk"}, False),
        ({"protocol": "tcp"}, False),
    ],
)
def test_parameters_of_pktgen(given: dict[str, Any], valid: bool) -> None:
    assert accepts(Pktgen, **given) is valid


def test_pktgen_expects_half_of_its_packets() -> None:
    assert Pktgen.expected_packets(filled(Pktgen, rate_pps=1000, duration_s=2)) == 1000
    assert Pktgen.expected_packets(filled(Pktgen, duration_s=2)) == 20
    assert Pktgen.expected_packets(filled(Pktgen, rate_pps=1, duration_s=0.01)) == 1
    assert Pktgen.duration_s(filled(Pktgen, duration_s=2)) == 2
    assert Pktgen.label(filled(Pktgen, protocol="tcp-syn")) == "pktgen-tcp-syn"


def test_ditg() -> None:
    assert Ditg.duration_s(filled(Ditg, duration_s=3)) == 3
    # 1 Mbit/s in packets of 500 bytes for 2 s are 500 packets.
    udp = filled(Ditg, rate_bps=1_000_000, payload_bytes=500, duration_s=2)
    assert Ditg.expected_packets(udp) == 250
    assert Ditg.expected_packets({**udp, "protocol": "tcp"}) == 20
    assert Ditg.ip_protocols(udp) == {"udp"}
    assert Ditg.label(udp) == "ditg-udp"
    assert {metric.name for metric in Ditg.metrics({**udp, "meter": "round-trip"})} >= {"rtt_us"}
    assert not accepts(Ditg, payload_bytes=43)
    assert not accepts(Ditg, protocol="icmp")
