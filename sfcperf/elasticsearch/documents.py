"""Documents of a run, from its folder alone: the same folder gives the same documents."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sfcperf.elasticsearch import mappings, trial_rows
from sfcperf.elasticsearch.levels import Scenarios
from sfcperf.presentation.wording import run_s
from sfcperf.results.attempts import AttemptCounts, attempt_counts
from sfcperf.results.documents import at_path
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.trial_values import trial_means

_ONCE = ("packets", "noise", "notes")
"""Facts of a trial that only its first document has: other metrics would repeat them."""


class Document(NamedTuple):
    """A document as it is sent."""

    id: str
    """SHA-256 of the run, the stream and the document's key in it. It is always the same, so that
    sending a document again makes no second one."""
    body: str
    """The document as JSON text."""
    hash: str
    """SHA-256 of the content. Empty for rows of telemetry and flows, which never change."""


class Documents:
    """Makes the documents of one run, stream by stream. Raises InputError when its folder is
    damaged."""

    def __init__(self, store: RunStore) -> None:
        self.store = store
        self.manifest = store.manifest()
        self.run_id: str = self.manifest["run_id"]
        self._trials = store.trials()
        self._scenarios = Scenarios(store)
        self._run = {"id": self.run_id, "name": self.manifest["name"]}
        # These streams are read from files: how their rows become documents, and the file.
        self._files = {
            mappings.TELEMETRY.name: (trial_rows.TELEMETRY, store.telemetry_path),
            mappings.FLOWS.name: (trial_rows.FLOWS, store.flows_path),
        }

    def count(self, stream: mappings.Stream) -> int:
        """Return how many documents `of` yields."""
        if stream.name in self._files:
            return trial_rows.count(self._files[stream.name][1])
        return sum(1 for _ in self.of(stream))

    def of(self, stream: mappings.Stream) -> Iterator[Document]:
        """Yield the documents of a stream. Telemetry and flows are read in batches, never as a
        whole."""
        if stream.name in self._files:
            return self._rows(stream, *self._files[stream.name])
        makers = {
            "runs": self._runs,
            "trials": self._of_trials,
            "summaries": self._summaries,
            "claims": self._claims,
        }
        return (self._document(stream, key, content) for key, content in makers[stream.name]())

    def _document(
        self, stream: mappings.Stream, key: tuple[str, ...], content: Mapping[str, Any]
    ) -> Document:
        """Make a document. `key` tells it from the other documents of the stream and run; `content`
        lacks only what all documents have."""
        body = _json({**content, "run": {**self._run, **content.get("run", {})}})
        digest = hashlib.sha256(body.encode()).hexdigest()
        # The hash is that of all other fields, and comes after them: two objects become one.
        own = _json({"document": {"version": mappings.VERSION, "hash": digest}})
        return Document(document_id(self.run_id, stream, key), f"{body[:-1]},{own[1:]}", digest)

    # Streams

    def _runs(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield (key, content) of the only document about the run itself."""
        facts = _run_facts(self.manifest, attempt_counts(self._trials))
        content = {parent: _taken(mappings.RUNS, parent, facts) for parent in ("run", "host")}
        yield (), {"@timestamp": self.manifest["started_at"], **content}

    def _of_trials(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield (key, content) of a document for each metric of each trial. A trial without samples
        has one document without a metric, so that failures are visible. Only the first document of
        a trial has all of its facts."""
        declared = _declared_metrics(self.manifest)
        for record in self._trials:
            common = {
                "@timestamp": record.started_at,
                **self._scenarios.fields(record.scenario_id, record.scenario),
                "probe": {"name": record.probe, "label": record.label},
            }
            first, others = (_trial_facts(record, first=first) for first in (True, False))
            chain = {**common.get("chain", {}), **_taken(mappings.TRIALS, "chain", first)}
            metrics: list[dict[str, Any] | None] = [*_metrics(record)]
            for number, metric in enumerate(metrics or [None]):
                trial = _taken(mappings.TRIALS, "trial", others if number else first)
                content = {**common, "chain": chain, "trial": trial}
                if metric is not None:
                    extra = declared.get((record.label, metric["name"]), {})
                    content["metric"] = {**metric, **extra}
                yield (record.trial_id, metric["name"] if metric else ""), content

    def _summaries(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield (key, content) of a document for each summary."""
        for row in self.store.summaries():
            facts = {**vars(row), "name": row.metric}
            yield (
                (row.scenario_id, row.label, row.metric),
                {
                    "@timestamp": self.manifest["started_at"],
                    **self._scenarios.fields(row.scenario_id, row.scenario),
                    "probe": {"name": row.probe, "label": row.label},
                    "metric": _taken(mappings.SUMMARIES, "metric", facts),
                    "summary": _taken(mappings.SUMMARIES, "summary", facts),
                },
            )

    def _claims(self) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        """Yield (key, content) of a document for each claim of the workflow."""
        document = self.store.document(RunFile.CLAIMS) or {"claims": []}
        for row in document["claims"]:
            published = row["published"]
            in_words = isinstance(published, str)
            facts = {
                **row,
                "published": None if in_words else published,
                "published_text": published if in_words else None,
                "confidence": document["confidence"],
            }
            content = {"claim": _taken(mappings.CLAIMS, "claim", facts)}
            yield (row["id"],), {"@timestamp": self.manifest["started_at"], **content}

    def _rows(
        self, stream: mappings.Stream, kind: trial_rows.RowDocuments, path: Path
    ) -> Iterator[Document]:
        """Yield a document for each row of a file of telemetry or flows."""
        trials = {record.trial_id: record for record in self._trials}
        for trial_id, number, body in trial_rows.rows(kind, path, trials, self._common):
            yield Document(document_id(self.run_id, stream, (trial_id, str(number))), body, "")

    def _common(self, record: TrialRecord) -> dict[str, Any]:
        """Return the fields that all rows of a trial have in common."""
        return {
            "document": {"version": mappings.VERSION},
            "run": self._run,
            **self._scenarios.fields(record.scenario_id, record.scenario),
            "trial": {"id": record.trial_id, "round": record.round, "status": record.status},
            "probe": {"name": record.probe, "label": record.label},
        }


def document_id(run_id: str, stream: mappings.Stream, key: tuple[str, ...]) -> str:
    """Return the id of a document: SHA-256 of run, stream and key, in base64url (RFC 4648 section
    5) without padding."""
    text = "\0".join((run_id, stream.name, *key))
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
    return urlsafe_b64encode(digest)[:43].decode()


def _declared_metrics(manifest: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (probe label, metric) -> the fields `better` and `primary` that the probe declared for
    the metric."""
    return {
        (probe["label"], metric["name"]): {
            "better": metric["better"],
            "primary": metric["primary"],
        }
        for probe in manifest["probes"]
        for metric in probe["metrics"]
    }


def _run_facts(manifest: Mapping[str, Any], attempts: AttemptCounts) -> dict[str, Any]:
    """Return the manifest, and facts that are derived from it. They replace entries of the same
    name, which are too detailed for a document."""
    return {
        **manifest,
        "duration_s": run_s(manifest),
        "scenarios": len(manifest["scenarios"]),
        "probes": [probe["label"] for probe in manifest["probes"]],
        "monitors": [monitor["monitor"] for monitor in manifest["monitors"]],
        "attempts": attempts.document(),
        "crashed_functions": list(attempts.crashed),
        "variants": [variant["name"] for variant in manifest.get("variants") or []],
    }


def _trial_facts(record: TrialRecord, *, first: bool) -> dict[str, Any]:
    """Return the facts of a trial for its first document, or for its others, which lack some."""
    counts, loss = attempt_counts([record]), record.loss
    failures = [failed.reason for failed in record.failed_attempts]
    return {
        **{key: v for key, v in vars(record).items() if first or key not in _ONCE},
        **({"failures": failures, "crashed_functions": list(counts.crashed)} if first else {}),
        "failed": counts.failed,
        "crashes": counts.crashes,
        "loss": None if loss is None else {**vars(loss), "ratio": loss.ratio},
        "first": first,
        "rerun_of": record.rerun_of or None,
        "raw": record.raw or None,
    }


def _taken(stream: mappings.Stream, parent: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that `facts` give for the stream's fields below `parent`, nested like the
    fields and without `parent` itself. A field is left out if the first part of its source is not
    in the facts, and null if a later part is not."""
    taken: dict[str, Any] = {}
    for field in stream.fields:
        *parents, last = field.name.split(".")
        if parents[:1] == [parent] and field.source.partition(".")[0] in facts:
            level = taken
            for part in parents[1:]:
                level = level.setdefault(part, {})
            level[last] = at_path(facts, field.source)
    return taken


def _metrics(record: TrialRecord) -> list[dict[str, Any]]:
    """Return for each metric of a trial the mean of its samples, and the values behind it: the
    series that the probe kept, or else the samples."""
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


def _json(value: Any) -> str:
    """Return compact JSON. The order of the keys stays, so that equal content has equal hashes."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
