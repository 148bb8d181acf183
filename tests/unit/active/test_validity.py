"""One rule for what does not come through, and what each probe counts for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.probing import made

from sfcperf import plugins
from sfcperf.active.ab import output as ab
from sfcperf.active.ab.probe import request_loss
from sfcperf.active.ditg import output as ditg
from sfcperf.active.ditg.probe import Ditg
from sfcperf.active.dns import output as dnsperf
from sfcperf.active.dns.probe import Dns
from sfcperf.active.httperf import output as httperf
from sfcperf.active.httperf.probe import Httperf
from sfcperf.active.iperf3 import output as iperf3
from sfcperf.active.iperf3.probe import Iperf3
from sfcperf.active.ping import output as ping
from sfcperf.active.ping.probe import Ping
from sfcperf.active.pktgen.probe import Pktgen
from sfcperf.active.validity import check_came_through, loss_doubts
from sfcperf.errors import MeasurementError
from sfcperf.results.values import Loss

GOLDEN = Path(__file__).parent / "golden"

NO_LOSS = {
    "heavy_hitter_accuracy": "a simulation: nothing is sent",
    "heavy_hitter_mitigation": "what is dropped is the result, flow by flow",
    "heavy_hitter_throughput": "from ring to ring: no chain",
    "labelled_traffic": "what is dropped is the result, packet by packet",
    "ndr": "what a load loses decides the search",
    "sdn_mon_query": "a query without a reply fails the attempt",
    "sfcmon_simulation": "a simulation: nothing is sent",
}
"""Probes without a count of losses, and why."""


def golden(name: str) -> str:
    return (GOLDEN / name).read_text()


def loss_of_ping(name: str) -> Loss:
    return made(Ping).loss(ping.parse(golden(name)), late=0)


def loss_of_httperf(name: str, **asked: Any) -> Loss:
    return made(Httperf, **asked).loss(httperf.parse(golden(name)))


def loss_of_iperf3(name: str, **asked: Any) -> Loss:
    return made(Iperf3, **asked).loss(iperf3.parse(golden(name)), mtu=1500)


def loss_of_dns(name: str, **asked: Any) -> Loss:
    return made(Dns, **asked).loss(dnsperf.parse(golden(name)))


def loss_of_ditg(sent_more: int) -> Loss:
    arrived = ditg.parse(golden("ditg-receiver-2.8.1.txt"), "the log")
    return made(Ditg).loss(arrived, arrived.packets + sent_more)


UDP = {"protocol": "udp", "rate_bps": 2_000_000}
CASES: list[tuple[str, Loss, str]] = [
    ("ping", loss_of_ping("ping-iputils-20221126.txt"), "valid"),
    ("ping", loss_of_ping("ping-loss-iputils-20221126.txt"), "warned"),
    ("ping", loss_of_ping("ping-unanswered-iputils-20221126.txt"), "failed"),
    ("iperf3", loss_of_iperf3("iperf3-udp-streams-3.12.json", **UDP, loss_warning=0.05), "valid"),
    ("iperf3", loss_of_iperf3("iperf3-udp-omit-loss-3.12.json", **UDP), "warned"),
    ("iperf3", loss_of_iperf3("iperf3-udp-omit-loss-3.12.json", protocol="udp"), "valid"),
    ("iperf3", loss_of_iperf3("iperf3-tcp-3.12.json"), "valid"),
    ("ditg", loss_of_ditg(0), "valid"),
    ("ditg", loss_of_ditg(1000), "warned"),
    ("pktgen", made(Pktgen, rate_pps=1000).loss(1000, 1000), "valid"),
    ("pktgen", made(Pktgen, rate_pps=1000).loss(1000, 900), "warned"),
    ("pktgen", made(Pktgen).loss(1000, 900), "valid"),
    ("pktgen", made(Pktgen, rate_pps=1000).loss(1000, 0), "failed"),
    ("httperf", loss_of_httperf("httperf-overload-0.9.0.txt", rate_per_s=500), "warned"),
    ("httperf", loss_of_httperf("httperf-overload-0.9.0.txt"), "untrusted"),
    ("httperf", loss_of_httperf("httperf-refused-0.9.0.txt", rate_per_s=500), "failed"),
    ("dns", loss_of_dns("dnsperf-rate-2.10.0.txt"), "valid"),
    ("dns", loss_of_dns("dnsperf-lost-2.10.0.txt"), "warned"),
    ("dns", loss_of_dns("dnsperf-lost-2.10.0.txt", loss_warning=0.2), "valid"),
    ("dns", loss_of_dns("dnsperf-refused-2.10.0.txt"), "warned"),
    ("dns", loss_of_dns("dnsperf-unanswered-2.10.0.txt"), "failed"),
    ("dns", loss_of_dns("dnsperf-lost-maximum-2.10.0.txt", rate_per_s="maximum"), "untrusted"),
    ("ab", request_loss(ab.parse(golden("ab-connections-2.3.txt"))), "valid"),
    ("ab", request_loss(ab.parse(golden("ab-failures-2.3.txt"))), "failed"),
]


def outcome(loss: Loss) -> str:
    """What the rule makes of it."""
    try:
        check_came_through(loss)
    except MeasurementError:
        return "failed"
    if loss_doubts(loss):
        return "untrusted"
    return "warned" if loss.is_notable else "valid"


@pytest.mark.parametrize(("probe", "loss", "expected"), CASES)
def test_the_rule(probe: str, loss: Loss, expected: str) -> None:
    assert 0 <= loss.lost <= loss.total
    assert outcome(loss) == expected, loss


def test_every_probe_has_its_place() -> None:
    counting = {probe for probe, *_ in CASES}
    shipped = {
        name for name in plugins.names("probe") if plugins.package("probe", name)[0] == "sfcperf"
    }
    assert counting | NO_LOSS.keys() == shipped
    assert counting.isdisjoint(NO_LOSS)


def test_one_failure_in_a_closed_loop_is_enough_and_none_in_an_open_loop() -> None:
    """A proxy that is killed and started again: one httperf, two loops."""
    loss = loss_of_httperf("httperf-overload-0.9.0.txt", rate_per_s=500)
    little = replace(loss, lost=2, total=100_000)
    assert outcome(little) == "valid"
    assert outcome(replace(little, changes_load=True)) == "untrusted"


def test_a_connection_that_is_closed_in_good_order_loses_its_requests() -> None:
    """httperf counts no error then: 16 connections of 500 calls, a quarter of them unanswered."""
    seen = httperf.parse(golden("httperf-closed-loop-0.9.0.txt"))
    seen = replace(seen, replies=6000, requests=6010, status={**seen.status, "2xx": 6000})
    loss = made(Httperf, calls_per_connection=500).loss(seen)
    assert (seen.errors.total, loss.lost, loss.total) == (0, 2000, 8000)
    assert outcome(loss) == "untrusted"


def test_segments_that_are_sent_again_are_a_share_of_the_segments() -> None:
    seen = iperf3.parse(golden("iperf3-tcp-3.12.json"))
    sent_bytes = seen.sent_bps * seen.sent_s / 8
    loss = made(Iperf3).loss(replace(seen, retransmits=500), mtu=1500)
    assert loss.ratio == pytest.approx(500 / (sent_bytes / 1448), rel=0.01)
    assert outcome(loss) == "warned"
