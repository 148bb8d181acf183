import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.pktgen.load import withheld
from sfcperf.active.pktgen.output import SenderReport, parse_calibration, parse_received, parse_sent
from sfcperf.active.pktgen.run import milliseconds
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"
QUANTILES = [Fraction(1, 2), Fraction(99, 100), Fraction(999, 1000)]
WORST = 1 / 256
"""Of a value: half of the width of its bucket."""


def document(name: str = "pktgen-calibration") -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())


def bucket(value: int) -> tuple[int, int]:
    """Least and largest value of the bucket, by the definition: 128 buckets in each octave."""
    width = max(1, 2 ** (value.bit_length() - 8))
    least = value // width * width
    return least, least + width - 1


def received(latencies: list[int]) -> dict[str, Any]:
    buckets: dict[tuple[int, int], int] = {}
    for value in sorted(latencies):
        buckets[bucket(value)] = buckets.get(bucket(value), 0) + 1
    return {
        "mode": "native", "packets": len(latencies), "bytes": 0, "duplicated": 0, "reordered": 0,
        "unjudged": 0, "warmup": 0, "arrivals": [len(latencies), 0],
        "latency_ns": [[*ends, packets] for ends, packets in buckets.items()],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "mode"), [("pktgen-calibration", "xdp"), ("pktgen-calibration-packet", "packet")]
)
def test_reads_what_the_tool_prints(name: str, mode: str) -> None:
    content = document(name)
    assert content["sent"]["engine"] == mode
    sent, seen = parse_calibration(json.dumps(content))
    assert sent.complete
    assert sent.packets == content["sent"]["packets"] - content["sent"]["refused"]
    assert seen.unique == sum(seen.arrivals) == sent.packets
    values = [seen.latency_us(quantile) for quantile in QUANTILES]
    assert values == sorted(values)


def test_buckets_of_the_tool_are_those_of_the_definition() -> None:
    """Real latencies; the definition was written a second time, above."""
    for name in ("pktgen-calibration", "pktgen-calibration-packet"):
        for least, most, _ in document(name)["received"]["latency_ns"]:
            assert bucket(least) == bucket(most) == (least, most)


@given(
    latencies=st.lists(st.integers(0, 2**36 - 1), min_size=1, max_size=300),
    quantile=st.sampled_from(QUANTILES),
)
def test_percentiles_are_those_of_sorted_values(latencies: list[int], quantile: Fraction) -> None:
    """numpy's inverted_cdf is the nearest rank; whole ns are exact below 256."""
    seen = parse_received(json.dumps({"received": received(latencies)}))
    true = float(np.quantile(latencies, float(quantile), method="inverted_cdf"))
    assert seen.latency_us(quantile) * 1000 == pytest.approx(true, rel=WORST, abs=0.5)
    with pytest.raises(MeasurementError, match="no packet arrived"):
        parse_received(json.dumps({"received": received([])})).latency_us(quantile)


@pytest.mark.parametrize(
    "change",
    [
        *({"packets": wrong} for wrong in (-1, 1.5, True, None)),
        *({"duplicated": 10**6}, {"mode": "offloaded"}),
        *({"arrivals": wrong} for wrong in ([1], "many")),
        *({"latency_ns": wrong} for wrong in ([[2, 1, 499]], [[1, 2]], {})),
        {"latency_ns": [[1, 2, 1], [2, 3, 498]]},
    ],
)
def test_refuses_what_contradicts_itself(change: dict[str, Any]) -> None:
    content = document()["received"] | change
    with pytest.raises(MeasurementError, match="sfc-pktgen"):
        parse_received(json.dumps({"received": content}))
    refused = document()["sent"] | {"refused": 10**9}
    with pytest.raises(MeasurementError, match="contradicts itself"):
        parse_sent(json.dumps({"sent": refused}))


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"sent": 1}', "not JSON", '{"sent": {"packets": 1}}']
)
def test_refuses_what_is_no_report(text: str) -> None:
    with pytest.raises(MeasurementError, match="sfc-pktgen's report"):
        parse_sent(text)


@pytest.mark.parametrize(("waited_ns", "waited_s"), [(5_000_000, 0.005), (0, 0.0), (None, None)])
def test_the_time_that_the_sender_waited(waited_ns: int | None, waited_s: float | None) -> None:
    content = document()["sent"] | {"waited_ns": waited_ns}
    assert parse_sent(json.dumps({"sent": content})).waited_s == waited_s


@pytest.mark.parametrize(
    ("skipped", "waited_s", "expected"),
    [(400, 0.1, 400), (400, 0.0, 400), (400, 0.3, 0), (400, None, 0), (0, 0.0, 0), (0, 0.1, 0)],
)
def test_what_a_chain_withheld(skipped: int, waited_s: float | None, expected: int) -> None:
    """At 1,000 packets per second, 400 are 0.4 s."""
    sent = SenderReport(600, skipped, 0, True, waited_s)
    assert withheld(sent, 1000, alone_pps=100_000) == expected
    assert withheld(sent, 1000, alone_pps=1050) == 0


@pytest.mark.parametrize(
    ("duration_s", "ms"), [(0.01, 10), (1, 1000), (0.0101, 11), (0.3, 300), (1e-9, 1)]
)
def test_durations_are_whole_milliseconds(duration_s: float, ms: int) -> None:
    assert milliseconds(duration_s) == ms
