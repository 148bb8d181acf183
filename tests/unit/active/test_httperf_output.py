import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probing import needs_each_line_once

from sfcperf.active.httperf.output import parse
from sfcperf.active.httperf.probe import Httperf
from sfcperf.errors import MeasurementError
from sfcperf.workflow.defaults import with_defaults

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
    assert parse(golden("not-found")).status["4xx"] == 20


def test_a_duration_below_the_resolution_gives_a_finite_rate() -> None:
    text = golden("closed-loop")
    duration = f"test-duration {parse(text).duration_s:.3f} s"
    assert parse(text.replace(duration, "test-duration 0.000 s")).replies_per_s == 8000 / 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_that_counts_is_needed_once(kind: str) -> None:
    needed = ("Total", "Connection rate", "Connection time", "Reply time")
    needed += ("Reply status", "CPU time", "Errors")
    needs_each_line_once(parse, golden(kind), needed)


@given(st.sampled_from(KINDS), st.text(max_size=200), st.integers(0, 1100), st.integers(0, 300))
def test_damaged_output_raises_nothing_else(kind: str, noise: str, start: int, length: int) -> None:
    text = golden(kind)
    try:
        seen = parse(text[:start] + noise + text[start + length :])
    except MeasurementError:
        return
    assert math.isfinite(seen.replies_per_s)
    assert seen.replies_per_s >= 0


class Paced(Httperf):
    """Tests of a chain that carries so many replies per second, the first ones after a pause."""

    def __init__(self, rate_per_s: float, pauses_s: list[float], **given: Any) -> None:
        super().__init__(with_defaults(Httperf.parameters, given))
        self.rate_per_s, self.pauses_s = rate_per_s, pauses_s
        self.took_s: list[float] = []

    def _httperf(self, deployment: Any, raw_dir: Path, name: str, calls: int) -> Any:
        replies = calls * self.parameters["connections"]
        paused_s = self.pauses_s.pop(0) if self.pauses_s else 0.0
        self.took_s.append(paused_s + replies / self.rate_per_s)
        return SimpleNamespace(
            duration_s=self.took_s[-1], replies_per_s=replies / max(self.took_s[-1], 0.001)
        )


@pytest.mark.parametrize("pauses_s", [[], [0.1], [0.4], [0.1, 0.03]])
@pytest.mark.parametrize("connections", [1, 16])
def test_the_number_of_calls_survives_pauses(pauses_s: list[float], connections: int) -> None:
    for rate_per_s in (40.0, 400.0, 3_000.0, 40_000.0):
        probe = Paced(rate_per_s, list(pauses_s), connections=connections)
        calls = probe._calls_that_take(2.0, None, Path())
        assert calls * connections / rate_per_s == pytest.approx(2.0, rel=0.25, abs=0.5)
        assert max(probe.took_s) < 4.5


def test_a_slow_chain_is_tested_once() -> None:
    probe = Paced(5.0, [], connections=1)
    assert probe._calls_that_take(2.0, None, Path()) == 10  # type: ignore[arg-type]
    assert probe.took_s == [2.0]
