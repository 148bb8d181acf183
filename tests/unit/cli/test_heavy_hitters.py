"""`sfcperf heavy-hitters model`: a table of what was measured and of what is a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import Command
from support.records.trials import run_folder, trial

from sfcperf.results.records import TrialRecord


def rate(
    number: int, cores: int, pps: float, probe: str = "heavy_hitter_throughput"
) -> TrialRecord:
    return trial(
        number,
        f"s{cores:03d}",
        "engine",
        [pps],
        probe=probe,
        metric="throughput_pps",
        unit="1/s",
        scenario={"engine": "native", "cores": cores, "frame_bytes": 64},
    )


def test_columns_say_what_is_a_model(tmp_path: Path, sfcperf: Command) -> None:
    trials = [rate(n, 1, 2e6) for n in range(1, 4)] + [rate(n, 2, 4e6) for n in range(1, 4)]
    store = run_folder(tmp_path / "run", trials)
    assert sfcperf("heavy-hitters", "model", store.folder, "--cores", "8", "--link-gbps", "10") == 0
    text = " ".join(sfcperf.out.split())
    assert "native 64 2.00 (1), 4.00 (2)" in text
    assert "= 14.88 [14.88, 14.88] 8" in text
    assert "model: 8 cores (Mpps)" in text
    assert "were computed, not measured" in text


@pytest.mark.parametrize(
    ("trials", "words", "complaint"),
    [
        ([rate(1, 1, 2e6, "ping")], [], "no valid trial of the probe heavy_hitter_throughput"),
        ([rate(1, 1, 2e6)], [], "needs 3 trials of the most cores, and has 1"),
        ([], ["--cores", "4,many"], "'4,many'"),
        ([], ["--link-gbps", "0"], "0 is no rate"),
    ],
)
def test_what_cannot_be_computed(
    tmp_path: Path, sfcperf: Command, trials: Any, words: Any, complaint: str
) -> None:
    store = run_folder(tmp_path / "run", trials)
    assert sfcperf("heavy-hitters", "model", store.folder, *words) == 2
    assert complaint in sfcperf.err
