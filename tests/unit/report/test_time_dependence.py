"""Findings of the verdict about trials that depend on time; scipy as judge of the joint test."""

from __future__ import annotations

from dataclasses import replace

import numpy
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.report.time_dependence import ALPHA, _significant, time_dependence_findings
from sfcperf.report.verdict import verdict_of
from sfcperf.results.records import Summary
from sfcperf.results.store import RunStore


def rows(run: RunStore) -> list[Summary]:
    return [replace(row, n=10, outliers=(), relative_half_width=0.05) for row in run.summaries()]


def first_is(found: list[Summary], **changes: object) -> list[Summary]:
    place = next(i for i, row in enumerate(found) if row.primary)
    return [*found[:place], replace(found[place], **changes), *found[place + 1 :]]  # type: ignore[arg-type]


def test_a_drift_beyond_the_interval_is_found_and_named(run: RunStore) -> None:
    (finding,) = time_dependence_findings(first_is(rows(run), trend_p=1e-5, drift_ratio=0.12))
    assert "ping rtt (topology T1, chain_length 0) +12%" in finding
    covered = first_is(rows(run), trend_p=1e-5, drift_ratio=0.04)
    assert list(time_dependence_findings(covered)) == []


def test_the_verdict_reports_them(sound_run: RunStore) -> None:
    trials, drifting = sound_run.trials(), first_is(rows(sound_run), trend_p=1e-5, drift_ratio=0.12)
    assert verdict_of(sound_run.manifest(), trials, rows(sound_run)).level == "trustworthy"
    found = verdict_of(sound_run.manifest(), trials, drifting)
    assert found.level == "care"
    assert "drift with time" in found.findings[0]


def test_dependence_is_said_once_not_twice(run: RunStore) -> None:
    both = first_is(rows(run), trend_p=1e-5, drift_ratio=0.2, autocorrelation_p=1e-3)
    assert len(list(time_dependence_findings(both))) == 1
    (finding,) = time_dependence_findings(first_is(rows(run), autocorrelation_p=1e-3))
    assert finding.startswith("Successive trials are correlated")


def test_trials_that_never_become_steady(run: RunStore) -> None:
    (finding,) = time_dependence_findings(first_is(rows(run), steady="never", steady_p=5e-4))
    assert "never become steady" in finding
    assert (
        list(time_dependence_findings(first_is(rows(run), steady="warm-up", steady_p=5e-4))) == []
    )


def test_one_odd_row_among_many_and_secondary_rows_do_not_alarm(run: RunStore) -> None:
    many = [replace(row, trend_p=0.5, drift_ratio=0.2) for row in rows(run)]
    assert list(time_dependence_findings(first_is(many, trend_p=0.008))) == []
    secondary = [replace(row, trend_p=1e-6, drift_ratio=1.0, primary=False) for row in many]
    assert list(time_dependence_findings(secondary)) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_joint_test_is_scipys_false_discovery_control(run: RunStore, ps: list[float]) -> None:
    row = rows(run)[0]
    found = _significant([replace(row, trend_p=p) for p in ps], lambda r: r.trend_p)
    expected = numpy.array(ps)[scipy.stats.false_discovery_control(ps) <= ALPHA]
    near = any(abs(q - ALPHA) < 1e-9 for q in scipy.stats.false_discovery_control(ps))
    assert near or [r.trend_p for r in found] == list(expected)
