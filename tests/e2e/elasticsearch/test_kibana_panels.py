"""What every panel of the dashboards asks of Elasticsearch is asked of a real one, and the answers
are the run's own numbers. Kibana is not there: tests/support/servers/lens.py asks in its place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from statistics import fmean
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from support.records.claimed_run import CLAIMS
from support.records.runs import RunOptions, build_run
from support.servers import lens
from support.servers.elasticsearch import Server
from support.servers.kibana import parse, used_fields

from sfcperf.elasticsearch.mappings import STREAMS
from sfcperf.elasticsearch.publication import send
from sfcperf.elasticsearch.target import target
from sfcperf.kibana import ndjson, saved_objects
from sfcperf.kibana.data_views import data_view_id
from sfcperf.results.flows import FLOWS
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import TELEMETRY
from sfcperf.results.values import Observation

pytestmark = pytest.mark.server

PREFIX = "kibana-panels"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """A run; its first trial has what monitors of interfaces observe as well."""
    options = RunOptions(flows=True, claims=CLAIMS)
    store = build_run(tmp_path_factory.mktemp("kibana") / "run", options)
    first = store.trials()[0]
    begin_ns = int(datetime.fromisoformat(first.started_at).timestamp()) * 1_000_000_000
    store.write_trial_telemetry(
        first,
        [
            Observation(begin_ns + at * 10**8, hop, metric, unit, 10.0 * at)
            for at in range(5)
            for hop in ("fwd-1", "fwd-2")
            for metric, unit in (("rx_pps", "1/s"), ("rx_bps", "bit/s"), ("cpu_cores", "1"))
        ],
    )
    store.merge_telemetry()
    return store


@pytest.fixture(scope="module")
def client(elasticsearch_server: Server, run: RunStore) -> Iterator[Elasticsearch]:
    """Of a server that has the run. No test of this module kills it."""
    if not elasticsearch_server.is_alive:
        elasticsearch_server.start()
    send(run, target([elasticsearch_server.url], prefix=PREFIX))
    with elasticsearch_server.client() as client:
        client.indices.refresh(index=f"{PREFIX}-*")
        yield client


def boards() -> list[dict[str, Any]]:
    objects, _ = parse(ndjson(saved_objects(PREFIX)))
    return [one for one in objects if one["type"] == "dashboard"]


def panels(board: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [p for p in json.loads(board["attributes"]["panelsJSON"]) if p["type"] == kind]


def ask(
    client: Elasticsearch, board: Mapping[str, Any], panel: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Layer, answer) of a Lens panel."""
    state = panel["embeddableConfig"]["attributes"]["state"]
    ((name, layer),) = state["datasourceStates"]["formBased"]["layers"].items()
    wanted = f"{panel['panelIndex']}:indexpattern-datasource-layer-{name}"
    (view,) = {r["id"] for r in board["references"] if r["name"] == wanted}
    index = {data_view_id(stream, PREFIX): f"{PREFIX}-{stream}" for stream in STREAMS}[view]
    answer = client.search(index=index, body=lens.search(layer, state["query"]["query"]))
    return layer, dict(answer)


def table(client: Elasticsearch, title: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows of the first table with this title: groups -> label -> value."""
    board, panel = next((b, p) for b in boards() for p in panels(b, "lens") if p["title"] == title)
    layer, answer = ask(client, board, panel)
    shown = {n: c for n, c in layer["columns"].items() if not c["isBucketed"]}
    return {
        keys: {c["label"]: lens.last_value(b, n, c["sourceField"]) for n, c in shown.items()}
        for keys, b in lens.leaves(answer["aggregations"], layer)
    }


def test_every_panel_gets_an_answer(client: Elasticsearch):
    empty = []
    for board in boards():
        for panel in panels(board, "lens"):
            _, answer = ask(client, board, panel)
            if not answer["hits"]["total"]["value"]:
                empty.append(panel["title"])
    assert not empty, "the run has trials of every status and all series"


def test_controls_offer_values(client: Elasticsearch):
    for board in boards():
        for used in used_fields(board):
            if used.how == "control" and used.field != "factor.variant":
                found = client.search(
                    index=f"{PREFIX}-*",
                    size=0,
                    aggs={"values": {"terms": {"field": used.field, "size": 100}}},
                )
                assert found["aggregations"]["values"]["buckets"], used


def test_the_table_of_numbers_is_the_summary(client: Elasticsearch, run: RunStore):
    rows = table(client, "All results")
    expected = {}
    for row in run.summaries():
        if row.primary:
            label = " ".join(f"{name}={level}" for name, level in row.scenario.items())
            expected[run.run_id, label, row.label, row.metric, row.unit] = row
    assert rows.keys() == expected.keys()
    for keys, values in rows.items():
        row = expected[keys]
        shown = [row.median, row.median_ci_low, row.median_ci_high]
        shown += [row.mean, row.ci_low, row.ci_high]
        columns = ["median", "interval from", "to", "mean", "mean's interval from"]
        assert [values[name] for name in [*columns, "mean's interval to"]] == [
            None if one is None else pytest.approx(one) for one in shown
        ]
        assert values["centre"] == row.centre
        assert values["trials"] == row.n
        assert values["all valid"] == row.valid


def test_the_table_of_claims_has_the_verdicts(client: Elasticsearch, run: RunStore):
    document = run.document(RunFile.CLAIMS)
    assert document is not None
    rows = table(client, "Claims")
    expected = {(row["id"], run.run_id, row["verdict"]): row for row in document["claims"]}
    assert rows.keys() == expected.keys()
    for keys, row in expected.items():
        shown = {"text": "text", "rounds": "rounds", "measured": "estimate", "interval from": "low"}
        assert {name: rows[keys][name] for name in shown} == {
            name: row[key] for name, key in shown.items()
        }


def test_counts_are_those_of_the_trials(client: Elasticsearch, run: RunStore):
    (board,) = (b for b in boards() if "by scenario" in b["attributes"]["title"])
    for status in ("valid", "untrusted", "failed"):
        (panel,) = (p for p in panels(board, "lens") if p["title"] == f"{status} trials")
        _, answer = ask(client, board, panel)
        expected = sum(record.status == status for record in run.trials())
        assert answer["hits"]["total"]["value"] == expected > 0
    rows = table(client, "Excluded trials")
    assert {(keys[1], keys[2]) for keys in rows} == {
        (record.trial_id, record.status) for record in run.trials() if record.status != "valid"
    }


def test_the_table_of_flows_is_that_of_valid_trials(client: Elasticsearch, run: RunStore):
    (board,) = (b for b in boards() if "heavy hitters" in b["attributes"]["title"])
    (panel,) = (p for p in panels(board, "lens") if p["title"] == "Largest flows")
    layer, answer = ask(client, board, panel)
    valid = {record.trial_id for record in run.trials() if record.status == "valid"}
    expected: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in FLOWS.read(run.flows_path).to_pylist():
        if row["trial_id"] in valid and row["source_port"] == 40000:
            expected[row["scenario"], row["certainty"]].append(row["packets"])
    labels = {c["label"]: name for name, c in layer["columns"].items()}
    found = list(lens.leaves(answer["aggregations"], layer))
    sums = [
        (bucket[labels["packets"]]["value"], bucket["doc_count"])
        for keys, bucket in found
        if keys[0] == "[fd00::1]:40000 > [fd00::2]:80 tcp"
    ]
    assert sorted(sums) == sorted((sum(parts), len(parts)) for parts in expected.values())
    flows = [keys[0] for keys, _ in found]
    # The one with the most packets over all trials comes first.
    assert flows[0] == "[fd00::1]:40000 > [fd00::2]:80 tcp"


def test_lines_over_time_are_means_of_the_telemetry(client: Elasticsearch, run: RunStore):
    expected = defaultdict(list)
    for row in TELEMETRY.read(run.telemetry_path).to_pylist():
        expected[row["metric"], row["source"]].append(row["value"])
    (board,) = (b for b in boards() if "telemetry" in b["attributes"]["title"])
    checked = 0
    for panel in panels(board, "lens"):
        state = panel["embeddableConfig"]["attributes"]["state"]
        metric = next((m for m, _ in expected if f'"{m}"' in state["query"]["query"]), None)
        if metric is None or "elapsed" in json.dumps(state):
            continue
        layer, answer = ask(client, board, panel)
        sums: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for (source, _), bucket in lens.leaves(answer["aggregations"], layer):
            sums[source].append((bucket["y"]["value"], bucket["doc_count"]))
        for source, parts in sums.items():
            mean = sum(m * n for m, n in parts) / sum(n for _, n in parts)
            assert mean == pytest.approx(fmean(expected[metric, source]))
            checked += 1
    assert checked > 3


def test_intervals_are_drawn_from_the_rows_of_their_metric(client: Elasticsearch, run: RunStore):
    checked = 0
    for board in boards():
        for panel in panels(board, "visualization"):
            spec = json.loads(panel["embeddableConfig"]["savedVis"]["params"]["spec"])
            index, body = lens.vega_search(spec)
            hits = client.search(index=index, body=body)["hits"]["hits"]
            rows = [r for r in run.summaries() if f"{r.metric} against" in panel["title"]]
            assert {
                (h["_source"]["scenario"]["id"], h["_source"]["probe"]["label"]) for h in hits
            } == {(r.scenario_id, r.label) for r in rows}
            checked += bool(rows)
    assert checked >= 2


def test_the_runs_say_what_they_differ_in(client: Elasticsearch, run: RunStore):
    manifest = run.manifest()
    ((keys, values),) = table(client, "Runs and their environments").items()
    assert keys == (manifest["name"], run.run_id)
    assert values["kernel"] == manifest["host"]["kernel"]["release"]
    assert values["valid"] == manifest["trials"]["valid"]
