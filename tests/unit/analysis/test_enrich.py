"""tags.json: exact matches, told mismatches, and errors that name file and line."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mmdb_writer import MMDBWriter
from netaddr import IPSet
from support.records.plans import made_up_plan
from support.records.runs import build_run
from support.records.trials import run_folder, trial
from support.schemas import validator

from sfcperf.analysis.enrichment import EnrichAnalysis
from sfcperf.analysis.enrichment.table import read_table
from sfcperf.errors import InputError
from sfcperf.results.store import RunFile, RunStore

Match = dict[str, str]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return build_run(tmp_path / "run")


def enrich(store: RunStore, **parameters: Any) -> dict[str, Any]:
    EnrichAnalysis(parameters).analyse(store)
    document = store.document(RunFile.TAGS)
    assert not list(validator("tags").iter_errors(document))
    return document


def tags(document: dict[str, Any], id: str) -> dict[str, Any]:
    return {tag["tag"]: tag["value"] for tag in document["tags"] if tag["id"] == id}


def table(folder: Path, text: str, name: str = "table.csv") -> str:
    (folder / name).write_bytes(text.encode())
    return name


def database(folder: Path, ip_version: int = 4) -> str:
    writer = MMDBWriter(ip_version, "Test-City", ipv4_compatible=ip_version == 6)
    place = {"country": {"iso_code": "BR"}, "city": {"names": {"en": "Porto Alegre"}}, "asn": 64500}
    writer.insert_network(IPSet(["203.0.113.0/24"]), place)
    writer.insert_network(IPSet(["198.51.100.0/24"]), {"country": {"iso_code": "CA"}})
    writer.to_db_file(str(folder / "geo.mmdb"))
    return "geo.mmdb"


FIELDS = {"country": "country.iso_code", "city": "city.names.en", "asn": "asn"}


def test_rows_go_to_the_trials_of_their_level(store: RunStore, tmp_path: Path) -> None:
    file = table(tmp_path, "length,vendor,year\n0,none,\n1,ACME,2024\n9,nobody,1999\n")
    match = {"length": "factor_chain_length"}
    document = enrich(store, tables=[{"file": file, "match": match}])
    assert tags(document, "r001-s001-ping") == {"vendor": "ACME", "year": "2024"}
    # An empty cell is no tag.
    assert tags(document, "r001-s000-ping") == {"vendor": "none"}
    assert tags(document, "r001-s002-ping") == {}
    (told,) = document["files"]
    assert told["unmatched_rows"] == [{"line": 4, "key": {"length": "9"}}]
    assert told["unmatched_values"] == ["2"]
    assert told["matched"] == sum(r.scenario["chain_length"] < 2 for r in store.trials())
    assert told["sha256"] == hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()


def test_all_columns_of_a_key_must_match(store: RunStore, tmp_path: Path) -> None:
    file = table(tmp_path, "topology;probe;owner\nT1;ping;ana\nT3;ping;rui\n")
    match = {"topology": "factor_topology", "probe": "label"}
    document = enrich(store, tables=[{"file": file, "match": match, "delimiter": ";"}])
    assert tags(document, "r001-s000-ping") == {"owner": "ana"}
    assert tags(document, "r001-s003-ping") == {"owner": "rui"}
    assert tags(document, "r001-s000-httperf") == {}


def test_levels_are_compared_as_json_writes_them(tmp_path: Path) -> None:
    levels: list[Any] = [True, 1, 1.5, "True", " x "]
    records = [
        trial(number, scenario={"knob": level}) for number, level in enumerate(levels, start=1)
    ]
    store = run_folder(tmp_path / "run", records)
    file = table(tmp_path, "k,t\ntrue,a\n1,b\n1.5,c\nTrue,d\nx,e\n")
    document = enrich(store, tables=[{"file": file, "match": {"k": "factor_knob"}}])
    found = [tags(document, record.trial_id).get("t") for record in records]
    assert found == ["a", "b", "c", "d", None]


def test_chosen_columns_a_prefix_and_sources_of_telemetry(store: RunStore, tmp_path: Path) -> None:
    file = table(tmp_path, "\ufefflabel,a,b\nping,1,2\nfwd-1,3,4\n")
    entry = {"file": file, "match": {"label": "label"}, "tags": ["b"], "prefix": "lab_"}
    sources = {"file": file, "match": {"label": "source"}, "tags": ["a"]}
    document = enrich(store, tables=[entry, sources])
    assert tags(document, "r001-s000-ping") == {"lab_b": "2"}
    assert tags(document, "fwd-1") == {"a": "3"}
    assert {t["subject"] for t in document["tags"] if t["id"] == "fwd-1"} == {"source"}


def addressed(tmp_path: Path, *addresses: str | None) -> RunStore:
    records = [
        trial(number, notes={"peer": {"address": address}} if address else {})
        for number, address in enumerate(addresses, start=1)
    ]
    return run_folder(tmp_path / "run", records)


def test_addresses_get_their_place(tmp_path: Path) -> None:
    store = addressed(tmp_path, "203.0.113.9", "198.51.100.1", "10.0.0.1", "fe80::1", "host", None)
    entry = {"file": database(tmp_path), "addresses": "notes.peer.address", "fields": FIELDS}
    document = enrich(store, databases=[entry])
    assert tags(document, "r001-s000-ping") == {
        "country": "BR",
        "city": "Porto Alegre",
        "asn": 64500,
    }
    assert tags(document, "r002-s000-ping") == {"country": "CA"}
    (told,) = document["files"]
    assert (told["matched"], told["without"]) == (2, 1)
    assert told["unmatched_values"] == [
        "10.0.0.1: not in the database",
        "fe80::1: the database has IPv4 addresses only",
        "host: not an IP address",
    ]


def test_the_endpoints_addresses_are_those_of_the_workflow(tmp_path: Path) -> None:
    store = addressed(tmp_path, None, None)
    store.write_plan(made_up_plan(addresses={"server": "203.0.113.7"}))
    geo = database(tmp_path, ip_version=6)
    server = {"file": geo, "addresses": "server", "fields": {"country": "country.iso_code"}}
    client = {"file": geo, "addresses": "client", "fields": {"from": "country.iso_code"}}
    document = enrich(store, databases=[server, client])
    assert tags(document, "r001-s000-ping") == {"country": "BR"}
    assert [told["without"] for told in document["files"]] == [0, 2]


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", None, "empty"),
        (b"level,a\n1,2\n", 1, "no column 'length'"),
        (b"length,length\n1,2\n", 1, "two columns"),
        (b"length,a\n1,x\n\n2,x,y\n", 4, "3 cells"),
        (b"length,a\n1,x\n2,y\n1,z\n", 4, "duplicate of line 2"),
        (b"length,a\n1,x\n2,\xff\n", 3, "UTF-8"),
        (b'length,a\n1,"x\n', 2, "CSV"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(
    store: RunStore, tmp_path: Path, content: bytes, line: int | None, words: str
) -> None:
    (tmp_path / "table.csv").write_bytes(content)
    entry = {"file": "table.csv", "match": {"length": "factor_chain_length"}}
    with pytest.raises(InputError) as caught:
        EnrichAnalysis({"tables": [entry]}).analyse(store)
    assert words in caught.value.message
    path = str(store.workflow()[1] / "table.csv")
    assert caught.value.where == (path if line is None else f"{path}:{line}")
    assert store.document(RunFile.TAGS) is None


def test_other_wrong_input_is_refused(store: RunStore, tmp_path: Path) -> None:
    file = table(tmp_path, "k,country\n1,x\n")
    geo = database(tmp_path)
    (tmp_path / "not.mmdb").write_bytes(b"k,t\n" * 100)
    here = {"file": file, "match": {"k": "label"}}
    place = {"file": geo, "addresses": "server", "fields": {"country": "country.iso_code"}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"tables": [{**here, "file": "absent.csv"}]}, "cannot be read"),
        ({"tables": [{**here, "file": "."}]}, "a folder"),
        ({"tables": [{**here, "match": {"k": "factor_lenght"}}]}, "no column 'factor_lenght'"),
        ({"tables": [{**here, "match": {"k": "source", "country": "label"}}]}, "source"),
        ({"databases": [{**place, "file": "not.mmdb"}]}, "not a MaxMind database"),
        ({"databases": [{**place, "file": "absent.mmdb"}]}, "cannot be read"),
        ({"tables": [here], "databases": [place]}, "the tag 'country' is also given"),
    ]
    for parameters, words in cases:
        with pytest.raises(InputError) as caught:
            EnrichAnalysis(parameters).analyse(store)
        assert words in caught.value.message, parameters
        assert caught.value.where


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@given(st.dictionaries(cells.map(str.strip).filter(bool), cells.map(str.strip), max_size=8))
def test_any_table_that_pythons_writer_makes_is_read(rows: dict[str, str]) -> None:
    from tempfile import TemporaryDirectory

    text = io.StringIO(newline="")
    csv.writer(text).writerows([("key", "tag"), *rows.items()])
    with TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
        read = read_table(Path(folder), "t.csv", {"key": "label"})
    found = {key: row.tags.get("tag", "") for (key,), row in read.rows.items()}
    assert found == rows
