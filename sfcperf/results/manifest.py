"""run.json, the manifest: what a reader must know to judge a run without its workflow's plug-ins.

The functions are pure: the control module writes what they give with RunStore.write_manifest, and
may add keys of its own (phases, state). schemas/run.schema.json describes the document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sfcperf
from sfcperf import plugins
from sfcperf.results.records import RunStatus, TrialRecord
from sfcperf.results.timestamps import utc_now
from sfcperf.workflow.model import Workflow


def new_manifest(
    workflow: Workflow,
    *,
    run_id: str,
    command: Sequence[str],
    host: Mapping[str, Any],
    versions: Mapping[str, Any],
    infrastructure: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a run that starts now.

    `host` from hostfacts.host_facts(), `versions` from versions.versions(), `infrastructure` from
    the driver's facts() (also settable later under that key). What probes can report is copied
    from their plug-ins, so that the folder can be summarised where they are not installed.
    """
    return {
        "run_id": run_id,
        "name": workflow.name,
        "description": workflow.description,
        "status": "running",
        "started_at": utc_now(),
        "ended_at": None,
        "resumed_at": [],
        "command": list(command),
        "sfcperf_version": sfcperf.__version__,
        "driver": workflow.driver,
        "seed": workflow.design.seed,
        "design": asdict(workflow.design),
        "scenarios": [{"id": s.id, "levels": dict(s.levels)} for s in workflow.scenarios],
        "probes": _probes(workflow),
        "monitors": _monitors(workflow),
        "host": dict(host),
        "versions": dict(versions),
        "infrastructure": dict(infrastructure or {}),
        "stopping": {},
        "trials": counts(()),
        "problems": [],
    }


def resumed(manifest: Mapping[str, Any], *, host: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of an interrupted run that goes on now.

    The facts of the first start stay. When the machine is not the same any more, `problems` says
    so: trials before and after are then not of one population.
    """
    changes = _machine_changes(manifest.get("host", {}), host)
    return {
        **manifest,
        "status": "running",
        "ended_at": None,
        "resumed_at": [*manifest.get("resumed_at", []), utc_now()],
        "problems": [*manifest.get("problems", []), *changes],
    }


def finish(
    manifest: Mapping[str, Any],
    *,
    status: RunStatus,
    trials: Iterable[TrialRecord],
    stopping: Mapping[str, str],
    problems: Sequence[str] = (),
    monitor_cpu_s: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The manifest of a run that ends now, complete or not.

    `stopping`: scenario id -> why no more rounds were run; `problems` are added to those already
    there; `monitor_cpu_s`: monitor -> CPU time that it used, seconds.
    """
    used = monitor_cpu_s or {}
    monitors = [{**m, "cpu_s": used.get(m["monitor"])} for m in manifest.get("monitors", [])]
    return {
        **manifest,
        "status": status,
        "ended_at": utc_now(),
        "stopping": {**manifest.get("stopping", {}), **stopping},
        "trials": counts(trials),
        "monitors": monitors,
        "problems": [*manifest.get("problems", []), *problems],
    }


def counts(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """Trials by status; each status is there."""
    found = Counter(record.status for record in trials)
    return {"valid": found["valid"], "untrusted": found["untrusted"], "failed": found["failed"]}


def _probes(workflow: Workflow) -> list[dict[str, Any]]:
    """Each probe with its metrics; one entry more for scenarios where the metrics differ."""
    entries: list[dict[str, Any]] = []
    for scenario in workflow.scenarios:
        for spec in scenario.probes:
            metrics = plugins.load("probe", spec.probe).metrics(spec.parameters)
            entry: dict[str, Any] = {
                "probe": spec.probe,
                "label": spec.label,
                "metrics": [asdict(metric) for metric in metrics],
            }
            for known in entries:
                if entry.items() <= known.items():
                    known["scenarios"].append(scenario.id)
                    break
            else:
                entries.append({**entry, "scenarios": [scenario.id]})
    return entries


def _monitors(workflow: Workflow) -> list[dict[str, Any]]:
    names = dict.fromkeys(m.monitor for s in workflow.scenarios for m in s.monitors)
    return [
        {"monitor": name, "cost": plugins.load("monitor", name).cost, "cpu_s": None}
        for name in names
    ]


def _machine_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two sets of host facts so much that numbers may differ."""
    changes = []
    for group, name in (("cpu", "model"), ("cpu", "logical"), ("kernel", "release")):
        old, new = before.get(group, {}).get(name), now.get(group, {}).get(name)
        if old != new:
            changes.append(f"resumed on another machine or kernel: {group} {name} {old} -> {new}")
    return changes
