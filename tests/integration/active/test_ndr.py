"""A search over a real cable whose middle lets a known rate pass."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable
from support.schemas import validator

from sfcperf.active.base import ProbeResult
from sfcperf.active.ndr import Ndr
from sfcperf.errors import MeasurementError
from sfcperf.workflow.schema import parameters_with_defaults

pytestmark = pytest.mark.root

FRAME_BYTES = 1046
SHAPED_BYTES = FRAME_BYTES - 4  # the token bucket does not count the frame check sequence
RATE_BPS = 40_000_000
BUCKET_BYTES, QUEUE_BYTES = 100_000, 300_000
"""80 ms: much more than what the sender, which sends late now and then, sends at once."""
CONTROL_BYTES = 6000
"""iperf3's control connection, and parts of the queue that no whole frame fills."""
DURATION_S, TICK_S = 1.0, 0.001
"""iperf3 sends what is due once in a tick: from first to last packet, it is a tick less."""
TRIES = 6


def shape(wire: Cable) -> None:
    limits = ["burst", str(BUCKET_BYTES), "limit", str(QUEUE_BYTES)]
    wire.shape("middle", "tbf", "rate", str(RATE_BPS), *limits)


def carried_pps(loss_ratio: float) -> tuple[float, float]:
    """The highest load that loses no more than this in a trial, at least and at most: while it
    lasts, the bucket empties and the queue fills."""
    stored_bytes = BUCKET_BYTES + QUEUE_BYTES
    most_bytes = RATE_BPS / 8 * DURATION_S + stored_bytes
    least_bytes = RATE_BPS / 8 * (DURATION_S - 2 * TICK_S) + stored_bytes - CONTROL_BYTES
    per_load = SHAPED_BYTES * DURATION_S * (1 - loss_ratio)
    return least_bytes / per_load, most_bytes / per_load


def searched(wire: Cable, raw: Path, **given: Any) -> ProbeResult:
    load = {"probe": "iperf3", "frame_bytes": given.pop("frame_bytes", FRAME_BYTES)}
    probe = Ndr(parameters_with_defaults("probe", "ndr", {"load": load, **given}))
    try:
        probe.prepare(wire.deployment, raw)
        return probe.measure(wire.deployment, raw)
    finally:
        probe.cleanup()


def is_too_low(result: ProbeResult) -> bool:
    """Other work on the machine holds the sender up; what it then sends at once overflows the
    queue, so that a search finds less than the shaper carries, and never more."""
    found = [result.notes[goal] for goal in ("ndr", "pdr")]
    return bool(result.untrusted) or any(
        goal["upper_bound_pps"] < carried_pps(goal["goal_loss_ratio"])[0] for goal in found
    )


def test_it_finds_the_rate_of_a_shaper(wire: Cable, tmp_path: Path) -> None:
    shape(wire)
    for number in range(TRIES):
        raw = tmp_path / str(number)
        raw.mkdir()
        result = searched(wire, raw, trials_per_load=5, relative_width=0.01, max_load_pps=20_000)
        for goal in ("ndr", "pdr"):
            found = result.notes[goal]
            assert found["lower_bound_pps"] <= carried_pps(found["goal_loss_ratio"])[1]
        if not is_too_low(result):
            break
    assert not is_too_low(result)
    seen = {sample.metric: sample.value for sample in result.samples}
    for goal in ("ndr", "pdr"):
        found = result.notes[goal]
        width = found["upper_bound_pps"] - found["lower_bound_pps"]
        assert width <= 0.01 * found["upper_bound_pps"] * (1 + 1e-9)
        assert found["lower_bound_pps"] * 0.995 <= seen[f"{goal}_pps"] <= found["lower_bound_pps"]
    document = json.loads((raw / "search.json").read_text())
    validator("search").validate(document)
    assert len(document["offered"]) == result.notes["loads_offered"]
    assert len(list(raw.glob("load-*/iperf3-client.json"))) >= len(document["offered"])


@pytest.mark.exhaustive
def test_a_sender_that_is_slower_than_the_cable_makes_no_silent_number(
    wire: Cable, tmp_path: Path
) -> None:
    result = searched(
        wire, tmp_path, frame_bytes=64, trials_per_load=1, relative_width=0.3, pdr_loss_ratio=0.3
    )
    (reason, *_) = result.untrusted
    assert "the NDR is at least" in reason
    assert "the endpoints, not the chain, were the limit" in reason
    assert result.notes["ndr"]["upper_bound_pps"] is None


def test_a_cable_that_carries_next_to_nothing_has_no_throughput(
    wire: Cable, tmp_path: Path
) -> None:
    shape(wire)
    with pytest.raises(MeasurementError, match="the NDR is below 20000 packets/s"):
        searched(wire, tmp_path, min_load_pps=20_000, max_load_pps=21_000, trials_per_load=1)


def test_a_search_ends_in_its_time(wire: Cable, tmp_path: Path) -> None:
    shape(wire)
    with pytest.raises(MeasurementError, match="the time of 2 s was over"):
        searched(wire, tmp_path, max_load_pps=5000, max_search_s=2)
