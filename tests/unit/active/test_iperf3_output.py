import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.iperf3.output import parse
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"


VERSIONS = ("3.12", "3.16")  # of Debian 12 and of Ubuntu 24.04


def golden(kind: str, version: str = "3.12") -> str:
    return (GOLDEN / f"iperf3-{kind}-{version}.json").read_text()


@pytest.mark.parametrize(("version", "rate_bps"), [("3.12", 100e6), ("3.16", 400e3)])
def test_reads_tcp(version: str, rate_bps: float) -> None:
    seen = parse(golden("tcp", version))
    end = json.loads(golden("tcp", version))["end"]
    assert seen.received_bps == pytest.approx(end["sum_received"]["bits_per_second"])
    assert seen.received_each_bps == pytest.approx([seen.received_bps], rel=0.01)
    assert seen.sent_bps == pytest.approx(end["sum_sent"]["bits_per_second"])
    assert seen.sent_bps >= rate_bps * 0.98  # two streams; iperf3 sends whole blocks
    assert seen.retransmits == end["sum_sent"]["retransmits"]
    assert seen.datagrams is None
    assert seen.version == f"iperf {version}"


@pytest.mark.parametrize("version", VERSIONS)
def test_udp_loss_leaves_out_the_omitted_seconds(version: str) -> None:
    """Independently of iperf3's totals: 3.12 counts losses of those seconds, too."""
    seen = parse(golden("udp-omit-loss", version))
    assert seen.datagrams.sent == pytest.approx(250, abs=2)  # 2 Mbit/s of 1000 bytes for 1 s
    # Independently, from bytes: what arrived of what was sent.
    arrived = seen.received_bps / seen.sent_bps
    datagrams = seen.datagrams
    loss_ratio = datagrams.lost / (datagrams.received + datagrams.lost)
    assert loss_ratio == pytest.approx(1 - arrived, abs=0.05)
    report = json.loads(golden("udp-omit-loss", version))["server_output_json"]
    rows = [interval["sum"] for interval in report["intervals"]]
    omitted = [row["packets"] - row["lost_packets"] for row in rows if row["omitted"]]
    assert datagrams.omitted == sum(omitted) > 0
    assert 0 <= datagrams.unseen <= 0.02 * datagrams.sent
    assert seen.datagrams.received_per_s * 1000 * 8 == pytest.approx(seen.received_bps, rel=0.01)


def test_a_datagram_that_comes_late_was_not_lost() -> None:
    """24 of them, for which iperf 3.12 reports 2^64 - 24 lost in their interval, rounded."""
    report = json.loads(golden("udp-late"))
    intervals = report["server_output_json"]["intervals"]
    assert intervals[1]["sum"]["lost_packets"] == 2.0**64
    seen = parse(json.dumps(report))
    assert seen.datagrams.lost == report["end"]["sum"]["lost_packets"] == 66


def test_udp_streams_are_added() -> None:
    seen = parse(golden("udp-streams"))
    streams = json.loads(golden("udp-streams"))["server_output_json"]["end"]["streams"]
    assert len(streams) == 2
    lost = sum(stream["udp"]["lost_packets"] for stream in streams)
    assert (seen.datagrams.sent, seen.datagrams.received, seen.datagrams.lost) == (100, 97, lost)
    assert seen.congestion is None
    assert seen.retransmits is None


def test_datagrams_after_the_last_one_received_are_told_apart() -> None:
    """The receiver's sequence numbers know nothing of them; only the sender does."""
    document = json.loads(golden("udp-streams"))
    whole = parse(json.dumps(document)).datagrams
    assert whole.unseen == 0
    document["end"]["sum_sent"]["packets"] += 40
    cut = parse(json.dumps(document)).datagrams
    assert cut.unseen == 40
    assert (cut.received, cut.lost) == (whole.received, whole.lost)


def test_a_report_that_is_printed_twice_counts_once() -> None:
    assert parse(golden("tcp") * 2) == parse(golden("tcp"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (golden("tcp") + "iperf3: error - control socket\n", "iperf3: error - control socket"),
        ("warning: too long\n" + golden("tcp"), "warning: too long"),
        ("\ufeff" + golden("tcp"), "before"),
        (golden("tcp")[:3000], "cut off"),
        (golden("tcp") + golden("udp-streams"), "Extra data"),
        (golden("udp-streams").replace('"lost_percent":\t0', '"lost_percent":\t-nan', 1), "-nan"),
        ("iperf3: command not found", "command not found"),
        (golden("refused"), "Connection refused"),
        ("", "''"),
    ],
)
def test_what_is_in_the_way_is_said(text: str, words: str) -> None:
    with pytest.raises(MeasurementError) as caught:
        parse(text)
    assert words in caught.value.message


def test_a_jitter_longer_than_the_test_is_refused() -> None:
    """As in reports of a server whose clock was set."""
    document = json.loads(golden("udp-streams"))
    document["end"]["sum_received"]["jitter_ms"] = 6.11e8
    with pytest.raises(MeasurementError, match="jitter"):
        parse(json.dumps(document))


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if not isinstance(value, dict | list):
        return []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [found for key, child in items for found in [(*path, key), *_paths(child, (*path, key))]]


DOCUMENTS = {kind: json.loads(golden(kind)) for kind in ("tcp", "udp-omit-loss", "udp-streams")}
PLACES = [(kind, path) for kind, document in DOCUMENTS.items() for path in _paths(document)]
VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.just(10**400)),
    *(st.floats(), st.text(max_size=5), st.just([])),
)


@given(st.sampled_from(PLACES), VALUES)
def test_a_value_out_of_place_is_refused(
    place: tuple[str, tuple[str | int, ...]], value: Any
) -> None:
    kind, path = place
    document = json.loads(golden(kind))
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    _parse_or_refuse(json.dumps(document))


@given(st.sampled_from(sorted(DOCUMENTS)), st.text(max_size=50), st.integers(0, 7500))
def test_damaged_output_raises_nothing_else(kind: str, noise: str, start: int) -> None:
    text = golden(kind)
    _parse_or_refuse(text[:start] + noise)
    _parse_or_refuse(text[:start] + noise + text[start:])


def _parse_or_refuse(text: str) -> None:
    try:
        seen = parse(text)
    except MeasurementError:
        return
    assert math.isfinite(seen.received_bps)
    assert math.isfinite(seen.sent_bps)
    if seen.datagrams is not None:
        assert min(seen.datagrams.received, seen.datagrams.lost, seen.datagrams.unseen) >= 0
