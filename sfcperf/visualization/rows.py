"""Rows of the report's tables: records in the words and units of people."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sfcperf.results.records import Summary, TrialRecord
from sfcperf.visualization import units
from sfcperf.visualization.diagnosis import details
from sfcperf.visualization.series import level_text, scenario_text
from sfcperf.visualization.verdict import traversal

_ENVIRONMENT = ("versions", "host", "infrastructure", "design", "command", "phases")


@dataclass(frozen=True)
class ResultRow:
    """A summary as shown."""

    anchor: str
    levels: tuple[str, ...]
    mean: str
    interval: str
    below_zero: bool
    """The interval reaches below 0, though no trial did."""
    median: str
    """With its own interval where there are trials enough for one."""
    stdev: str
    spread: str
    """Smallest to largest trial."""
    n: int
    valid: bool
    remarks: tuple[tuple[str | None, str], ...]
    """Why it is not valid: the trial that it is about, if any, and the reason."""
    method: str
    picked: str
    """`mean` or `median`: which describes the trials best; empty when there are none."""
    picked_why: str
    warnings: tuple[str, ...]
    details: tuple[tuple[str, str], ...]
    """Percentiles, tests and the like: what, and its value with the unit."""


@dataclass(frozen=True)
class ResultTable:
    """All scenarios of one metric of one probe, in one unit."""

    title: str
    metric: str
    unit: str
    better: str
    confidence: str
    primary: bool
    factors: tuple[str, ...]
    rows: tuple[ResultRow, ...]


@dataclass(frozen=True)
class TrialRow:
    """A trial as shown."""

    record: TrialRecord
    levels: tuple[str, ...]
    started: str
    duration_s: str
    values: tuple[str, ...]
    raw: str | None
    """Folder with the raw output; None when it is not there."""
    details: Mapping[str, Any]


@dataclass(frozen=True)
class ProofRow:
    """The evidence that a deployment's chain was crossed, in order."""

    deployment: str
    scenario: str
    encapsulation: str
    spi: str
    proven: bool
    method: str
    forward: str
    reverse: str
    problems: tuple[str, ...]
    evidence: str
    """File with what was seen, relative to the run folder; empty when none was recorded."""
    evidence_there: bool
    facts: Mapping[str, Any]
    trials: tuple[str, ...]


@dataclass(frozen=True)
class MonitorRow:
    """What a monitor costs."""

    name: str
    cost: str
    used: str


def results(summaries: Sequence[Summary]) -> list[ResultTable]:
    """A table per probe and metric, primary metrics first."""
    groups: dict[tuple[str, str], list[Summary]] = {}
    for row in summaries:
        groups.setdefault((row.label, row.metric), []).append(row)
    tables = [_table(group, number) for number, group in enumerate(groups.values())]
    return sorted(tables, key=lambda table: not table.primary)


def trial_row(record: TrialRecord, folder: Path) -> TrialRow:
    """A trial with its values, one per metric."""
    details = {
        "packets forwarded by": dict(record.packets),
        "notes": dict(record.notes),
        "started at": record.started_at,
        "attempts": record.attempts,
    }
    return TrialRow(
        record,
        tuple(scenario_text({name: level}) for name, level in record.scenario.items()),
        _clock(record.started_at),
        _duration(record.started_at, record.ended_at),
        tuple(_values(record)),
        record.raw if record.raw and (folder / record.raw).is_dir() else None,
        {key: value for key, value in details.items() if value not in ({}, None)},
    )


def proofs(trials: Iterable[TrialRecord], folder: Path) -> list[ProofRow]:
    """The proof of each deployment that trials ran on."""
    # A deployment's id is unique to its driver; a run may have several, and several sessions.
    groups: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in trials:
        evidence = str(traversal(record).get("evidence") or "")
        key = (str(record.deployment.get("id", "")), evidence)
        groups.setdefault(key, []).append(record)
    return [_proof(identity, group, folder) for (identity, _), group in groups.items() if identity]


def run_facts(manifest: Mapping[str, Any], trials: Sequence[TrialRecord]) -> list[tuple[str, str]]:
    """The few facts that stand at the top."""
    ended = manifest.get("ended_at")
    started = str(manifest.get("started_at") or "")
    host = manifest.get("host") or {}
    cpu, kernel = _mapping(host.get("cpu")), _mapping(host.get("kernel"))
    encapsulations = sorted(
        {str(r.deployment.get("encapsulation", "")) for r in trials} - {"", "none"}
    )
    facts = [
        ("Driver", ", ".join(_drivers(manifest))),
        ("Encapsulation", ", ".join(encapsulations)),
        ("Started", started[:19].replace("T", " ") + " UTC" if started else ""),
        ("Duration", f"{_duration(started, str(ended))} s" if started and ended else ""),
        ("CPU", _joined(cpu.get("model"), cpu.get("logical"), "{} × {}")),
        ("Kernel", str(kernel.get("release") or "")),
        ("SFCPerf", str(manifest.get("sfcperf_version") or "")),
        ("Seed", str(manifest.get("seed", ""))),
    ]
    return [(name, value) for name, value in facts if value and value != "None"]


def _drivers(manifest: Mapping[str, Any]) -> list[str]:
    """Each driver that the run was built by, once."""
    several = [entry.get("driver") for entry in manifest.get("infrastructures") or ()]
    return [str(name) for name in dict.fromkeys(several or [manifest.get("driver")]) if name]


def monitors(
    manifest: Mapping[str, Any], trials: Sequence[TrialRecord], measured: Mapping[str, float]
) -> list[MonitorRow]:
    """Monitors with their stated cost and the CPU time that they used."""
    seconds = sum(_seconds(record.started_at, record.ended_at) for record in trials)
    stated = {m["monitor"]: m for m in manifest.get("monitors") or () if "monitor" in m}
    rows = []
    for name in dict.fromkeys([*stated, *measured]):
        used = measured.get(name, stated.get(name, {}).get("cpu_s"))
        text = "not recorded"
        if used is not None:
            share = f" ({100 * used / seconds:.2g} % of one CPU during trials)" if seconds else ""
            text = f"{used:.3g} s of CPU time{share}"
        rows.append(MonitorRow(name, str(stated.get(name, {}).get("cost", "not stated")), text))
    return rows


def environment(manifest: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What the manifest says of machine, versions and design, in the order of interest."""
    return [(name, manifest[name]) for name in _ENVIRONMENT if manifest.get(name)]


def methods(summaries: Iterable[Summary]) -> list[str]:
    """How the intervals were made, each method once."""
    rows = list(summaries)
    of_means = {row.method for row in rows if row.ci_low is not None}
    of_medians = {row.median_method for row in rows if row.median_ci_low is not None}
    return sorted(of_means | of_medians)


def stopping(summaries: Iterable[Summary]) -> list[tuple[str, str]]:
    """(scenario, why no more rounds were run), each once."""
    found = {(scenario_text(row.scenario) or "the scenario", row.stop_reason) for row in summaries}
    return sorted((scenario, reason) for scenario, reason in found if reason)


def _table(group: Sequence[Summary], number: int) -> ResultTable:
    first = group[0]
    means = [row.mean for row in group if row.mean is not None]
    scale = units.scale_for(means, first.unit, first.metric)
    factors = tuple(dict.fromkeys(name for row in group for name in row.scenario))
    return ResultTable(
        f"{first.label}: {units.metric_title(first.metric)}",
        first.metric,
        scale.unit,
        {"higher": "higher is better", "lower": "lower is better"}.get(first.better, ""),
        f"{100 * first.confidence:g} %",
        first.primary,
        factors,
        tuple(_result(row, f"result-{number}-{i}", factors, scale) for i, row in enumerate(group)),
    )


def _result(row: Summary, anchor: str, factors: Sequence[str], scale: units.Scale) -> ResultRow:
    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale.factor

    low, high = scaled(row.ci_low), scaled(row.ci_high)
    half = None if low is None or high is None else (high - low) / 2

    def span(start: float | None, end: float | None, between: str) -> str:
        if start is None or end is None:
            return "–"
        return f"{units.number(start, half)}{between}{units.number(end, half)}"

    return ResultRow(
        anchor,
        tuple(level_text(row.scenario[name]) if name in row.scenario else "" for name in factors),
        units.estimate(scaled(row.mean), half),
        f"[{span(low, high, ', ')}]" if half is not None else "–",
        row.ci_low is not None and row.min is not None and row.ci_low < 0 <= row.min,
        _median(row, scale.factor),
        units.number(scaled(row.stdev), scaled(row.stdev)),
        span(scaled(row.min), scaled(row.max), " … "),
        row.n,
        row.valid,
        tuple(_remark(reason, row.excluded) for reason in row.reasons),
        row.method if half is not None else "–",
        row.centre if row.n else "",
        row.centre_reason,
        row.warnings,
        details(row, scale),
    )


def _median(row: Summary, factor: float) -> str:
    if row.median is None or row.median_ci_low is None or row.median_ci_high is None:
        half = None if row.ci_low is None or row.ci_high is None else row.ci_high - row.ci_low
        return units.number(
            None if row.median is None else row.median * factor, half and half / 2 * factor
        )
    low, high = row.median_ci_low * factor, row.median_ci_high * factor
    half = (high - low) / 2
    ends = f"[{units.number(low, half)}, {units.number(high, half)}]"
    return f"{units.number(row.median * factor, half)} {ends}"


def _remark(reason: str, excluded: Sequence[str]) -> tuple[str | None, str]:
    """Reasons of a summary start with the id of the trial that they are about."""
    trial, _, text = reason.partition(" ")
    return (trial, text) if trial in excluded else (None, reason)


def _values(record: TrialRecord) -> Iterable[str]:
    """`rtt 0.342 ms (mean of 20)` per metric."""
    samples: dict[str, list[Mapping[str, Any]]] = {}
    for sample in record.samples:
        samples.setdefault(sample["metric"], []).append(sample)
    for metric, group in samples.items():
        mean = sum(sample["value"] for sample in group) / len(group)
        scale = units.scale_for([mean], group[0]["unit"], metric)
        text = units.with_unit(units.number(mean * scale.factor), scale.unit)
        many = f" (mean of {len(group)})" if len(group) > 1 else ""
        yield f"{units.metric_title(metric)} {text}{many}"


def _proof(identity: str, group: Sequence[TrialRecord], folder: Path) -> ProofRow:
    record = group[0]
    proof = traversal(record)
    evidence = str(proof.get("evidence") or "")
    seen = _evidence(folder, evidence)
    return ProofRow(
        identity,
        scenario_text(record.scenario),
        str(record.deployment.get("encapsulation", "")),
        str(record.deployment.get("spi", "")),
        bool(proof.get("proven")),
        str(proof.get("method", "")),
        _path(seen.get("forward") or ()),
        _path(seen.get("reverse") or ()),
        tuple(str(problem) for problem in seen.get("problems") or ()),
        evidence,
        bool(seen),
        record.deployment.get("facts") or {},
        tuple(r.trial_id for r in group),
    )


def _evidence(folder: Path, name: str) -> Mapping[str, Any]:
    """The document of a proof; empty when it is not in the run folder, or not readable."""
    path = (folder / name).resolve()
    if not name or not path.is_relative_to(folder.resolve()):
        return {}
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _path(hops: Iterable[Mapping[str, Any]]) -> str:
    """`fwd-1 (SI 255→254, 10 packets), ...`."""
    return ", ".join(
        f"{hop.get('function')} (SI {hop.get('si')}→{hop.get('si_after')}, "
        f"{hop.get('packets')} packets)"
        for hop in hops
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _clock(moment: str) -> str:
    return moment[11:19]


def _duration(start: str, end: str) -> str:
    return f"{_seconds(start, end):.1f}"


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def _joined(first: Any, second: Any, pattern: str) -> str:
    return pattern.format(first, second) if first and second else str(first or "")
