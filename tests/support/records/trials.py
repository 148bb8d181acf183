"""Trial records and run folders in a few words, for tests of results and analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.results.records import TrialRecord, TrialStatus
from sfcperf.results.store import RunStore
from support.records.manifests import metric as metric_entry
from support.records.manifests import run_manifest
from support.records.plans import made_up_plan

RTT = metric_entry("rtt_us", "us", "round-trip time", better="lower", primary=True)


def trial(
    round: int = 1,
    scenario_id: str = "s000",
    label: str = "ping",
    values: Sequence[float] = (100.0,),
    *,
    status: TrialStatus = "valid",
    scenario: Mapping[str, Any] | None = None,
    metric: str = "rtt_us",
    unit: str = "us",
    **more: Any,
) -> TrialRecord:
    """A trial whose samples are `values` of one metric."""
    trial_id = f"r{round:03d}-{scenario_id}-{label}"
    known: dict[str, Any] = {
        "trial_id": trial_id,
        "scenario_id": scenario_id,
        "scenario": {"chain_length": int(scenario_id[1:])} if scenario is None else scenario,
        "round": round,
        "probe": "ping",
        "label": label,
        "status": status,
        "reasons": () if status == "valid" else (f"it was {status}",),
        "started_at": "2026-01-31T12:00:00.000000+00:00",
        "ended_at": "2026-01-31T12:00:01.500000+00:00",
        "samples": tuple({"metric": metric, "unit": unit, "value": value} for value in values),
        "attempts": 1,
        "deployment": {"id": f"r{round:03d}-{scenario_id}", "encapsulation": "nsh-eth"},
        "packets": {"fwd-1": 40},
        "notes": {"sender": "idle"},
        "raw": f"raw/{trial_id}",
        "rerun_of": "",
        "series": {},
        "noise": {},
        "duration_s": 1.5,
        "series_step_s": None,
        "failed_attempts": (),
        "loss": None,
    }
    return TrialRecord(**(known | more))


def run_folder(folder: Path, trials: Sequence[TrialRecord] = (), **manifest: Any) -> RunStore:
    """A run folder with a small manifest, of which keys are replaced (in `design`: those that are
    given), and these trials."""
    store = RunStore.create(folder)
    store.write_workflow({"sfcperf": 1, "name": "small"}, folder.parent)
    known = run_manifest(folder.name)
    design = known["design"] | manifest.pop("design", {})
    document = known | manifest | {"design": design}
    store.write_manifest(document)
    ids = {entry["id"] for entry in document["scenarios"]} | {one.scenario_id for one in trials}
    store.write_plan(made_up_plan(sorted(ids) or ["s000"]))
    for record in trials:
        store.append_trial(record)
    return store
