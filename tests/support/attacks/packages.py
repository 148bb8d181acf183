"""Hostile packages: an honest one that is damaged, with hashes that fit."""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf.results.flows import FLOWS
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY, TrialRows
from support.attacks import Attack
from support.records.claimed_run import CLAIMS
from support.records.packages import contents, edited, forged, packed, write_zip
from support.records.shown_run import EIGHT_ROUNDS

RUN = "runs/run-1"
PACKAGE, CRATE = "package.json", "ro-crate-metadata.json"
_MB = 1_000_000
Edit = Callable[[Any], object]


@cache
def honest() -> dict[str, bytes]:
    """Name -> content of the files of an honest package."""
    folder = Path(tempfile.mkdtemp(prefix="honest-package-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return contents(packed(folder))


@cache
def honest_claims() -> dict[str, bytes]:
    """The same of a run with a claim for each verdict."""
    folder = Path(tempfile.mkdtemp(prefix="honest-claims-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return contents(packed(folder, replace(EIGHT_ROUNDS, claims=CLAIMS, figures=())))


def _claims(*edits: tuple[str, Edit]) -> Callable[[Path], list[str]]:
    """Documents of the run with claims edited, by their names in the run folder."""

    def make(folder: Path) -> list[str]:
        files = honest_claims()
        changed = {f"{RUN}/{name}": edited(files[f"{RUN}/{name}"], edit) for name, edit in edits}
        write_zip(folder / "p.zip", {**forged(files, changed)})
        return ["verify", "p.zip"]

    return make


def _in_workflows(edit: Edit) -> Callable[[Path], list[str]]:
    """The claims of the workflow as given and as run edited."""

    def of_workflow(document: Any) -> None:
        edit(document["claims"])

    return _claims(*((name, of_workflow) for name in (RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED)))


def _verify(folder: Path, changed: Mapping[str, bytes]) -> list[str]:
    write_zip(folder / "p.zip", {**forged(honest(), changed)})
    return ["verify", "p.zip"]


def _with(name: str, content: Callable[[], bytes]) -> Callable[[Path], list[str]]:
    """One file's content replaced."""

    def make(folder: Path) -> list[str]:
        return _verify(folder, {name: content()})

    return make


def _edited(name: str, edit: Edit) -> Callable[[Path], list[str]]:
    """One JSON document edited."""

    def content() -> bytes:
        document = json.loads(honest()[name])
        edit(document)
        return json.dumps(document).encode()

    return _with(name, content)


def _trial(edit: Edit) -> Callable[[Path], list[str]]:
    """The first trial edited."""

    def content() -> bytes:
        lines = honest()[f"{RUN}/trials.jsonl"].splitlines(keepends=True)
        document = json.loads(lines[0])
        edit(document)
        return json.dumps(document).encode() + b"\n" + b"".join(lines[1:])

    return _with(f"{RUN}/trials.jsonl", content)


def _doubled(name: str, key: str) -> Callable[[Path], list[str]]:
    """A key of a document stated twice, first with another value."""

    def content() -> bytes:
        return honest()[name].replace(f'"{key}":'.encode(), f'"{key}": "x", "{key}":'.encode(), 1)

    return _with(name, content)


def _resolved(chain: Any) -> Callable[[Path], list[str]]:
    return _edited(f"{RUN}/plan.json", lambda d: d["resolved"]["s000"].update(chain=chain))


def _many_rows(kind: TrialRows) -> bytes:
    """10,000,000 rows that say the same."""
    import pyarrow
    import pyarrow.parquet

    numbers = {"int64": pyarrow.scalar(1), "float64": pyarrow.scalar(1.0)}
    columns = [
        pyarrow.repeat(numbers.get(kind.types[name], pyarrow.scalar("x")), 1_000_000)
        for name in kind.columns
    ]
    table = pyarrow.table(columns, names=list(kind.columns))
    sink = pyarrow.BufferOutputStream()
    with pyarrow.parquet.ParquetWriter(sink, table.schema) as writer:
        for _ in range(10):
            writer.write_table(table)
    return bytes(sink.getvalue())


def _fifo(folder: Path) -> list[str]:
    os.mkfifo(folder / "p.zip")
    return ["verify", "p.zip"]


def _large_signature(folder: Path) -> list[str]:
    _verify(folder, {})
    (folder / "p.zip.sig").write_bytes(b"x" * (50 * _MB))
    return ["verify", "p.zip"]


def _signature_fifo(folder: Path) -> list[str]:
    _verify(folder, {})
    os.mkfifo(folder / "p.zip.minisig")
    return ["verify", "p.zip"]


def _run_edited(edit: Callable[[RunStore], None]) -> Callable[[Path], list[str]]:
    """Trials and summaries of the run changed."""

    def make(folder: Path) -> list[str]:
        run = folder / "run-1"
        for name, content in honest().items():
            if name.startswith(f"{RUN}/"):
                path = run / name.removeprefix(f"{RUN}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        edit(RunStore(run))
        names = (RunFile.TRIALS, RunFile.SUMMARY, RunFile.SUMMARY_CSV)
        changed = {f"{RUN}/{name}": (run / name).read_bytes() for name in names}
        shutil.rmtree(run)
        return _verify(folder, changed)

    return make


def _two_trials_less(run: RunStore) -> None:
    """Unwelcome trials deleted, and the summaries made from the others."""
    from sfcperf.analysis.summary import SummaryAnalysis

    path = run.folder / RunFile.TRIALS
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[2:]))
    SummaryAnalysis({}).analyse(run)


def _row_twice(run: RunStore) -> None:
    """A row with a welcome number, before the one that follows from the trials."""
    rows = run.summaries()
    run.write_summary([replace(rows[0], mean=1.5), *rows])


def _scenario_twice(folder: Path) -> list[str]:
    """A scenario with other levels before the measured one, wherever scenarios are a list."""
    changed = {}
    for name, key in (("run.json", "levels"), ("plan.json", "scenario")):
        document = json.loads(honest()[f"{RUN}/{name}"])
        first = document["scenarios"][0]
        other = {**first, key: {**first[key], "chain_length": 9}}
        document["scenarios"].insert(0, other)
        changed[f"{RUN}/{name}"] = json.dumps(document).encode()
    return _verify(folder, changed)


def _probe_twice(document: Any) -> None:
    first = document["probes"][0]
    document["probes"].insert(0, {**first, "probe": "another"})


def _crate_file(key: str, value: str) -> Callable[[Path], list[str]]:
    def edit(document: Any) -> None:
        (entity,) = (e for e in document["@graph"] if e["@id"] == f"{RUN}/trials.jsonl")
        entity[key] = value

    return _edited(CRATE, edit)


def _fails(name: str, make: Callable[[Path], list[str]], says: str, limit_s: float = 5) -> Attack:
    """A package whose checks do not all pass."""
    return Attack(name, make, says, exit_codes=(1,), limit_s=limit_s)


_RESOLVED: dict[str, Any] = {
    "null": None,
    "list": [],
    "number-of-functions": {"functions": 5},
    "function-null": {"functions": [None]},
    "vnfd-text": {"functions": [{"vnfd": "x"}]},
}

ATTACKS = [
    Attack("package-is-a-fifo", _fifo, says="not a regular file"),
    Attack("signature-of-50-mb", _large_signature, says="too large"),
    Attack("signature-is-a-fifo", _signature_fifo, says="not a regular file"),
    Attack(
        "package-json-of-240-mb",
        _with(PACKAGE, lambda: b"[" + b"[]," * (80 * _MB) + b"[]]"),
        says="too large",
        limit_s=10,
    ),
    Attack(
        "package-json-of-many-values",
        _with(PACKAGE, lambda: b"[" + b"[]," * (10 * _MB) + b"[]]"),
        says="values",
    ),
    _fails(
        "crate-of-240-mb",
        _with(CRATE, lambda: b"[" + b"{}," * (80 * _MB) + b"{}]"),
        "too large",
        10,
    ),
    _fails(
        "run-json-of-60-mb",
        _edited(f"{RUN}/run.json", lambda d: d.update(problems=["x" * 60 * _MB])),
        "too large",
    ),
    Attack(
        "run-json-of-one-text",
        _edited(f"{RUN}/run.json", lambda d: d.update(problems=["x" * 30 * _MB])),
        exit_codes=(0,),
    ),
    _fails(
        "run-json-of-wrong-items",
        _edited(f"{RUN}/run.json", lambda d: d.update(problems=[1] * 2 * _MB)),
        "values",
    ),
    _fails(
        "run-json-of-fewer-wrong-items",
        _edited(f"{RUN}/run.json", lambda d: d.update(scenarios=[1] * 900_000)),
        "scenarios",
    ),
    _fails(
        "workflow-of-many-probes",
        _edited(f"{RUN}/workflow.json", lambda d: d.update(probes=[{"probe": "ping"}] * 200_000)),
        "too large",
    ),
    _fails(
        "workflow-of-fewer-probes",
        _edited(f"{RUN}/workflow.json", lambda d: d.update(probes=[{"probe": "ping"}] * 40_000)),
        "probes",
    ),
    _fails(
        "trial-of-many-samples",
        _trial(lambda d: d.update(samples=d["samples"][:1] * 2 * _MB)),
        "trials.jsonl:1",
        10,
    ),
    _fails("round-of-1e18", _trial(lambda d: d.update(round=10**18)), "round"),
    _fails(
        "rounds-of-1e18",
        _edited(f"{RUN}/run.json", lambda d: d["design"].update(rounds=10**18)),
        "rounds",
    ),
    _fails(
        "telemetry-of-many-rows",
        _with(f"{RUN}/telemetry.parquet", lambda: _many_rows(TELEMETRY)),
        "rows",
    ),
    _fails("flows-of-many-rows", _with(f"{RUN}/flows.parquet", lambda: _many_rows(FLOWS)), "rows"),
    _fails("two-trials-less", _run_edited(_two_trials_less), "run.json/trials says"),
    _fails("summary-row-twice", _run_edited(_row_twice), "is 2 times in the summary"),
    _fails("scenario-twice", _scenario_twice, "plan.json/resolved"),
    _fails("probe-twice", _edited(f"{RUN}/run.json", _probe_twice), "scenarios (probes)"),
    _fails(
        "999-trials-claimed",
        _edited(PACKAGE, lambda d: d["runs"][0].update(trials={"valid": 999})),
        "999",
    ),
    _fails(
        "warnings-edited-away",
        _edited(f"{RUN}/run.json", lambda d: d.update(sfcperf_version="0.0.1")),
        "package.json/warnings does not say",
    ),
    _fails(
        "workflows-differ",
        _edited(f"{RUN}/workflow.json", lambda d: d.update(description="another")),
        "workflow.json/description",
    ),
    _fails(
        "plan-of-another-seed",
        _edited(f"{RUN}/plan.json", lambda d: d.update(seed=d["seed"] + 1)),
        "plan.json/seed",
    ),
    _fails("crate-of-another-hash", _crate_file("sha256", "0" * 64), "sha256 is not that"),
    _fails("crate-of-another-size", _crate_file("contentSize", "1"), "contentSize is not that"),
    Attack("package-json-key-twice", _doubled(PACKAGE, "title"), says="duplicate key 'title'"),
    *(
        _fails(f"{name}-key-twice", _doubled(f"{RUN}/{name}", key), f"duplicate key '{key}'")
        for name, key in (
            ("run.json", "status"),
            ("plan.json", "seed"),
            ("workflow.json", "name"),
            ("summary.json", "mean"),
            ("trials.jsonl", "status"),
        )
    ),
    _fails("crate-key-twice", _doubled(CRATE, "@graph"), "duplicate key '@graph'"),
    *(
        _fails(f"resolved-chain-{name}", _resolved(chain), "plan.json")
        for name, chain in _RESOLVED.items()
    ),
    _fails(
        "figure-name-with-a-newline",
        _edited(f"{RUN}/workflow.applied.json", lambda d: d["figures"][0].update(name="fig8b\n")),
        "workflow.applied.json",
    ),
    _fails(
        "verdict-edited",
        _claims((RunFile.CLAIMS, lambda d: d["claims"][1].update(verdict="agrees", low=1100.0))),
        "claim slow: verdict is",
    ),
    _fails(
        "claim-edited",
        _claims((RunFile.WORKFLOW_APPLIED, lambda d: d["claims"][1].update(above=100))),
        "workflow.json/claims is",
    ),
    _fails(
        "claim-edited-everywhere",
        _in_workflows(lambda claims: claims[1].update(above=100)),
        "claim slow: above is 1000, and 100 by the trials",
    ),
    _fails(
        "claim-of-a-level-that-is-not-there",
        _in_workflows(lambda claims: claims[0]["quantity"]["of"]["at"].update(chain_length=7)),
        "claim fast: verdict is",
    ),
    _fails("claim-without-a-test", _in_workflows(lambda c: c[0].update(quantity={})), "quantity"),
    _fails("claim-that-nothing-ends", _in_workflows(lambda c: c[1].pop("above")), "when it holds"),
    _fails(
        "claims-of-nan",
        _claims((RunFile.CLAIMS, lambda d: d["claims"][0].update(estimate=math.nan))),
        "claims.json",
    ),
    _fails(
        "claims-of-infinite-bounds",
        _in_workflows(lambda claims: claims[1].update(above=math.inf)),
        "workflow.applied.json",
    ),
    _fails(
        "too-many-claims",
        _in_workflows(
            lambda claims: claims.extend({**claims[0], "id": f"c{n}"} for n in range(200))
        ),
        "claims",
    ),
    _fails(
        "unwelcome-claims-left-out",
        _claims((RunFile.CLAIMS, lambda d: d.update(claims=d["claims"][:1]))),
        "its claims are",
    ),
    _fails(
        "trial-of-an-unknown-scenario",
        _trial(lambda d: d.update(scenario_id="s999", trial_id="r001-s999-" + d["label"])),
        "no scenario 's999'",
    ),
]
