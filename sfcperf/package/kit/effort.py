"""How long a run took, and the short replay of it that a reviewer tries first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from sfcperf.presentation.wording import run_s
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.document import Findings
from sfcperf.workflow.expand import expand
from sfcperf.workflow.references import level_text
from sfcperf.workflow.variants import LEVEL, UNCHANGED, document_of, read_variants

SHORT_S = 240.0
"""A short replay that would have taken longer on the machine of the run has fewer scenarios. A
reviewer has 5 minutes: that leaves a quarter for a slower machine."""
_ONCE = ("starting services", "analysing", "publishing")
"""Phases that a run has once, however many rounds it has."""


def effort(store: RunStore) -> dict[str, Any]:
    """Return what package.json says of the time of a run: `machine_s`, the time of all its phases
    in seconds (None: not known), and `short`, a replay of one round: its `overrides`, options of
    `--set`, and how many `seconds` it would have taken on the machine of the run. `short` is None
    if no scenario has been measured. No plug-in is loaded."""
    manifest = store.manifest()
    spent_s = sum(manifest["phases"].values()) or run_s(manifest)
    if spent_s is None:
        return {"machine_s": None, "short": None}
    trials = store.trials()
    once_s = sum(manifest["phases"].get(name, 0.0) for name in _ONCE)
    groups = _group_s([*trials, *store.warmups()], spent_s - once_s, trials)
    short = _short(store.workflow()[0], manifest["scenarios"], groups, once_s)
    return {"machine_s": ceil(spent_s), "short": short}


def _group_s(
    records: Sequence[TrialRecord], spent_s: float, trials: Sequence[TrialRecord]
) -> dict[str, float]:
    """Return scenario id -> mean time of its trial groups, seconds. `spent_s` is the time of all
    `records`: what is not in their own durations is spread over all groups, as deployments are
    about alike. `trials` are the records that count."""
    made = {(r.trial_id[0], r.round, r.scenario_id) for r in records}
    around_s = max(0.0, spent_s - sum(r.duration_s for r in records)) / max(1, len(made))
    rounds = Counter(scenario for _, scenario in {(t.round, t.scenario_id) for t in trials})
    summed = dict.fromkeys(rounds, 0.0)
    for trial in trials:
        summed[trial.scenario_id] += trial.duration_s
    return {name: around_s + summed[name] / count for name, count in rounds.items()}


def _short(
    document: Mapping[str, Any],
    scenarios: Sequence[Mapping[str, Any]],
    groups: Mapping[str, float],
    once_s: float,
) -> dict[str, Any] | None:
    """Return one round of all scenarios if that is short, else of the cheapest combination of
    levels, in all variants. `document`: the workflow as run; `scenarios`: those of run.json;
    `groups`: scenario id -> seconds; `once_s`: seconds that do not depend on the rounds."""
    # Combination of levels, by their texts -> seconds of a round, in all variants.
    costs: dict[tuple[tuple[str, str], ...], float] = {}
    unmeasured = set()
    for scenario in scenarios:
        levels = {k: level_text(v) for k, v in scenario["levels"].items() if k != LEVEL}
        key = tuple(levels.items())
        costs[key] = costs.get(key, 0.0) + groups.get(scenario["id"], 0.0)
        if scenario["id"] not in groups:
            unmeasured.add(key)
    whole_s = once_s + sum(costs.values())
    overrides = _one_round(document.get("design", {}))
    if not unmeasured and whole_s <= SHORT_S and costs:
        return {"overrides": overrides, "seconds": ceil(whole_s)}
    measured = {key: cost for key, cost in costs.items() if key not in unmeasured}
    if not measured:
        return None
    cheapest = min(measured, key=lambda key: measured[key])
    only = _only(document, dict(cheapest))
    if only is None:
        return None
    return {"overrides": [*overrides, *only], "seconds": ceil(once_s + measured[cheapest])}


def _one_round(design: Mapping[str, Any]) -> list[str]:
    """Return overrides that leave one round of a design, without what takes more time."""
    without = [f"design.{key}=null" for key in ("stop_when", "noise_gate") if design.get(key)]
    return ["design.rounds=1", "design.warmup_rounds=0", *without]


def _only(document: Mapping[str, Any], chosen: Mapping[str, str]) -> list[str] | None:
    """Return overrides that leave one level of each factor; None if the document lacks one.
    `chosen`: factor -> the level's text in results."""
    own = document_of(document, (read_variants(document) or (UNCHANGED,))[0])
    overrides = []
    for name, levels in expand(own, Findings()).factors.items():
        # Levels are unique by their texts; the path of one begins with `factors`, name, index.
        places = [v.path[2] for v in levels if level_text(v.label) == chosen.get(name)]
        if not places:
            return None
        value = json.dumps([own["factors"][name][places[0]]], ensure_ascii=False)
        path = f"/factors/{name}" if "." in name else f"factors.{name}"
        if len(levels) > 1:
            overrides.append(f"{path}={value}")
    # Figures may name levels that are not there any more.
    return [*overrides, "figures=[]"] if overrides and document.get("figures") else overrides
