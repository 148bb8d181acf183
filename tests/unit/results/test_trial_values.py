"""From a trial's samples to numbers."""

from __future__ import annotations

from support.records.trials import trial

from sfcperf.results.trial_values import trial_series


def test_a_series_holds_numbers_only() -> None:
    odd = [1.0, 2, True, None, "3", float("nan"), float("inf"), 10**400, -1e200, 4.0]
    assert trial_series(trial(series={"rtt_us": odd}), "rtt_us") == [1.0, 2, 4.0]


def test_one_number_is_no_series() -> None:
    assert trial_series(trial(values=[100.0]), "rtt_us") == []
    assert trial_series(trial(series={"rtt_us": [1.0, None]}), "rtt_us") == []
    assert trial_series(trial(values=[100.0, 101.0]), "rtt_us") == [100.0, 101.0]
