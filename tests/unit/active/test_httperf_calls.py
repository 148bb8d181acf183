"""How httperf's probe finds the number of calls that takes as long as asked for."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sfcperf.active.httperf.probe import Httperf
from sfcperf.workflow.defaults import with_defaults


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
@pytest.mark.parametrize("rate_per_s", [40.0, 400.0, 3_000.0, 40_000.0])
@pytest.mark.parametrize("connections", [1, 16])
def test_the_number_of_calls_survives_pauses_of_the_machine(
    pauses_s: list[float], rate_per_s: float, connections: int
) -> None:
    probe = Paced(rate_per_s, list(pauses_s), connections=connections)
    calls = probe._calls_that_take(2.0, None, Path())  # type: ignore[arg-type]
    assert calls * connections / rate_per_s == pytest.approx(2.0, rel=0.25, abs=0.5)
    assert max(probe.took_s) < 4.5


def test_a_slow_chain_is_tested_once() -> None:
    probe = Paced(5.0, [], connections=1)
    assert probe._calls_that_take(2.0, None, Path()) == 10  # type: ignore[arg-type]
    assert probe.took_s == [2.0]
