"""PlannedTrials: which trials a run may have, according to its manifest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfcperf.results.documents import damaged
from sfcperf.results.records import TrialRecord

_RERUN = r"(?:\.[0-9]{1,4})?"
"""Pattern of what a rerun's id has after the number of the round; other ids have nothing there."""


class PlannedTrials:
    """Checks trials against the scenarios, probes and rounds of a run.json that matches its schema.
    A run.json without scenarios (a library may write run folders itself) allows all trials."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._levels = {entry["id"]: entry["levels"] for entry in manifest["scenarios"]}
        self._probes = {
            (scenario_id, entry["label"]): entry["probe"]
            for entry in manifest["probes"]
            for scenario_id in entry["scenarios"]
        }
        design = manifest["design"]
        stop = design["stop_when"]
        self._rounds = max(design["rounds"], stop["max_rounds"] if stop else 0)

    def check(self, record: TrialRecord, where: str) -> None:
        """Raise InputError for a trial that is not of this run, or whose id is that of another
        trial."""
        if not self._levels:
            return
        for problem in (self._misplaced(record), self._misnamed(record)):
            if problem:
                raise damaged(problem, where)

    def _misplaced(self, record: TrialRecord) -> str | None:
        """Say why a trial is not of this run; None if it is."""
        scenario_id, label = record.scenario_id, record.label
        if scenario_id not in self._levels:
            return f"run.json has no scenario {scenario_id!r}"
        if record.scenario != self._levels[scenario_id]:
            return f"its levels are not those of {scenario_id} in run.json"
        probe = self._probes.get((scenario_id, label))
        if probe is None:
            return f"run.json has no probe {label!r} in {scenario_id}"
        if record.probe != probe:
            return f"run.json says that {label} is the probe {probe}, not {record.probe!r}"
        if not 1 <= record.round <= self._rounds:
            return f"round is {record.round}, and run.json allows 1 to {self._rounds}"
        return None

    def _misnamed(self, record: TrialRecord) -> str | None:
        """Say what is wrong with a trial's id, which consists of round, scenario and label; None if
        nothing is."""
        number, rest = f"r{record.round:03d}", f"-{record.scenario_id}-{record.label}"
        if re.fullmatch(re.escape(number) + _RERUN + re.escape(rest), record.trial_id):
            return None
        return f"trial_id is {record.trial_id!r}, and the trial is {number}{rest}"
