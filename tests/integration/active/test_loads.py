"""Loads over a real cable: what is offered, what arrives, and who lost the rest."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable, listeners, processes_in

from sfcperf.active.iperf3 import Iperf3Load
from sfcperf.active.load import Load, LoadGenerator
from sfcperf.errors import MeasurementError

pytestmark = pytest.mark.root
SLOW = ("tbf", "rate", "10mbit", "burst", "15kb", "limit", "30kb")
FRAME_BYTES = 1046  # payload 1000
TRIES = 6
"""A busy machine may hold the sender up."""


@contextmanager
def iperf3(wire: Cable, raw: Path, **given: Any) -> Iterator[LoadGenerator]:
    offers = Iperf3Load({"frame_bytes": FRAME_BYTES, "streams": 1} | given)
    try:
        offers.prepare(wire.deployment, raw)
        yield offers
    finally:
        offers.cleanup()


def offered(wire: Cable, raw: Path, rate_pps: float, duration_s: float = 1, **given: Any) -> Load:
    with iperf3(wire, raw, **given) as offers:
        return offers.offer(wire.deployment, raw, rate_pps, duration_s)


def test_everything_arrives_where_there_is_room(wire: Cable, tmp_path: Path) -> None:
    for number in range(TRIES):
        raw = tmp_path / str(number)
        raw.mkdir()
        load = offered(wire, raw, 1500, streams=3)
        if load.reached(0.01) and not load.endpoint_limit:
            break
    assert load.sent_pps == pytest.approx(1500, rel=0.01)
    assert load.reached(0.01)
    assert load.received == load.sent


def test_loads_follow_each_other(wire: Cable, tmp_path: Path) -> None:
    with iperf3(wire, tmp_path) as offers:
        loads = []
        for number in range(3):
            raw = tmp_path / str(number)
            raw.mkdir()
            loads.append(offers.offer(wire.deployment, raw, 100, 1))
    assert [load.lost for load in loads] == [0, 0, 0]
    assert listeners(wire.deployment.server.host) == ""
    assert processes_in(wire.spaces["server"]) == []


def test_what_arrives_is_what_the_shaper_lets_pass(wire: Cable, tmp_path: Path) -> None:
    """The judge is the qdisc: a packet that it did not drop has arrived."""
    wire.shape("middle", *SLOW)
    load = offered(wire, tmp_path, 3000)
    shown = wire.deployment.hops[0].host.run(
        ["tc", "-s", "qdisc", "show", "dev", "server0"], timeout_s=5
    )
    dropped = int(shown.text.split("(dropped ")[1].split(",")[0])
    assert load.lost == dropped > 500
    assert load.endpoint_limit == ""


def test_a_load_that_stops_arriving_is_lost_to_its_end(wire: Cable, tmp_path: Path) -> None:
    """No later datagram tells that some are missing; the kernel's counters do."""
    wire.shape("middle", "tbf", "rate", "10mbit", "burst", "15kb", "limit", "15kb")
    load = offered(wire, tmp_path, 8000)
    assert load.lost > 0.7 * load.sent


def test_a_sender_that_is_too_slow_says_so(wire: Cable, tmp_path: Path) -> None:
    load = offered(wire, tmp_path, 5e6, frame_bytes=64)
    assert not load.reached(0.5)
    assert load.duration_s < 2


def test_what_the_sender_lost_is_not_the_chains(wire: Cable, tmp_path: Path) -> None:
    wire.shape("client", *SLOW)
    assert "the sender" in offered(wire, tmp_path, 3000).endpoint_limit


def test_durations_are_whole_seconds_and_frames_fill_the_mtu(wire: Cable, tmp_path: Path) -> None:
    offers = Iperf3Load({"streams": 1})
    try:
        offers.prepare(wire.deployment, tmp_path)
        load = offers.offer(wire.deployment, tmp_path, 100, 1.2)
    finally:
        offers.cleanup()
    assert load.duration_s == pytest.approx(2, rel=0.05)
    report = json.loads((tmp_path / "iperf3-client.json").read_text())
    assert report["start"]["test_start"]["blksize"] == 1500 - 28


def test_frames_that_do_not_fit_are_refused(wire: Cable, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="frames of 1519 bytes are too large"):
        offered(wire, tmp_path, 100, frame_bytes=1519)
