"""The report's tables of trials and of traversal proofs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfcperf import strict_json
from sfcperf.presentation import units
from sfcperf.report.verdict import traversal
from sfcperf.results.kinds import kind_of
from sfcperf.results.records import TrialRecord


@dataclass(frozen=True)
class TrialRow:
    """A row of the table of trials: the record, and what the template cannot make of it."""

    record: TrialRecord
    duration_s: str
    values: tuple[str, ...]
    """Values of the primary metrics, in words; of all metrics if none is primary."""
    others: tuple[str, ...]
    """Values of the other metrics; empty if none is primary."""
    raw: str | None
    """Folder with the raw output; None when it is not there."""
    details: Mapping[str, Any]
    """What the page shows only when the row is opened: title -> value."""


@dataclass(frozen=True)
class ProofRow:
    """The evidence that a deployment's chain was crossed, in order."""

    record: TrialRecord
    """The first trial on this deployment."""
    proof: Mapping[str, Any]
    """Its traversal proof; empty when none was recorded."""
    forward: str
    reverse: str
    problems: tuple[str, ...]
    readable: bool
    """Whether the file with the evidence is in the run folder, and readable."""
    same_as: str
    """Id of the first deployment with the same facts, if that is another one; else empty."""
    trials: tuple[str, ...]


def trial_row(
    record: TrialRecord, folder: Path, primary: Collection[tuple[str, str]] = ()
) -> TrialRow:
    """Return the row of a trial, with one value per metric. `primary`: (label of the probe, metric)
    of all primary metrics; `folder`: the run folder."""
    values = dict(_values(record))
    first = [metric for metric in values if (record.label, metric) in primary] or list(values)
    details = {
        "packets forwarded by": dict(record.packets),
        "notes": dict(record.notes),
        "started at": record.started_at,
        "attempts": record.attempts,
        "failed attempts": [asdict(failed) for failed in record.failed_attempts],
        "loss": {} if record.loss is None else asdict(record.loss),
    }
    return TrialRow(
        record,
        f"{record.duration_s:.1f}",
        tuple(values[metric] for metric in first),
        tuple(text for metric, text in values.items() if metric not in first),
        record.raw if record.raw and (folder / record.raw).is_dir() else None,
        {key: value for key, value in details.items() if value not in ({}, [], None)},
    )


def proofs(trials: Iterable[TrialRecord], folder: Path) -> list[ProofRow]:
    """Return the traversal proof of each deployment that trials ran on."""
    # The id of a deployment is only unique for one driver in one session: its evidence tells apart
    # deployments of other drivers and sessions.
    groups: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in trials:
        evidence = str(traversal(record).get("evidence") or "")
        key = (str(record.deployment.get("id", "")), evidence)
        groups.setdefault(key, []).append(record)
    first_with: dict[str, str] = {}  # facts of a deployment, as JSON -> id of the first such one
    rows = []
    for (identity, _), group in groups.items():
        if identity:  # else the trials failed before there was a deployment
            facts = json.dumps(group[0].deployment.get("facts") or {}, sort_keys=True, default=str)
            same_as = first_with.setdefault(facts, identity)
            rows.append(_proof(group, folder, "" if same_as == identity else same_as))
    return rows


def _values(record: TrialRecord) -> Iterable[tuple[str, str]]:
    """Yield (metric, its value such as `rtt 0.342 ms (mean of 20)`). Metrics of single kinds of
    attacks are left out."""
    samples: dict[str, list[Mapping[str, Any]]] = {}
    for sample in record.samples:
        if kind_of(record.probe, sample["metric"]) is None:
            samples.setdefault(sample["metric"], []).append(sample)
    for metric, group in samples.items():
        mean = sum(sample["value"] for sample in group) / len(group)
        text = units.scale_for([mean], group[0]["unit"], metric).quantity(mean)
        many = f" (mean of {len(group)})" if len(group) > 1 else ""
        yield metric, f"{units.metric_title(metric)} {text}{many}"


def _proof(group: Sequence[TrialRecord], folder: Path, same_as: str) -> ProofRow:
    """Make the row of a deployment, whose trials are `group`. `folder`: the run folder."""
    proof = traversal(group[0])
    observed = _evidence(folder, str(proof.get("evidence") or ""))
    return ProofRow(
        group[0],
        proof,
        _path(observed.get("forward") or ()),
        _path(observed.get("reverse") or ()),
        tuple(str(problem) for problem in observed.get("problems") or ()),
        bool(observed),
        same_as,
        tuple(record.trial_id for record in group),
    )


def _evidence(folder: Path, name: str) -> Mapping[str, Any]:
    """Read the document of a proof; empty when it is not in the run folder, or not readable."""
    path = (folder / name).resolve()
    if not name or not path.is_relative_to(folder.resolve()):
        return {}
    try:
        document = strict_json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _path(hops: Iterable[Mapping[str, Any]]) -> str:
    """Return hops as `fwd-1 (SI 255→254, 10 packets), ...`; with the TTL instead of the SI where
    the TTL gives the order."""
    return ", ".join(
        f"{hop.get('function')} ({_index(hop)}{hop.get('packets')} packets)" for hop in hops
    )


def _index(hop: Mapping[str, Any]) -> str:
    """Return `SI 255→254, ` or the same of the TTL; empty if neither was observed."""
    for name in ("si", "ttl"):
        if hop.get(name) is not None:
            return f"{name.upper()} {hop[name]}→{hop.get(f'{name}_after')}, "
    return ""
