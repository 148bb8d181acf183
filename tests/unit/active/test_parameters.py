"""What the schemas of the probes let in, and what follows from parameters alone."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.probing import made

from sfcperf.active.ab import Ab
from sfcperf.active.base import Probe
from sfcperf.active.ditg import Ditg
from sfcperf.active.dns import Dns
from sfcperf.active.httperf import Httperf
from sfcperf.active.iperf3 import Iperf3
from sfcperf.active.ndr import Ndr
from sfcperf.active.ping import Ping
from sfcperf.active.pktgen import Pktgen
from sfcperf.active.sfcmon_simulation import SfcmonSimulation

PROBES: list[type[Probe]] = [Ping, Iperf3, Httperf, Ab, Ndr, Pktgen, SfcmonSimulation, Ditg, Dns]


def filled(probe: type[Probe], **given: Any) -> Any:
    return made(probe, **given).parameters


def accepts(probe: type[Probe], **given: Any) -> bool:
    return Draft202012Validator(probe.parameters).is_valid(given)


@pytest.mark.parametrize("probe", PROBES)
def test_schema_is_sound_and_documented(probe: type[Probe]) -> None:
    Draft202012Validator.check_schema(probe.parameters)
    assert all(value["description"] for value in probe.parameters["properties"].values())
    assert accepts(probe)
    assert accepts(probe, **filled(probe))
    assert not accepts(probe, unknown=1)


@pytest.mark.parametrize("probe", PROBES)
def test_metrics_are_declared_well(probe: type[Probe]) -> None:
    metrics = probe.metrics(filled(probe))
    assert sum(metric.primary for metric in metrics) == 1
    assert len({metric.name for metric in metrics}) == len(metrics)
    for metric in metrics:
        suffix = {"us": "_us", "bit/s": "_bps"}.get(metric.unit, "")
        assert metric.name.endswith(suffix)
    if probe is Ditg:
        of_round_trip = Ditg.metrics(filled(Ditg, meter="round-trip"))
        assert "rtt_us" in {metric.name for metric in of_round_trip}
    if probe is Dns:
        of_closed_loop = Dns.metrics(filled(Dns, rate_per_s="maximum"))
        assert [each.name for each in of_closed_loop if each.primary] == ["queries_per_s"]


UDP = {"protocol": "udp", "rate_bps": 1_000_000}
IMIX = {"frame_bytes": 64, "weight": 1}


@pytest.mark.parametrize(
    ("probe", "right", "wrong"),
    [
        (Iperf3, [{"rate_bps": "maximum"}, {"congestion": "cubic"}, {"write_bytes": 1000},
                  {"protocol": "udp", "payload_bytes": 40}],
         [{"rate_bps": "fast"}, {"protocol": "udp", "congestion": "cubic"}, {"payload_bytes": 40},
          {"congestion": "cubic; reboot"}, {"protocol": "udp", "write_bytes": 1000},
          {"protocol": "sctp"}, {"port": 1023}]),
        (Httperf, [{"connections": 1000}, {"connections": 5000, "rate_per_s": 100}],
         [{"connections": 1001}, {"rate_per_s": 0}]),
        (Pktgen, [{"frame_bytes": 64}, {"frame_bytes": "imix", "imix": [IMIX]}, {"rate_pps": 1},
                  {"frame_bytes": "imix"}, {"duration_s": 0.01},
                  {"distribution": "zipf", "zipf_exponent": 1.1}],
         [{"frame_bytes": 63}, {"frame_bytes": 1519}, {"imix": [{"frame_bytes": 64}]},
          {"imix": [IMIX | {"weight": 0}]}, {"imix": []}, {"rate_pps": 0}, {"flows": 64_513},
          {"zipf_exponent": 0}, {"engine": "dpdk"}, {"protocol": "tcp"}]),
        # The port of a load balancer is never chosen.
        (Ab, [{"server_ports": [8081], "port": 80}], [{"server_ports": [8081]}]),
        (Dns, [{"rate_per_s": "maximum", "concurrency": 1}, {"types": ["AAAA", "A"]}],
         [{"rate_per_s": 0.5}, {"types": []}, {"types": ["A", "A"]}, {"types": ["ANY"]}]),
        (Ditg, [], [{"payload_bytes": 43}, {"protocol": "icmp"}]),
    ],
)  # fmt: skip
def test_parameters_that_go_together(
    probe: type[Probe], right: list[dict[str, Any]], wrong: list[dict[str, Any]]
) -> None:
    assert [given for given in right if not accepts(probe, **given)] == []
    assert [given for given in wrong if accepts(probe, **given)] == []


@pytest.mark.parametrize(
    ("probe", "given", "label", "protocol", "duration_s"),
    [
        (Ping, {"count": 21, "interval_s": 0.1}, "ping", "icmp", 2),
        (Iperf3, {"duration_s": 3, "omit_s": 1}, "iperf3-tcp", "tcp", 4),
        (Iperf3, {"protocol": "udp"}, "iperf3-udp", "udp", None),
        (Httperf, {"duration_s": 3}, "httperf", "tcp", 3),
        (Httperf, {"rate_per_s": 50, "connections": 100}, "httperf", "tcp", 2),
        (Ab, {}, "ab", "tcp", None),
        (Pktgen, {"duration_s": 2}, "pktgen-udp", "udp", 2),
        (Pktgen, {"protocol": "tcp-syn"}, "pktgen-tcp-syn", "tcp", None),
        (Ditg, {"duration_s": 3}, "ditg-udp", "udp", 3),
        (Dns, {"duration_s": 3}, "dns", "udp", 3),
    ],
)
def test_what_follows_from_parameters(
    probe: type[Probe], given: dict[str, Any], label: str, protocol: str, duration_s: float | None
) -> None:
    parameters = filled(probe, **given)
    assert probe.label(parameters) == label
    assert probe.ip_protocols(parameters) == {protocol}
    if duration_s is not None:
        assert probe.duration_s(parameters) == pytest.approx(duration_s)


@pytest.mark.parametrize(
    ("probe", "given", "packets"),
    [
        (Ping, {"count": 20}, 10),
        # 1 Mbit/s in datagrams of 500 bytes for 2 s are 500 datagrams.
        (Iperf3, {**UDP, "payload_bytes": 500, "duration_s": 2}, 250),
        # 10 connections of 5 calls: SYN, 5 requests, FIN each are 70.
        (Httperf, {"connections": 10, "calls_per_connection": 5}, 35),
        (Ab, {"requests": 100}, 150),
        (Ab, {"requests": 100, "keep_alive": True}, 50),
        (Pktgen, {"rate_pps": 1000, "duration_s": 2}, 1000),
        (Pktgen, {"duration_s": 2}, 20),
        (Pktgen, {"rate_pps": 1, "duration_s": 0.01}, 1),
        # 1 Mbit/s in packets of 500 bytes for 2 s are 500 packets.
        (Ditg, {"rate_bps": 10**6, "payload_bytes": 500, "duration_s": 2}, 250),
        (Ditg, {"protocol": "tcp", "duration_s": 2}, 20),
        (Dns, {"rate_per_s": 500, "duration_s": 2}, 500),
        (Dns, {"rate_per_s": "maximum", "concurrency": 10}, 5),
    ],
)
def test_expected_packets_are_fewer_than_are_sent(
    probe: type[Probe], given: dict[str, Any], packets: int
) -> None:
    assert probe.expected_packets(filled(probe, **given)) == packets
