"""D-ITG over a real cable; the queue of a shaper says what delay and loss have to be."""

from dataclasses import replace
from pathlib import Path

import pytest
from support.network.cable import Cable, processes_in
from support.probing import made, measure, measure_in_peace, values

from sfcperf.active.ditg import Ditg
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock

pytestmark = pytest.mark.root
QUEUE_BYTES, SHAPED_BPS = 20_000, 5_000_000
OVERLOAD_BPS = 40_000_000
"""A busy machine will not keep this rate, but will exceed that of the shaper."""
PATIENT = {"rate_tolerance": 0.5}
"""Beside other tests a sender wakes late; what arrives is compared with what it sent."""
SHAPED = ("tbf", "rate", "5mbit", "burst", "2kb", "limit", str(QUEUE_BYTES))


def test_one_way_delay_of_udp(wire: Cable, tmp_path: Path) -> None:
    result = measure_in_peace(wire, tmp_path, Ditg, rate_bps=400_000, duration_s=1, **PATIENT)
    seen = values(result)
    assert list(seen) == [metric.name for metric in Ditg.metrics({"meter": "one-way"})]
    assert seen["loss_ratio"] == 0
    assert seen["rate_bps"] == pytest.approx(result.notes["sent_bps"], rel=0.05)
    assert 0 < seen["delay_min_us"] <= seen["delay_us"] <= seen["delay_max_us"] < 1e6
    assert result.notes["packets_received"] == result.notes["packets_sent"]
    sent_bits = result.notes["packets_sent"] * 512 * 8
    assert sent_bits == pytest.approx(result.notes["sent_bps"], rel=0.1)
    assert "TOTAL RESULTS" in (tmp_path / "ditg-receive.txt").read_text()
    assert not processes_in(wire.spaces["server"])


def test_a_full_queue_delays_and_loses(wire: Cable, tmp_path: Path) -> None:
    """The queue runs empty where the sender waits for a CPU, so the interface's counter judges."""
    wire.shape("middle", *SHAPED)
    before = wire.passed()
    result = measure(wire, tmp_path, Ditg, rate_bps=OVERLOAD_BPS, duration_s=2)
    passed = (wire.passed() - before) / result.notes["packets_sent"]
    seen = values(result)
    assert seen["delay_us"] == pytest.approx(QUEUE_BYTES * 8 / SHAPED_BPS * 1e6, rel=0.3)
    assert seen["loss_ratio"] > 0.5
    # Signalling passes as well.
    assert seen["loss_ratio"] == pytest.approx(1 - passed, abs=0.01)
    # A frame has 42 bytes of headers.
    assert seen["rate_bps"] < SHAPED_BPS * 512 / (512 + 42) * 1.1
    assert seen["rate_bps"] == pytest.approx(result.notes["sent_bps"] * passed, rel=0.1)


def test_loss_in_the_sender_is_untrusted(wire: Cable, tmp_path: Path) -> None:
    wire.shape("client", *SHAPED)
    result = measure(wire, tmp_path, Ditg, rate_bps=OVERLOAD_BPS, duration_s=1)
    assert any("the sender itself lost" in reason for reason in result.untrusted)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("protocol", ["udp", "tcp"])
def test_round_trip_time(wire: Cable, tmp_path: Path, protocol: str) -> None:
    asked = {"rate_bps": 400_000, "duration_s": 1, "protocol": protocol, **PATIENT}
    seen = values(measure_in_peace(wire, tmp_path, Ditg, **asked, meter="round-trip"))
    assert seen["loss_ratio"] == 0
    assert 0 < seen["rtt_min_us"] <= seen["rtt_us"] <= seen["rtt_max_us"] < 1e6


@pytest.mark.exhaustive
def test_the_way_back_is_in_the_round_trip_time_alone(wire: Cable, tmp_path: Path) -> None:
    wire.shape("server", *SHAPED)
    asked = {"rate_bps": OVERLOAD_BPS, "duration_s": 1}
    queue_us = QUEUE_BYTES * 8 / SHAPED_BPS * 1e6
    there_and_back = values(measure(wire, tmp_path, Ditg, **asked, meter="round-trip"))
    assert there_and_back["rtt_us"] == pytest.approx(queue_us, rel=0.3)
    assert values(measure(wire, tmp_path, Ditg, **asked))["delay_us"] < queue_us / 2


def test_a_chain_that_carries_no_udp(wire: Cable, tmp_path: Path) -> None:
    """Signalling goes through."""
    wire.drop_udp()
    with pytest.raises(MeasurementError, match="the log of the role `receive` has no packet"):
        measure(wire, tmp_path, Ditg, duration_s=0.2)
    assert not processes_in(wire.spaces["server"])


def test_a_chain_that_carries_nothing(wire: Cable, tmp_path: Path) -> None:
    elsewhere = replace(wire.deployment.server, address="198.18.1.9")
    probe = made(Ditg, duration_s=0.2)
    try:
        probe.prepare(wire.deployment, tmp_path)
        with pytest.raises(MeasurementError, match="ITGSend"):
            probe.measure(replace(wire.deployment, server=elsewhere), tmp_path)
    finally:
        probe.cleanup()


def test_a_datagram_that_would_be_fragmented_is_refused(wire: Cable, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="payload_bytes 1473 would be fragmented"):
        measure(wire, tmp_path, Ditg, payload_bytes=1473)


def test_clocks_that_differ_are_refused_where_they_matter(
    wire: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "shared", lambda hosts: False)
    with pytest.raises(MeasurementError, match="whose clocks differ") as refused:
        measure(wire, tmp_path, Ditg, duration_s=0.2)
    assert "round-trip" in (refused.value.hint or "")
    measure(wire, tmp_path, Ditg, duration_s=0.2, meter="round-trip")
