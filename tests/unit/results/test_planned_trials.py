"""A trial that is not of its run is refused wherever trials are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.trials import RTT, run_folder, trial

from sfcperf.errors import InputError

PLANNED = {
    "scenarios": [{"id": "s000", "levels": {"chain_length": 0}}],
    "probes": [{"probe": "ping", "label": "ping", "scenarios": ["s000"], "metrics": [RTT]}],
    "design": {"rounds": 2},
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scenario_id": "s001"}, "no scenario 's001'"),
        ({"scenario": {"chain_length": 1}}, "its levels are not those of s000"),
        ({"label": "other"}, "no probe 'other' in s000"),
        ({"probe": "iperf3"}, "ping is the probe ping, not 'iperf3'"),
        ({"round": 3}, "round is 3, and run.json allows 1 to 2"),
        ({"round": 10**18}, "round is 1000000000000000000"),
        ({"trial_id": "r002-s000-ping"}, "the trial is r001-s000-ping"),
        ({"trial_id": "r001-s000-ping\n"}, "trial_id is"),
    ],
)
def test_a_trial_of_another_run_is_refused(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    store = run_folder(tmp_path / "run", [replace(trial(1), **change)], **PLANNED)
    with pytest.raises(InputError, match=r"trials.jsonl:1.*damaged") as refused:
        store.trials()
    assert says in refused.value.message


def test_a_rerun_is_of_its_run(tmp_path: Path) -> None:
    rerun = replace(trial(1), trial_id="r001.1-s000-ping", rerun_of="r001-s000-ping")
    assert len(run_folder(tmp_path / "run", [trial(1), rerun], **PLANNED).trials()) == 2
