"""Documents of a run, from its folder alone: the same folder gives the same documents."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sfcperf.elasticsearch import mappings, telemetry_rows
from sfcperf.elasticsearch.levels import Scenarios
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.store import RunStore


class Document(NamedTuple):
    """What is sent."""

    id: str
    """SHA-256 of run, stream and the key within it: sending it again is no second document."""
    body: str
    """JSON."""
    hash: str
    """SHA-256 of the content, for documents that may change; else empty."""


class Documents:
    """The documents of one run, stream by stream. Raises InputError when its folder is damaged."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.manifest = store.manifest()
        self.run_id: str = self.manifest["run_id"]
        self._trials = store.trials()
        self._scenarios = Scenarios(store, self.manifest)
        self._run = {"id": self.run_id, "name": self.manifest["name"]}

    def count(self, stream: mappings.Stream) -> int:
        """How many `of` gives."""
        if stream is mappings.TELEMETRY:
            return telemetry_rows.count(self.store.telemetry_path)
        return sum(1 for _ in self.of(stream))

    def of(self, stream: mappings.Stream) -> Iterator[Document]:
        """The documents of a stream; telemetry is read in batches, never as a whole."""
        if stream is mappings.TELEMETRY:
            return self._telemetry()
        makers = {"runs": self._runs, "trials": self._of_trials, "summaries": self._summaries}
        return (self._document(stream, key, content) for key, content in makers[stream.name]())

    def _document(
        self, stream: mappings.Stream, key: tuple[str, ...], content: Mapping[str, Any]
    ) -> Document:
        body = _json({**content, "run": {**self._run, **content.get("run", {})}})
        digest = hashlib.sha256(body.encode()).hexdigest()
        # The hash is of all the rest, and stands at its end.
        own = _json({"document": {"version": mappings.VERSION, "hash": digest}})
        return Document(document_id(self.run_id, stream, key), f"{body[:-1]},{own[1:]}", digest)

    # Streams

    def _runs(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        yield (), run_content(self.manifest)

    def _of_trials(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        declared = declared_metrics(self.manifest)
        for record in self._trials:
            common = {
                "@timestamp": record.started_at,
                **self._scenarios.fields(record.scenario_id, record.scenario),
                "probe": {"name": record.probe, "label": record.label},
            }
            chain = {**common.get("chain", {}), **_chain(record)}
            metrics: list[dict[str, Any] | None] = [*_metrics(record)]
            for number, metric in enumerate(metrics or [None]):
                trial = _trial(record, first=number == 0)
                content = {**common, "chain": chain, "trial": trial}
                if metric is not None:
                    extra = declared.get((record.label, metric["name"]), {})
                    content["metric"] = {**metric, **extra}
                yield (record.trial_id, metric["name"] if metric else ""), content

    def _summaries(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        names = _names(mappings.SUMMARIES, "summary")
        for row in self.store.summaries():
            yield (
                (row.scenario_id, row.label, row.metric),
                {
                    "@timestamp": self.manifest["started_at"],
                    **self._scenarios.fields(row.scenario_id, row.scenario),
                    "probe": {"name": row.probe, "label": row.label},
                    "metric": _described(row),
                    "summary": {name: getattr(row, name) for name in names},
                },
            )

    def _telemetry(self) -> Iterator[Document]:
        rows = telemetry_rows.rows(
            self.store.telemetry_path, {r.trial_id: r for r in self._trials}, self._common
        )
        for trial_id, number, body in rows:
            key = (trial_id, str(number))
            yield Document(document_id(self.run_id, mappings.TELEMETRY, key), body, "")

    def _common(self, record: TrialRecord) -> dict[str, Any]:
        """What all telemetry of a trial has."""
        return {
            "document": {"version": mappings.VERSION},
            "run": self._run,
            **self._scenarios.fields(record.scenario_id, record.scenario),
            "trial": {
                "id": record.trial_id,
                "round": record.round,
                "status": record.status,
            },
            "probe": {"name": record.probe, "label": record.label},
        }


def document_id(run_id: str, stream: mappings.Stream, key: tuple[str, ...]) -> str:
    """SHA-256 of run, stream and key, base64url (RFC 4648 section 5) without padding."""
    text = "\0".join((run_id, stream.name, *key))
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return urlsafe_b64encode(digest)[:43].decode()


def declared_metrics(manifest: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """(Probe label, metric) -> what the probe declared of it."""
    return {
        (probe["label"], metric["name"]): {
            "better": metric.get("better"),
            "primary": metric.get("primary"),
        }
        for probe in manifest["probes"]
        for metric in probe["metrics"]
    }


def run_content(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest as a document; what changes while a run is published is left out."""
    design, versions = manifest["design"], manifest["versions"]
    ended = manifest["ended_at"]
    return {
        "@timestamp": manifest["started_at"],
        "run": {
            "description": manifest["description"],
            "status": manifest["status"],
            "ended": ended,
            "duration_s": seconds(manifest["started_at"], ended) if ended else None,
            "driver": manifest["driver"],
            "seed": manifest["seed"],
            "rounds": design.get("rounds"),
            "order": design.get("order"),
            "confidence": design.get("confidence"),
            "scenarios": len(manifest["scenarios"]),
            "probes": [probe["label"] for probe in manifest["probes"]],
            "monitors": [monitor["monitor"] for monitor in manifest["monitors"]],
            "variants": [variant["name"] for variant in manifest.get("variants") or []],
            "problems": manifest["problems"],
            "trials": manifest["trials"],
            "infrastructure": manifest["infrastructure"],
            "tools": versions.get("tools"),
            "packages": versions.get("packages"),
            "sfcperf": {
                "version": manifest["sfcperf_version"],
                "revision": (versions.get("revision") or {}).get("commit"),
            },
        },
        "host": _host(manifest["host"]),
    }


def seconds(begin: str, end: str) -> float:
    """Between two times of a run folder's documents."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def _host(host: Mapping[str, Any]) -> dict[str, Any]:
    cpu = host.get("cpu") or {}
    return {
        "architecture": cpu.get("architecture"),
        "cpu": {name: cpu.get(name) for name in ("model", "logical", "governor")},
        "memory": {"total_bytes": (host.get("memory") or {}).get("total_bytes")},
        "os": {
            "kernel": (host.get("kernel") or {}).get("release"),
            "full": host.get("distribution"),
        },
        "hypervisor": (host.get("hypervisor") or {}).get("present"),
        "load_1min": (host.get("load") or {}).get("load_1min"),
    }


def _chain(record: TrialRecord) -> dict[str, Any]:
    deployment = record.deployment
    traversal = deployment.get("traversal") or {}
    return {
        "id": deployment.get("id"),
        "encapsulation": deployment.get("encapsulation"),
        "spi": deployment.get("spi"),
        "proven": traversal.get("proven"),
    }


def _trial(record: TrialRecord, *, first: bool) -> dict[str, Any]:
    short = {
        "id": record.trial_id,
        "first": first,
        "round": record.round,
        "status": record.status,
        "reasons": record.reasons,
        "attempts": record.attempts,
        "ended": record.ended_at,
        "duration_s": seconds(record.started_at, record.ended_at),
        "rerun_of": record.rerun_of or None,
        "raw": record.raw or None,
    }
    if not first:
        return short
    return {
        **short,
        "packets": record.packets,
        "noise": record.noise,
        "notes": record.notes,
    }


def _metrics(record: TrialRecord) -> list[dict[str, Any]]:
    """Each metric of a trial: its mean, and what the mean was made of."""
    from sfcperf.results.trial_values import trial_means

    units = {sample["metric"]: sample["unit"] for sample in record.samples}
    values: dict[str, list[float]] = {name: [] for name in units}
    for sample in record.samples:
        values[sample["metric"]].append(sample["value"])
    return [
        {"name": name, "unit": units[name], "value": mean, "samples": samples}
        | {"count": len(samples)}
        for name, mean in trial_means(record).items()
        for samples in [list(record.series.get(name) or values[name])]
    ]


def _described(row: Summary) -> dict[str, Any]:
    return {
        "name": row.metric,
        "unit": row.unit,
        "better": row.better,
        "primary": row.primary,
    }


def _names(stream: mappings.Stream, parent: str) -> list[str]:
    start = f"{parent}."
    return [f.name.removeprefix(start) for f in stream.fields if f.name.startswith(start)]


def _json(value: Any) -> str:
    """Compact, in one order."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
