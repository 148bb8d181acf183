"""Schemas of a run folder: valid themselves, described throughout, and true of what is written."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.records.trials import RTT, run_folder, trial
from support.schemas import properties, validator

from sfcperf.analysis.summary import SummaryAnalysis
from sfcperf.results.records import Summary, TrialRecord
from sfcperf.results.values import Observation

NAMES = (
    "trial",
    "summary",
    "run",
    "telemetry",
    "flows",
    "comparison",
    "gate",
    "attribution",
    "search",
)


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_one_and_describes_every_property(name: str) -> None:
    schema = validator(name).schema
    Draft202012Validator.check_schema(schema)
    assert [where for where, value in properties(schema) if not value.get("description")] == []


def test_schemas_name_every_attribute_of_the_records() -> None:
    attributes = {field.name for field in fields(TrialRecord)}
    assert validator("trial").schema["properties"].keys() == attributes | {"schema_version"}
    row = validator("summary").schema["properties"]["summaries"]["items"]
    assert row["properties"].keys() == {field.name for field in fields(Summary)}


def test_what_is_written_is_as_the_schemas_say(tmp_path: Path) -> None:
    import pyarrow.parquet

    trials = [
        trial(1),
        trial(2, status="untrusted"),
        trial(3, values=[], status="failed", attempts=3),
        trial(1, "s001", scenario={"topology": "T1", "on": True}),
    ]
    probes = [{"probe": "ping", "label": "ping", "scenarios": ["s000"], "metrics": [RTT]}]
    store = run_folder(tmp_path / "run", trials, probes=probes)
    store.write_trial_telemetry(trial(1), [Observation(10**18, "fwd-1", "cpu_ratio", "1", 0.5)])
    store.merge_telemetry()
    SummaryAnalysis({}).analyse(store)
    for line in (store.folder / "trials.jsonl").read_text().splitlines():
        validator("trial").validate(json.loads(line))
    validator("summary").validate(json.loads((store.folder / "summary.json").read_text()))
    table = pyarrow.parquet.read_table(store.telemetry_path)
    assert table.schema.metadata[b"schema_version"] == b"1"
    for row in table.to_pylist():
        validator("telemetry").validate(row)
        assert row.keys() == validator("telemetry").schema["properties"].keys()


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"status": "failed"},
        {"reasons": ["valid trials have none"]},
        {"trial_id": "r001-s000-../x"},
        {"colour": "green"},
        {"samples": [{"metric": "rtt_us", "unit": "us", "value": "1"}]},
        {"started_at": "yesterday", "ended_at": 3},
    ],
)
def test_the_trial_schema_refuses(tmp_path: Path, change: dict[str, Any]) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    row = json.loads((store.folder / "trials.jsonl").read_text())
    assert validator("trial").is_valid(row)
    assert not validator("trial").is_valid(row | change)
