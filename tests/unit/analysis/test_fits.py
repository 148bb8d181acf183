"""Lines fitted to a figure's series."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.records.trials import run_folder, trial

from sfcperf.analysis.fits import fit_lines
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.workflow.model import FigureSpec

FIGURE = FigureSpec(
    name="fig8b", title="RTT", probe="ping", metric="rtt_us", x="chain_length", series="topology",
    x_label="length", y_label="RTT [ms]", y_scale=1e-3, fit="linear",
)  # fmt: skip


def trials() -> list[TrialRecord]:
    """T1: 100 + 50 x; T3: 200 + 80 x; each ± 1 in alternate rounds."""
    records = []
    for index, (topology, length) in enumerate((t, n) for t in ("T1", "T3") for n in (0, 1, 2, 3)):
        base = 100 + 50 * length if topology == "T1" else 200 + 80 * length
        levels = {"topology": topology, "chain_length": length}
        for number, noise in ((1, 1), (2, -1)):
            scenario_id = f"s{index:03d}"
            records.append(trial(number, scenario_id, values=[base + noise], scenario=levels))
    return records


def test_one_line_per_series_on_trials_not_on_means(tmp_path: Path) -> None:
    first, second = fit_lines(run_folder(tmp_path / "run", trials()), FIGURE)
    assert (first.series, second.series) == ("T1", "T3")
    assert (first.slope, first.intercept) == pytest.approx((50, 100))
    assert (second.slope, second.intercept) == pytest.approx((80, 200))
    assert first.n == 8
    # Means lie on the line exactly; the trials do not, and R^2 says so.
    assert first.r_squared is not None and 0.999 < first.r_squared < 1
    assert first.r_squared_means == pytest.approx(1)
    assert first.slope_low < 50 < first.slope_high


def test_untrusted_trials_bend_no_line(tmp_path: Path) -> None:
    outlier = trial(
        3, "s003", values=[9999], status="untrusted", scenario={"topology": "T1", "chain_length": 3}
    )
    first, _ = fit_lines(run_folder(tmp_path / "run", [*trials(), outlier]), FIGURE)
    assert first.slope == pytest.approx(50)


def test_a_line_needs_a_fit_that_is_asked_for_two_values_of_x_and_numbers(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", trials())
    assert fit_lines(run, replace(FIGURE, fit="none")) == []
    [line] = fit_lines(run, replace(FIGURE, series=None))
    assert (line.series, line.n) == (None, 16)
    assert line.slope == pytest.approx(65)
    with pytest.raises(InputError, match="'T1' is not a number"):
        fit_lines(run, replace(FIGURE, x="topology", series=None))
    lone = [record for record in trials() if record.scenario["chain_length"] == 2]
    assert fit_lines(run_folder(tmp_path / "lone", lone), FIGURE) == []


def test_true_and_one_are_different_series(tmp_path: Path) -> None:
    records = [
        trial(1, f"s{i:03d}", values=[float(i)], scenario={"x": i % 2, "s": level})
        for i, level in enumerate([1, 1, True, True])
    ]
    figure = replace(FIGURE, x="x", series="s")
    assert [f.series for f in fit_lines(run_folder(tmp_path / "run", records), figure)] == [1, True]
