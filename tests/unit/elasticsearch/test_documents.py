"""Documents: the same from the same folder, complete, and of mapped fields only."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.claimed_run import CLAIMS, claimed_run
from support.records.runs import RunOptions, build_run
from support.records.trials import trial

from sfcperf.elasticsearch import mappings, trial_rows
from sfcperf.elasticsearch.documents import Documents, document_id
from sfcperf.elasticsearch.levels import field_name, label
from sfcperf.errors import InputError
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY
from sfcperf.results.values import Observation

STREAMS = list(mappings.STREAMS.values())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    folder = tmp_path_factory.mktemp("results") / "20260131-120000-fig8-short-abc123"
    return build_run(folder, RunOptions(flows=True, claims=CLAIMS))


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_documents_of_a_stream(store: RunStore, stream: mappings.Stream, tmp_path: Path) -> None:
    """They are counted, have ids of their own and a time, and the mapped fields; a moved folder
    gives the same."""
    documents = list(Documents(store).of(stream))
    assert len({document.id for document in documents}) == len(documents) > 0
    assert Documents(store).count(stream) == len(documents)
    flattened = {field.name for field in stream.fields if field.type == "flattened"}
    known = {field.name for field in stream.fields}
    found = set()
    for document in documents:
        content = json.loads(document.body)
        datetime.fromisoformat(content["@timestamp"][:26] + "+00:00")
        found |= set(_names(content, flattened))
    strange = {n for n in found - known if f"{n.rpartition('.')[0]}.*" not in known}
    assert (strange, {f.name for f in stream.fields if not f.is_pattern} - found) == (set(), set())
    moved = RunStore.open(Path(shutil.copytree(store.folder, tmp_path / "moved")))
    assert list(Documents(moved).of(stream)) == documents


def test_trials_are_all_there_with_their_means(store: RunStore) -> None:
    rows = [json.loads(d.body) for d in Documents(store).of(mappings.TRIALS)]
    first = [row["trial"]["id"] for row in rows if row["trial"]["first"]]
    assert first == [record.trial_id for record in store.trials()]
    failed = [row for row in rows if row["trial"]["status"] == "failed"]
    assert [("metric" in row, row["trial"]["first"]) for row in failed] == [(False, True)]
    for record in store.trials():
        for row in rows:
            if row["trial"]["id"] == record.trial_id and "metric" in row:
                name = row["metric"]["name"]
                values = [s["value"] for s in record.samples if s["metric"] == name]
                assert row["metric"]["samples"] == values
                assert row["metric"]["value"] == pytest.approx(sum(values) / len(values))


def test_telemetry_is_what_the_parquet_file_has(store: RunStore) -> None:
    rows = [json.loads(d.body) for d in Documents(store).of(mappings.TELEMETRY)]
    table = pyarrow.parquet.read_table(store.telemetry_path).to_pylist()
    starts = {r.trial_id: datetime.fromisoformat(r.started_at) for r in store.trials()}
    assert len(rows) == len(table)
    for row, kept in zip(rows, table, strict=True):
        assert row["trial"]["id"] == kept["trial_id"]
        assert row["telemetry"]["source"] == kept["source"]
        metric = {"name": kept["metric"], "unit": kept["unit"], "value": kept["value"]}
        assert row["metric"] == metric
        whole, nanoseconds = row["@timestamp"].rstrip("Z").split(".")
        seconds = int(datetime.fromisoformat(whole).replace(tzinfo=UTC).timestamp())
        assert seconds * 10**9 + int(nanoseconds) == kept["time_ns"]
        elapsed = kept["time_ns"] / 1e9 - starts[kept["trial_id"]].timestamp()
        assert row["telemetry"]["elapsed_s"] == pytest.approx(elapsed, abs=1e-5)


def test_what_is_sent_keeps_its_id_when_a_run_goes_on(tmp_path: Path) -> None:
    store = build_run(tmp_path / "20260131-120000-part-abc123", RunOptions(trials=5))
    before = [document.id for document in Documents(store).of(mappings.TELEMETRY)]
    whole = build_run(tmp_path / "whole" / "20260131-120000-part-abc123")
    after = [document.id for document in Documents(whole).of(mappings.TELEMETRY)]
    assert after[: len(before)] == before


def test_a_change_of_content_changes_the_hash_and_not_the_id(tmp_path: Path) -> None:
    store = build_run(tmp_path / "20260131-120000-a-abc123", RunOptions(rounds=1))
    before = next(Documents(store).of(mappings.RUNS))
    store.write_manifest({**store.manifest(), "status": "interrupted"})
    after = next(Documents(store).of(mappings.RUNS))
    assert (before.id == after.id, before.hash == after.hash) == (True, False)
    # What changes while a run is published is no change of the document.
    store.write_manifest({**store.manifest(), "state": "publishing", "phases": {"publishing": 1}})
    assert next(Documents(store).of(mappings.RUNS)) == after


def test_the_hash_is_that_of_the_rest(store: RunStore) -> None:
    for document in Documents(store).of(mappings.SUMMARIES):
        content = json.loads(document.body)
        del content["document"]
        text = json.dumps(content, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == document.hash


def test_claims_have_their_verdicts(tmp_path: Path) -> None:
    store = claimed_run(tmp_path / "run")
    rows = [json.loads(d.body)["claim"] for d in Documents(store).of(mappings.CLAIMS)]
    document = store.document(RunFile.CLAIMS)
    assert document is not None
    for row, kept in zip(rows, document["claims"], strict=True):
        assert kept.items() <= {**row, "published": kept["published"]}.items()
        published = row["published"] if row["published_text"] is None else row["published_text"]
        assert (published, row["confidence"]) == (kept["published"], 0.95)
    assert {type(row["published"]) for row in rows} == {int, type(None)}
    # The same claim of another verdict replaces the document.
    before = list(Documents(store).of(mappings.CLAIMS))
    other = [{**row, "verdict": "undecided"} for row in document["claims"]]
    store.write_document(RunFile.CLAIMS, {**document, "claims": other})
    after = list(Documents(store).of(mappings.CLAIMS))
    assert [d.id for d in after] == [d.id for d in before]
    assert after[0].hash != before[0].hash


def test_flows_are_what_the_parquet_file_has(store: RunStore) -> None:
    rows = [json.loads(d.body) for d in Documents(store).of(mappings.FLOWS)]
    table = pyarrow.parquet.read_table(store.flows_path).to_pylist()
    assert len(rows) == len(table) == 47 * 2 * 4
    for row, kept in zip(rows, table, strict=True):
        flow = row["flow"]
        assert row["trial"]["id"] == kept["trial_id"]
        assert datetime.fromisoformat(row["@timestamp"][:26] + "+00:00").timestamp() == (
            pytest.approx(kept["window_end_ns"] / 1e9)
        )
        assert flow["window_s"] == (kept["window_end_ns"] - kept["window_start_ns"]) / 1e9
        for name in ("function", "spi", "si", "packets", "bytes", "certainty"):
            assert flow[name] == kept[name]
        assert row["source"] == {"ip": kept["source_address"], "port": kept["source_port"]}
        assert row["destination"]["ip"] == kept["destination_address"]
        assert row["destination"]["port"] == kept["destination_port"]
        assert row["network"]["iana_number"] == kept["protocol"]
    assert {row["flow"]["name"] for row in rows} > {
        "10.0.0.1:40004 > 10.0.0.2:5201 udp",
        "[fd00::1]:40000 > [fd00::2]:80 tcp",
        "10.0.0.1 > 10.0.0.2 icmp",
        "10.0.0.1 > *",
    }


def test_telemetry_of_an_unknown_trial_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.parquet"
    TELEMETRY.write(path, trial(1), [Observation(1, "a", "b", "1", 1.0)])
    with pytest.raises(InputError, match=r"not in trials\.jsonl"):
        list(trial_rows.rows(trial_rows.TELEMETRY, path, {}, _nothing))
    path.write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="damaged"):
        list(trial_rows.rows(trial_rows.TELEMETRY, path, {}, _nothing))


@given(
    source=st.text(st.characters(exclude_categories=["Cs"])),
    at_ns=st.integers(0, 2**62),
    value=st.floats(),
)
def test_any_observation_becomes_json(
    tmp_path_factory: pytest.TempPathFactory, source: str, at_ns: int, value: float
) -> None:
    path = tmp_path_factory.mktemp("rows") / "telemetry.parquet"
    record = trial(1)
    TELEMETRY.write(path, record, [Observation(at_ns, source, "m", "1", value)])
    rows = trial_rows.rows(
        trial_rows.TELEMETRY, path, {record.trial_id: record}, lambda _: {"run": {"id": "r"}}
    )
    [(trial_id, number, body)] = rows
    found = json.loads(body, parse_constant=pytest.fail)
    assert (trial_id, number) == (record.trial_id, 0)
    assert found["telemetry"]["source"] == source
    assert found["metric"]["value"] == (value if abs(value) <= 1e308 else None)
    assert found["run"] == {"id": "r"}


@given(st.lists(st.text(st.characters(exclude_characters="\0")), min_size=2, max_size=2))
def test_keys_do_not_run_into_one_another(parts: list[str]) -> None:
    whole = document_id("run", mappings.TRIALS, ("".join(parts),))
    assert document_id("run", mappings.TRIALS, tuple(parts)) != whole
    assert len(whole) == 43


def test_levels() -> None:
    assert label({}) == "all"
    assert label({"chain_length": 2, "topology": "T1", "on": True}) == (
        "chain_length=2 topology=T1 on=true"
    )
    assert field_name("vnf.memory") == "vnf_memory"


def _nothing(_record: TrialRecord) -> dict[str, Any]:
    return {}


def _names(value: Mapping[str, Any], flattened: set[str], parent: str = "") -> Iterator[str]:
    for key, inner in value.items():
        name = f"{parent}{key}"
        if isinstance(inner, Mapping) and name not in flattened:
            yield from _names(inner, flattened, f"{name}.")
        else:
            yield name
