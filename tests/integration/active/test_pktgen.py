"""pktgen over a real cable, whose middle loses and duplicates packets as nftables counts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable, processes_in
from support.probing import made, measure, measure_while, values

from sfcperf.active.base import ProbeResult
from sfcperf.active.pktgen import Pktgen
from sfcperf.dataplane import binaries
from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not binaries.requirement("sfc-pktgen").met, reason="`make setup` compiles sfc-pktgen"
    ),
]
RATE = 2000


def nft(wire: Cable, script: str) -> str:
    argv = ["ip", "netns", "exec", wire.spaces["middle"], "nft", "-j", *script.split()]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, timeout=10)
    return done.stdout


def plant(wire: Cable, rule: str) -> None:
    """A rule for packets that the middle forwards."""
    nft(wire, "add table ip planted")
    nft(wire, "add chain ip planted forward { type filter hook forward priority 0 ; }")
    nft(wire, f"add rule ip planted forward {rule}")


def planted(wire: Cable) -> int:
    """Packets that met the rule."""
    rules = json.loads(nft(wire, "list chain ip planted forward"))["nftables"]
    expressions = next(entry["rule"]["expr"] for entry in rules if "rule" in entry)
    counter = next(each["counter"] for each in expressions if "counter" in each)
    return int(counter["packets"])


def measure_with(wire: Cable, raw: Path, rule: str, **given: Any) -> ProbeResult:
    """The rule is planted behind the warm-up."""
    probe = made(Pktgen, **given)
    try:
        probe.prepare(wire.deployment, raw)
        plant(wire, rule)
        return probe.measure(wire.deployment, raw)
    finally:
        probe.cleanup()


def attached(wire: Cable) -> list[str]:
    """Interfaces with an XDP program."""
    found = []
    for space in wire.spaces.values():
        argv = ["ip", "-j", "-n", space, "link", "show"]
        done = subprocess.run(argv, check=True, capture_output=True, timeout=10)
        found += [link["ifname"] for link in json.loads(done.stdout) if "xdp" in link]
    return found


def idle(wire: Cable) -> bool:
    return not attached(wire) and not any(map(processes_in, wire.spaces.values()))


@pytest.mark.parametrize(
    "given",
    [
        {"engine": "xdp", "flows": 60_000, "distribution": "zipf"},
        {"engine": "packet", "protocol": "tcp-syn", "frame_bytes": "imix"},
    ],
)
def test_a_cable_loses_nothing(wire: Cable, tmp_path: Path, given: dict[str, Any]) -> None:
    result = measure(wire, tmp_path, Pktgen, rate_pps=RATE, duration_s=0.5, **given)
    found, notes = values(result), result.notes
    assert set(found) == {metric.name for metric in Pktgen.reported}
    assert notes["packets_sent"] == notes["packets_received"] == pytest.approx(found["tx_pps"] / 2)
    assert (found["loss_ratio"], found["reordered"], found["duplicated"]) == (0, 0, 0)
    assert 0 < found["latency_p50_us"] <= found["latency_p99_us"] <= found["latency_p999_us"]
    reached = found["tx_pps"] >= 0.99 * RATE
    assert reached or any("the sender reached" in reason for reason in result.untrusted)
    assert found["tx_pps"] <= 1.01 * RATE
    assert notes["engine"] == given["engine"]
    assert sum(result.series["rx_pps"]) / 5 == pytest.approx(found["rx_pps"])
    assert idle(wire)


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_loss_is_that_of_the_chain(wire: Cable, tmp_path: Path, engine: str) -> None:
    rule = "udp dport 9 numgen inc mod 10 0 counter drop"
    asked = {"rate_pps": RATE, "duration_s": 0.5, "engine": engine, "timeout_s": 0.2}
    result = measure_with(wire, tmp_path, rule, **asked)
    sent, received = result.notes["packets_sent"], result.notes["packets_received"]
    assert sent - received == planted(wire) == pytest.approx(sent / 10, abs=1)
    assert values(result)["loss_ratio"] == (sent - received) / sent


def test_duplicates_are_no_gain(wire: Cable, tmp_path: Path) -> None:
    rule = "udp dport 9 numgen inc mod 4 0 counter dup to 198.18.1.2 device server0"
    result = measure_with(wire, tmp_path, rule, rate_pps=RATE, duration_s=0.5)
    assert values(result)["duplicated"] == planted(wire) > 0
    assert values(result)["loss_ratio"] == 0


def test_a_sender_that_is_too_slow_is_told(wire: Cable, tmp_path: Path) -> None:
    result = measure(wire, tmp_path, Pktgen, rate_pps=100_000_000, duration_s=0.1)
    assert any("of 100000000 pps" in reason for reason in result.untrusted)


def test_what_the_interface_cannot_do_is_done_otherwise(wire: Cable, tmp_path: Path) -> None:
    """Where nothing can be attached to the other end of the client's veth, it takes no frames of
    XDP."""
    blind = replace(wire, deployment=replace(wire.deployment, hops=()))
    result = measure(blind, tmp_path, Pktgen, rate_pps=RATE, duration_s=0.1)
    assert result.notes["engine"] == "packet"
    assert result.notes["engine_reason"].startswith("not xdp: none of ")
    assert values(result)["loss_ratio"] == 0
    with pytest.raises(MeasurementError, match="packets do not get through"):
        measure(blind, tmp_path, Pktgen, rate_pps=RATE, duration_s=0.1, engine="xdp")


def test_a_chain_that_carries_nothing_is_told(wire: Cable, tmp_path: Path) -> None:
    """From a moment behind the warm-up on, and from the beginning."""
    asked = {"rate_pps": RATE, "duration_s": 0.1, "timeout_s": 0.1}
    with pytest.raises(MeasurementError, match=r"none of \d+ packets arrived"):
        measure_with(wire, tmp_path, "counter drop", **asked)
    with pytest.raises(MeasurementError, match=r"none of \d+ packets of the warm-up arrived"):
        measure(wire, tmp_path, Pktgen, **asked)
    assert idle(wire)


def test_frames_that_do_not_fit_are_told(wire: Cable, tmp_path: Path) -> None:
    narrow = replace(wire.deployment, client=replace(wire.deployment.client, mtu=1400))
    with pytest.raises(MeasurementError, match="1518 bytes") as error:
        measure(replace(wire, deployment=narrow), tmp_path, Pktgen, frame_bytes="imix")
    assert error.value.allowed == "frame_bytes up to 1418"


def test_two_clocks_give_no_latency(
    wire: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two kernels cannot be had here."""
    monkeypatch.setattr(clock, "kernel", lambda host: host.name)
    result = measure(wire, tmp_path, Pktgen, rate_pps=RATE, duration_s=0.1)
    assert not any(name.startswith("latency") for name in values(result))
    assert "clocks differ" in result.notes["no_latency"]


@pytest.mark.parametrize("role", ["send", "receive"])
def test_an_end_that_is_killed_is_told(wire: Cable, tmp_path: Path, role: str) -> None:
    ends = {"send": wire.spaces["client"], "receive": wire.spaces["server"]}

    def kill() -> None:
        for pid in processes_in(ends[role]):
            os.kill(pid, signal.SIGKILL)

    probe = made(Pktgen, rate_pps=RATE, duration_s=2)
    with pytest.raises(MeasurementError, match="sfc-pktgen"):
        measure_while(wire, tmp_path, probe, 1, kill)
    assert idle(wire)
