"""ApacheBench's own words (real reports in golden/), whole and damaged."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.ab.output import parse, parse_percentiles
from sfcperf.active.ab.probe import doubts, request_loss
from sfcperf.active.web_server import server_doubts
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"
KINDS = ("connections", "keep-alive", "not-found", "failures")
NEEDED = ("Document Length", "Concurrency Level", "Time taken", "Complete requests")
NEEDED += ("Failed requests", "Requests per second")
ASKED = {"requests": 5000, "object_bytes": 1024}


def golden(kind: str) -> str:
    return (GOLDEN / f"ab-{kind}-2.3.txt").read_text()


def table() -> str:
    return (GOLDEN / "ab-percentiles-2.3.csv").read_text()


def test_reads_a_connection_for_each_request() -> None:
    seen = parse(golden("connections"))
    assert (seen.requests, seen.concurrency, seen.good, seen.kept) == (5000, 16, 5000, 0)
    assert seen.document_bytes == 1024
    assert parse(golden("keep-alive")).kept == 5000
    assert seen.requests_per_s == 30670.52
    # The two numbers are one: 16 requests are in flight all the time (Little's law).
    assert seen.requests_per_s * seen.time_per_request_us / 1e6 == pytest.approx(16, rel=0.01)
    assert seen.requests / seen.duration_s == pytest.approx(seen.requests_per_s, rel=0.01)
    assert doubts(seen, ASKED, 0.5) == []
    assert server_doubts(seen.duration_s, 0.5, "") == []


def test_other_replies_are_not_good_ones() -> None:
    seen = parse(golden("not-found"))
    assert (seen.not_2xx, seen.failed, seen.good, seen.requests_per_s) == (50, 0, 0, 0)
    (_, reason) = doubts(seen, ASKED, None)
    assert "50 other replies, first reply of 153 bytes" in reason


def test_failures_by_cause_and_counted_more_than_once() -> None:
    """200 requests, 40 of which were reset; ab has 256 failures of them."""
    seen = parse(golden("failures"))
    assert (seen.failed, seen.good) == (256, 0)
    assert seen.failures == {"connect": 0, "receive": 40, "length": 176, "exceptions": 40}
    loss = request_loss(seen)
    assert (loss.lost, loss.total) == (200, 200)
    assert "receive 40, length 176" in loss.text


@pytest.mark.parametrize(("client", "server"), [(0.97, 0.1), (0.1, 0.97)])
def test_a_saturated_end_is_told(client: float, server: float) -> None:
    seen = parse(golden("connections"))
    (reason,) = doubts(seen, ASKED, client) + server_doubts(seen.duration_s, server, "")
    assert "97%" in reason
    assert ("ab used" in reason) is (client > server)


def test_too_short_or_too_few_is_told() -> None:
    seen = parse(golden("keep-alive"))
    (reason,) = doubts(seen, ASKED | {"requests": 6000}, None)
    assert reason.startswith("ab made 5000 of the 6000")
    (reason,) = server_doubts(seen.duration_s, 0, "raise requests")
    assert reason.endswith("too short to be timed: raise requests")


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_that_counts_is_needed_once(kind: str) -> None:
    lines = golden(kind).splitlines()
    assert sum(line.startswith(NEEDED) for line in lines) == len(NEEDED)
    for number, line in enumerate(lines):
        if line.startswith(NEEDED):
            with pytest.raises(MeasurementError):
                parse("\n".join(lines[:number] + lines[number + 1 :]))
        if line.startswith((*NEEDED, "Non-2xx", "Keep-Alive", "   (Connect")):
            with pytest.raises(MeasurementError):
                parse("\n".join([*lines, line]))


@given(st.sampled_from(KINDS), st.text(max_size=200), st.integers(0, 1100), st.integers(0, 300))
def test_damaged_output_raises_nothing_else(kind: str, noise: str, start: int, length: int) -> None:
    text = golden(kind)
    try:
        seen = parse(text[:start] + noise + text[start + length :])
    except MeasurementError:
        return
    assert math.isfinite(seen.requests_per_s)
    assert 0 <= seen.good <= seen.requests
    assert all(isinstance(reason, str) for reason in doubts(seen, ASKED, 0))


def test_percentiles_are_microseconds() -> None:
    times = parse_percentiles(table())
    assert list(times) == list(range(101))
    assert (times[0], times[100]) == (317, 1816)


def test_few_requests_have_no_high_percentiles_of_their_own() -> None:
    """As on a slow cloud: of 11 requests, ab printed 0 for 96 to 99 %, behind the last one."""
    rows = [f"{percent},{percent / 100:.3f}" for percent in range(96)]
    rows += [f"{percent},0.000" for percent in range(96, 100)]
    printed = "\n".join(["Percentage served,Time in ms", *rows, "100,126.820", ""])
    times = parse_percentiles(printed, 11)
    assert (times[95], times[96], times[99], times[100]) == (950, *[126_820] * 3)
    with pytest.raises(MeasurementError):
        parse_percentiles(printed, 51)


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [("\n50,", "\n51,"), ("Time in ms", "Time in us"), ("0.317", "9.0"), (table(), ""),
     ("\n100,", "\n"), ("\n99,", '"\n99,')],
)  # fmt: skip
def test_a_damaged_table_is_refused(whole: str, damaged: str) -> None:
    with pytest.raises(MeasurementError):
        parse_percentiles(table().replace(whole, damaged))


@given(st.text(max_size=60), st.integers(0, 1200), st.integers(0, 60))
def test_a_noisy_table_raises_nothing_else(noise: str, start: int, length: int) -> None:
    text = table()
    try:
        times = parse_percentiles(text[:start] + noise + text[start + length :])
    except MeasurementError:
        return
    assert all(math.isfinite(value) and value >= 0 for value in times.values())
