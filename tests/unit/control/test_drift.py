"""When a reading of the sentinel departs: as often as promised where only chance decides."""

from __future__ import annotations

import numpy as np
import pytest

from sfcperf.control.trials.drift_test import drift_test


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("n", [5, 12, 6, 40])
def test_quiet_readings_are_farther_than_chance_in_one_per_cent(n: int):
    rng = np.random.default_rng(n)
    repetitions = 20_000
    readings = rng.normal(100, 5, (repetitions, n + 1))
    alarms = sum(
        drift_test(row[-1], row[:-1].tolist(), 5, max_change=0).departed for row in readings
    )
    # Three standard errors of 1 % in 20,000 are 0.2 %; the normal median of few is not exactly
    # that of the formula.
    assert 0.006 <= alarms / repetitions <= 0.016


def test_what_the_user_allows_is_allowed_however_steady_the_readings():
    steady = [100.0, 100.1, 99.9, 100.0, 100.05]
    assert not drift_test(119.0, steady, 5, 0.2).departed
    assert drift_test(121.0, steady, 5, 0.2).departed
    assert drift_test(79.0, steady, 5, 0.2).departed, "in either direction"


def test_too_few_readings_judge_nothing():
    found = drift_test(300.0, [100.0, 101.0], 5, 0.2)
    assert (found.reference, found.allowed_ratio, found.departed) == (100.5, None, False)
    assert drift_test(300.0, [], 5, 0.2).reference is None
    assert not drift_test(1.0, [0.0] * 6, 5, 0.2).departed
