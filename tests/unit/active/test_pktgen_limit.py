"""Whether the generator, and not the chain, is the limit of pktgen's highest rate."""

from __future__ import annotations

from typing import Any, cast

import pytest
from support.probing import made

from sfcperf.active.pktgen.output import ReceiverReport, SenderReport
from sfcperf.active.pktgen.probe import Pktgen
from sfcperf.active.pktgen.run import Outcome
from sfcperf.management.deployment import Deployment

ALONE_PPS = 1000


def run(packets: int) -> Outcome:
    """All packets arrive."""
    received = ReceiverReport("native", packets, 0, 0, 0, 0, arrivals=(packets, 0))
    return Outcome(SenderReport(packets, 0, 0, True), received, 0, 0)


@pytest.mark.parametrize(
    ("pps", "parameters", "is_doubted"),
    [(890, {}, False), (900, {}, True), (1000, {"rate_pps": 1000}, False)],
)
def test_a_chain_as_fast_as_the_generator(
    pps: int, parameters: dict[str, Any], is_doubted: bool
) -> None:
    probe = made(Pktgen, duration_s=1, **parameters)
    alone = run(ALONE_PPS // 5)
    probe._alone = alone.sent, alone.received, 0.2
    assert bool(probe._doubts(run(pps), cast(Deployment, None))) == is_doubted
