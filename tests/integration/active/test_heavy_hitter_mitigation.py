"""heavy_hitter_mitigation through chains of the local driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.local import local_driver
from support.probing import doubts, made, values
from support.records.scenarios import scenario

from sfcperf.active.base import ProbeResult
from sfcperf.active.heavy_hitter import HeavyHitterMitigation
from sfcperf.dataplane import binaries
from sfcperf.management.deployment import Deployment
from sfcperf.vnfs.heavy_hitter.running import BINARY

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        not binaries.requirement(BINARY).met, reason=binaries.requirement(BINARY).detail
    ),
]
SHORT = {"duration_s": 0.6, "lead_s": 0.1, "background_pps": 500, "background_flows": 50}


def through(
    folder: Path,
    types: list[str],
    knobs: dict[str, Any],
    trials: int = 1,
    before: Callable[[Deployment], object] = lambda deployment: None,
    **given: Any,
) -> list[ProbeResult]:
    """Trials in the same chain. `knobs`: those that differ; `before` happens first."""
    found = []
    with local_driver(folder) as driver:
        chain = scenario(types, knobs={"window_s": 3600, "expiry_s": 600} | knobs)
        deployment = driver.deploy(chain)
        before(deployment)
        for _ in range(trials):
            probe = made(HeavyHitterMitigation, **SHORT | given)
            probe.check(probe.parameters)
            try:
                probe.prepare(deployment, folder)
                found.append(probe.measure(deployment, folder))
            finally:
                probe.cleanup()
    return found


@pytest.mark.parametrize(("engine", "threshold"), [("swx", 100), ("native", 1000)])
def test_exactly_the_threshold_passes_in_each_trial(
    tmp_path: Path, engine: str, threshold: int
) -> None:
    """The function has not forgotten the flows of the first trial when the second one begins."""
    knobs = {"engine": engine, "threshold": threshold}
    # All packets of a trial have room in the function's ring of 2,048 frames, should it wait for a
    # CPU.
    for found in through(tmp_path, ["heavy_hitter"], knobs, trials=2, rate_pps=3000):
        assert doubts(found) == []
        got = values(found)
        assert got["let_through_packets"] == threshold
        assert (got["passed_again_packets"], got["background_loss_ratio"]) == (0, 0)
        assert got["time_to_block_ms"] > 0
        assert found.notes["packets_blocked_by_functions"] == 1500 - threshold
        rates = found.series["heavy_hitter_pps"]
        assert sum(rates) * 0.01 == pytest.approx(threshold)
        assert not any(rates[:10])
        assert rates[10] > 0
        assert found.series_step_s == 0.01
        assert len(rates) == len(found.series["background_pps"]) == 60
    assert not list(tmp_path.glob("**/*.pcap"))


def lose(deployment: Deployment) -> None:
    """The link to the function carries less than the heavy hitter sends, and queues little."""
    [hop] = [hop for hop in deployment.hops if hop.name.startswith("heavy_hitter")]
    argv = ["tc", "qdisc", "replace", "dev", hop.interface, "root"]
    argv += ["tbf", "rate", "4mbit", "burst", "3000", "limit", "3000"]
    hop.host.run(argv, timeout_s=10)


def test_what_is_lost_elsewhere_makes_the_trial_untrusted(tmp_path: Path) -> None:
    knobs = {"engine": "native", "threshold": 1000}
    [found] = through(tmp_path, ["heavy_hitter"], knobs, before=lose)
    [doubt] = doubts(found)
    assert doubt.endswith("it is not known which were lost elsewhere")
    assert values(found)["let_through_packets"] < 1000
    assert values(found)["background_loss_ratio"] > 0


def test_a_chain_without_a_function_that_blocks(tmp_path: Path) -> None:
    [found] = through(tmp_path, ["forwarder"], {}, rate_pps=1000)
    assert doubts(found) == []
    assert values(found)["let_through_packets"] == 500


def test_one_that_is_not_blocked(tmp_path: Path) -> None:
    knobs = {"engine": "native", "threshold": 100, "action": "report"}
    [found] = through(tmp_path, ["heavy_hitter"], knobs, rate_pps=1000)
    assert doubts(found) == ["the heavy hitter was not blocked: all of its 500 packets passed"]
    assert "time_to_block_ms" not in values(found)
