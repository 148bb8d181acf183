import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probing import made, needs_each_line_once

from sfcperf.active.dns import Dns
from sfcperf.active.dns.output import parse, parse_complaints
from sfcperf.errors import InputError, MeasurementError

GOLDEN = Path(__file__).parent / "golden"
NAMES = [path.name for path in sorted(GOLDEN.glob("dnsperf-*.txt")) if "stderr" not in path.name]


def golden(name: str) -> str:
    return (GOLDEN / name).read_text()


def test_reads_queries_at_a_rate() -> None:
    seen = parse(golden("dnsperf-rate-2.10.0.txt"))
    assert (seen.sent, seen.completed, seen.lost, seen.good) == (50, 50, 0, 50)
    assert sum(seen.times_us) / 50 == pytest.approx(seen.mean_us, abs=1)
    assert (min(seen.times_us), max(seen.times_us)) == (seen.min_us, seen.max_us)
    assert seen.queries_per_s == pytest.approx(50 / seen.duration_s)
    deviation = math.sqrt(sum((t - seen.mean_us) ** 2 for t in seen.times_us) / 49)
    assert seen.stdev_us == pytest.approx(deviation, abs=1)


def test_reads_a_closed_loop_of_two_versions() -> None:
    for version in ("2.10.0", "2.14.0"):
        seen = parse(golden(f"dnsperf-maximum-{version}.txt"))
        assert seen.good == seen.completed == seen.sent > 1000
        assert seen.times_us == []
        assert seen.percentiles_us([50]) == [None]
        # Little's law.
        assert seen.queries_per_s * seen.mean_us / 1e6 <= 16


def test_reads_what_was_lost_and_what_was_late() -> None:
    lost = parse(golden("dnsperf-lost-2.10.0.txt"))
    assert (lost.sent, lost.lost, len(lost.times_us)) == (50, 5, 45)
    nothing = parse(golden("dnsperf-unanswered-2.10.0.txt"))
    assert (nothing.lost, nothing.codes, nothing.stdev_us) == (10, {}, None)
    late = parse_complaints(golden("dnsperf-late-2.10.0.stderr.txt"))
    assert (late.unexpected, late.unsent) == (10, 0)
    refused = parse_complaints(golden("dnsperf-unsent-2.10.0.stderr.txt"))
    assert refused.unsent > 0
    assert refused.reason == "Operation not permitted"


def test_reads_codes() -> None:
    for version in ("2.10.0", "2.14.0"):
        seen = parse(golden(f"dnsperf-refused-{version}.txt"))
        assert set(seen.codes) == {"NOERROR", "REFUSED"}
        assert sum(seen.codes.values()) == seen.completed
        assert seen.queries_per_s == pytest.approx(seen.codes["NOERROR"] / seen.duration_s)


@pytest.mark.parametrize("name", NAMES)
def test_every_line_that_counts_is_needed_once(name: str) -> None:
    needed = ("  Queries", "  Response", "  Run", "  Average Latency", "  Latency", "> NOERROR")
    needs_each_line_once(parse, golden(name), needed)


@given(st.sampled_from(NAMES), st.text(max_size=200), st.integers(0, 4000), st.integers(0, 300))
def test_damaged_output_raises_nothing_else(name: str, noise: str, start: int, length: int) -> None:
    text = golden(name)
    damaged = text[:start] + noise + text[start + length :]
    parse_complaints(damaged)
    try:
        seen = parse(damaged)
    except MeasurementError:
        return
    assert math.isfinite(seen.queries_per_s)
    assert 0 <= seen.good <= seen.completed


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200), st.integers(1, 100))
def test_percentiles_are_nearest_ranks(times: list[int], percent: int) -> None:
    """The least time that at least so many percent do not exceed."""
    report = golden("dnsperf-unanswered-2.10.0.txt").replace(
        "completed:    0", f"completed: {len(times)}"
    )
    report = report.replace("codes:       ", f"codes:  NOERROR {len(times)} (100.00%)")
    if len(times) > 1:
        report += "  Latency StdDev (s):   0.000001\n"
    report += "".join(f"> NOERROR n1.test A {time / 1e6:.6f}\n" for time in times)
    [seen] = parse(report).percentiles_us([percent])
    assert seen in times
    not_above = sum(time <= seen for time in times)
    below = sum(time < seen for time in times)
    assert below < percent * len(times) / 100 <= not_above


def test_too_many_queries_to_report_each() -> None:
    Dns.check(made(Dns, rate_per_s="maximum", duration_s=3600).parameters)
    Dns.check(made(Dns, rate_per_s=10_000, duration_s=100).parameters)
    with pytest.raises(InputError, match="too many") as caught:
        Dns.check(made(Dns, rate_per_s=10_000, duration_s=101).parameters)
    assert caught.value.where == "duration_s"
