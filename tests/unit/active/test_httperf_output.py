import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.active.httperf.output import parse
from sfcperf.errors import MeasurementError

GOLDEN = Path(__file__).parent / "golden"
KINDS = ("closed-loop", "overload", "refused", "not-found")


def golden(kind: str) -> str:
    return (GOLDEN / f"httperf-{kind}-0.9.0.txt").read_text()


def test_reads_a_closed_loop() -> None:
    text = golden("closed-loop")
    seen = parse(text)
    assert (seen.connections, seen.requests, seen.replies) == (16, 8000, 8000)
    assert seen.most_concurrent == 16
    assert seen.status == {"1xx": 0, "2xx": 8000, "3xx": 0, "4xx": 0, "5xx": 0}
    assert seen.errors.total == 0
    assert f"test-duration {seen.duration_s:.3f} s" in text
    assert f"response {seen.response_us / 1000:.1f} transfer" in text
    assert seen.replies_per_s == pytest.approx(8000 / seen.duration_s)


def test_reads_errors_by_cause() -> None:
    errors = parse(golden("overload")).errors
    assert (errors.total, errors.client_timeout, errors.files_unavailable) == (1626, 1616, 10)
    assert errors.of_client == 10
    refused = parse(golden("refused"))
    assert (refused.replies, refused.errors.connection_refused) == (0, 4)


def test_reads_status_classes() -> None:
    assert parse(golden("not-found")).status["4xx"] == 20


def test_a_duration_below_the_resolution_gives_a_finite_rate() -> None:
    text = golden("closed-loop")
    duration = f"test-duration {parse(text).duration_s:.3f} s"
    assert parse(text.replace(duration, "test-duration 0.000 s")).replies_per_s == 8000 / 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_that_counts_is_needed_once(kind: str) -> None:
    lines = golden(kind).splitlines()
    needed = ("Total", "Connection rate", "Connection time", "Reply time")
    needed += ("Reply status", "CPU time", "Errors")
    for number, line in enumerate(lines):
        if line.startswith(needed):
            with pytest.raises(MeasurementError):
                parse("\n".join(lines[:number] + lines[number + 1 :]))
            with pytest.raises(MeasurementError):
                parse("\n".join([*lines, line]))


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-1.0", "1e999", "9" * 400, "٣.0", ""])
def test_only_plain_numbers_are_numbers(value: str) -> None:
    text = golden("closed-loop")
    response = text.split("response ")[1].split()[0]
    with pytest.raises(MeasurementError):
        parse(text.replace(f"response {response}", f"response {value}"))


@given(st.sampled_from(KINDS), st.text(max_size=200), st.integers(0, 1100), st.integers(0, 300))
def test_damaged_output_raises_nothing_else(kind: str, noise: str, start: int, length: int) -> None:
    text = golden(kind)
    try:
        seen = parse(text[:start] + noise + text[start + length :])
    except MeasurementError:
        return
    assert math.isfinite(seen.replies_per_s)
    assert seen.replies_per_s >= 0
