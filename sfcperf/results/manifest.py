"""run.json, the manifest (schemas/run.schema.json): what a reader needs to judge a run. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sfcperf
from sfcperf import plugins
from sfcperf.results.attempts import NO_ATTEMPTS, attempt_counts
from sfcperf.results.campaigns import Repeat
from sfcperf.results.noise_gate import without_replaced
from sfcperf.results.records import RunStatus, TrialRecord, utc_now
from sfcperf.workflow.model import Design, Workflow


def new_manifest(
    workflow: Workflow,
    *,
    run_id: str,
    tags: Sequence[str],
    command: Sequence[str],
    host: Mapping[str, Any],
    versions: Mapping[str, Any],
    vnfds: Sequence[Mapping[str, Any]] = (),
    modules: Sequence[Mapping[str, Any]] = (),
    files: Sequence[Mapping[str, Any]] = (),
    programs: Sequence[Mapping[str, Any]] = (),
    repeat: Repeat | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run that starts now. `tags`: marks of the resources that the run
    creates, one for each infrastructure.

    `host` from host_facts(), `versions` from versions(), `vnfds` from keep_descriptors(), `modules`
    from modules_of(), `files` from keep_files(), `programs` from programs_of(), all of
    sfcperf.results.provenance. The control module adds `infrastructure`
    when the driver reports its facts(). The probes' metrics are copied from their plug-ins, so that
    the folder can be summarised where these are not installed.
    """
    now = utc_now()
    manifest = {
        "run_id": run_id,
        "name": workflow.name,
        "description": workflow.description,
        "status": "running",
        "started_at": now,
        "ended_at": None,
        "resumed_at": [],
        "sessions": [_session(tags, now, command, versions)],
        "command": list(command),
        "sfcperf_version": sfcperf.__version__,
        "driver": workflow.driver,
        "seed": workflow.design.seed,
        "design": _design(workflow.design),
        "scenarios": [{"id": s.id, "levels": dict(s.levels)} for s in workflow.scenarios],
        "probes": _probes(workflow),
        "monitors": _monitors(workflow),
        "host": dict(host),
        "versions": dict(versions),
        "infrastructure": {},
        "stopping": {},
        "trials": counts(()),
        "attempts": NO_ATTEMPTS.document(),
        "problems": [],
        "vnfds": [dict(entry) for entry in vnfds],
        "modules": [dict(entry) for entry in modules],
        "files": [dict(entry) for entry in files],
        "programs": [dict(entry) for entry in programs],
        "state": "checking",
        "phases": {},
    }
    if repeat is not None:
        manifest["repeat"] = asdict(repeat)
    if workflow.variants:
        manifest["variants"] = [
            {"name": variant.name, "changes": dict(variant.changes)}
            for variant in workflow.variants
        ]
    return manifest


def resumed(
    manifest: Mapping[str, Any],
    *,
    tags: Sequence[str],
    command: Sequence[str],
    host: Mapping[str, Any],
    versions: Mapping[str, Any],
    modules: Sequence[Mapping[str, Any]] = (),
    programs: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the manifest of an interrupted run that continues now. `tags`: marks of the resources
    that it creates from now on.

    The facts of the first start stay. `problems` gets changes of the machine or the plug-ins since
    then, and of the software since the last session: trials before and after a change are not of
    one population.
    """
    now = utc_now()
    sessions = manifest["sessions"]
    changes = [
        *_machine_changes(manifest["host"], host),
        *_version_changes(sessions[-1]["versions"], versions),
        *_module_changes(manifest["modules"], modules),
        *_program_changes(manifest.get("programs", ()), programs),
    ]
    return {
        **manifest,
        "status": "running",
        "ended_at": None,
        "resumed_at": [*manifest["resumed_at"], now],
        "sessions": [*sessions, _session(tags, now, command, versions)],
        "problems": [*manifest["problems"], *changes],
    }


def finish(
    manifest: Mapping[str, Any],
    *,
    status: RunStatus,
    trials: Sequence[TrialRecord],
    stopping: Mapping[str, str],
    monitor_cpu_s: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the manifest of a run that ends now, complete or not.

    `stopping`: scenario id -> why no more rounds were run; `monitor_cpu_s`: monitor -> CPU time
    that it used, seconds.
    """
    used = monitor_cpu_s or {}
    monitors = [{**m, "cpu_s": used.get(m["monitor"])} for m in manifest["monitors"]]
    return {
        **manifest,
        "status": status,
        "ended_at": utc_now(),
        "stopping": {**manifest["stopping"], **stopping},
        "trials": counts(trials),
        "attempts": attempt_counts(trials).document(),
        "monitors": monitors,
    }


def counts(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """Return status -> number of trials. A trial outside the noise gate that was run again does not
    count: its rerun does."""
    found = Counter(record.status for record in without_replaced(list(trials)))
    return {"valid": found["valid"], "untrusted": found["untrusted"], "failed": found["failed"]}


def _session(
    tags: Sequence[str], started_at: str, command: Sequence[str], versions: Mapping[str, Any]
) -> dict[str, Any]:
    """Return an entry of `sessions`. It has `tags` only where there are several."""
    session = {
        "tag": tags[0],
        "started_at": started_at,
        "command": list(command),
        "versions": dict(versions),
    }
    return session if len(tags) == 1 else {**session, "tags": list(tags)}


def _design(design: Design) -> dict[str, Any]:
    """The design as JSON. The schema has no null for `noise_gate`: a run without a gate lacks the
    key."""
    document = asdict(design)
    if design.noise_gate is None:
        del document["noise_gate"]
    return document


def _probes(workflow: Workflow) -> list[dict[str, Any]]:
    """Return an entry for each probe, with its metrics and scenarios. A probe whose metrics differ
    between scenarios has several entries."""
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
                if entry.items() <= known.items():  # `known` also has `scenarios`
                    known["scenarios"].append(scenario.id)
                    break
            else:
                entries.append({**entry, "scenarios": [scenario.id]})
    return entries


def _monitors(workflow: Workflow) -> list[dict[str, Any]]:
    """Return an entry for each monitor, with its stated cost. `finish` adds what it used."""
    names = dict.fromkeys(m.monitor for s in workflow.scenarios for m in s.monitors)
    return [
        {"monitor": name, "cost": plugins.load("monitor", name).cost, "cpu_s": None}
        for name in names
    ]


def _machine_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return, as sentences, differences of host facts that may change results."""
    changes = []
    for group, name in (("cpu", "model"), ("cpu", "logical"), ("kernel", "release")):
        old, new = before.get(group, {}).get(name), now.get(group, {}).get(name)
        if old != new:
            changes.append(f"resumed on another machine or kernel: {group} {name} {old} -> {new}")
    return changes


def _version_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return, as sentences, differences of software between two sessions: SFCPerf, its sources,
    Python, tools."""

    def flat(versions: Mapping[str, Any]) -> dict[str, Any]:
        commit = (versions["revision"] or {}).get("commit")
        own = {"sfcperf": versions["sfcperf"], "commit": commit, "python": versions["python"]}
        return own | dict(versions["tools"])

    old, new = flat(before), flat(now)
    return [
        f"resumed with another version of {name}: {old.get(name)} -> {new.get(name)}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _module_changes(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return, as sentences, which plug-ins have other code than when the run began. SFCPerf's own
    are not compared by their files: its version is compared elsewhere."""
    known = {(entry["kind"], entry["name"]): entry for entry in before}
    return [
        f"resumed with other code of the {entry['kind']} plug-in {entry['name']}"
        for entry in now
        if (old := known.get((entry["kind"], entry["name"]))) is not None
        and _code(old) != _code(entry)
    ]


def _program_changes(
    before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Return, as sentences, which programs of functions are others than when the run began."""
    known = {entry["name"]: entry["sha256"] for entry in before}
    return [
        f"resumed with another {entry['name']}: {entry['path']}, {entry['package'] or 'no package'}"
        for entry in now
        if known.get(entry["name"], entry["sha256"]) != entry["sha256"]
    ]


def _code(module: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what identifies the code of a plug-in. SFCPerf's version is left out for its own."""
    package = None if module["release"] else module["package"]
    return module["object"], package, module.get("files")
