"""Runs in a real Elasticsearch: every document exactly once, whatever breaks on the way."""

from __future__ import annotations

import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF
from support.network.http_proxy import Fault, Proxy, Request
from support.records.claimed_run import CLAIMS
from support.records.runs import RunOptions, build_run
from support.servers.elasticsearch import Server

from sfcperf.control import publishing
from sfcperf.elasticsearch import inventory, mappings, templates
from sfcperf.elasticsearch.documents import Documents
from sfcperf.elasticsearch.publication import send
from sfcperf.elasticsearch.target import target
from sfcperf.elasticsearch.verify import verify
from sfcperf.errors import EnvironmentLacks
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import PluginSpec

pytestmark = pytest.mark.server
RUN_ID = "20260131-120000-fig8-short-abc123"


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return build_run(tmp_path / RUN_ID, RunOptions(flows=True, claims=CLAIMS))


@pytest.fixture
def prefix() -> str:
    """Data streams of this test alone; they go with the server, whose small distribution cannot
    delete them."""
    return f"test-{uuid.uuid4().hex[:12]}"


def cli(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SFCPERF, *map(str, arguments)], capture_output=True, text=True)


def telemetry_is_there_once(server: Server, store: RunStore, prefix: str) -> None:
    """By the server's own count and by a comparison of ids, neither of which is the sender's."""
    with server.client() as client:
        for stream in mappings.STREAMS.values():
            name = mappings.data_stream(stream, prefix)
            expected = sorted(document.id for document in Documents(store).of(stream))
            client.indices.refresh(index=name)
            hits = [entry.id for entry in inventory.entries(client, name, store.run_id)]
            assert sorted(hits) == expected
            assert client.count(index=name)["count"] == len(expected)


def fields_are_mapped_and_can_be_asked_for(server: Server, store: RunStore, prefix: str) -> None:
    with server.client() as client:
        for stream in mappings.STREAMS.values():
            name = mappings.data_stream(stream, prefix)
            index = next(iter(client.indices.get_mapping(index=name).body.values()))
            mapped = dict(_leaves(index["mappings"]["properties"]))
            plain = {f.name: f.type for f in stream.fields if not f.is_pattern}
            dynamic = {n: t for n, t in mapped.items() if n.startswith(("factor.", "level."))}
            assert mapped == plain | dynamic
            assert dynamic == {} or dynamic == {
                "factor.topology": "keyword",
                "factor.chain_length": "keyword",
                "level.chain_length": "double",
            }
        answer = client.search(
            index=f"{prefix}-trials",
            size=0,
            query={"term": {"metric.name": "rtt_us"}},
            aggs={
                "by_length": {
                    "terms": {"field": "level.chain_length", "order": {"_key": "asc"}},
                    "aggs": {
                        "mean": {"avg": {"field": "metric.value"}},
                        "tail": {"percentiles": {"field": "metric.samples"}},
                    },
                }
            },
        )
    buckets = answer["aggregations"]["by_length"]["buckets"]
    assert [bucket["key"] for bucket in buckets] == [0.0, 1.0, 2.0]
    for bucket in buckets:
        values = [
            sum(s["value"] for s in record.samples if s["metric"] == "rtt_us") / 20
            for record in store.trials()
            if record.label == "ping" and record.scenario["chain_length"] == bucket["key"]
        ]
        assert bucket["mean"]["value"] == pytest.approx(sum(values) / len(values))


def test_a_run_is_sent_and_sent_again(elasticsearch: Server, store: RunStore, prefix: str) -> None:
    place = target([elasticsearch.url], prefix=prefix)
    first = send(store, place)
    assert {name: sent.new for name, sent in first.items()} == {
        f"{prefix}-runs": 1,
        f"{prefix}-trials": 143,
        f"{prefix}-summaries": 48,
        f"{prefix}-claims": len(CLAIMS),
        f"{prefix}-telemetry": 6120 + 47 * 2 * 11,
        f"{prefix}-flows": 47 * 2 * 4,
    }
    # After a rollover the server itself would take each id a second time.
    with elasticsearch.client() as client:
        for name in first:
            client.indices.rollover(alias=name)
    again = send(store, place)
    assert all(sent.new == sent.changed == 0 for sent in again.values())
    telemetry_is_there_once(elasticsearch, store, prefix)
    fields_are_mapped_and_can_be_asked_for(elasticsearch, store, prefix)
    # Two runs do not meet.
    other = build_run(store.folder.parent / "20260201-120000-other-abc124", RunOptions(rounds=1))
    send(other, place)
    assert all(found.good for run in (store, other) for found in verify(run, place))


@pytest.mark.exhaustive
def test_a_rollover_between_a_lost_answer_and_the_next_attempt(
    elasticsearch: Server, store: RunStore, prefix: str
) -> None:
    lost = []

    def lose(request: Request) -> Fault | None:
        if not (request.is_bulk and "telemetry" in request.path and not lost):
            return None
        lost.append(request.number)
        with elasticsearch.client() as client:
            client.indices.rollover(alias=f"{prefix}-telemetry")
        return "lost answer"

    with Proxy(elasticsearch.url, after=lose) as proxy:
        sent = send(store, target([proxy.url], prefix=prefix))
    assert lost
    assert sent[f"{prefix}-telemetry"].repeated >= 1
    assert sent[f"{prefix}-telemetry"].there == 1000  # the chunk whose answer was lost
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_documents_that_are_there_twice_are_mended(
    elasticsearch: Server, store: RunStore, prefix: str
) -> None:
    place = target([elasticsearch.url], prefix=prefix)
    send(store, place)
    document = next(Documents(store).of(mappings.TELEMETRY))
    with elasticsearch.client() as client:
        client.indices.rollover(alias=f"{prefix}-telemetry")
        client.create(index=f"{prefix}-telemetry", id=document.id, body=document.body)
    found = {one.stream: one for one in verify(store, place)}
    assert found[f"{prefix}-telemetry"].twice == (document.id,)
    send(store, place)
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_the_server_is_killed_in_the_middle(
    elasticsearch: Server, store: RunStore, prefix: str
) -> None:
    killed = threading.Event()

    def kill(request: Request) -> Fault | None:
        # What it had taken by then it must have kept, although nobody was told.
        late = request.is_bulk and "telemetry" in request.path and request.number > 3
        if not late or killed.is_set():
            return None
        elasticsearch.kill()
        killed.set()
        return "lost answer"

    with Proxy(elasticsearch.url, after=kill) as proxy, ThreadPoolExecutor(1) as pool:
        place = target([proxy.url], prefix=prefix)
        sending = pool.submit(send, store, place, retry_s=600)
        assert killed.wait(600)
        # From this thread: the server ends with the thread that started it.
        elasticsearch.start()
        sent = sending.result()
    assert sent[f"{prefix}-telemetry"].repeated >= 1
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_the_sender_is_killed_in_the_middle(
    elasticsearch: Server, store: RunStore, prefix: str, state_dir: Path
) -> None:
    senders: list[subprocess.Popen[bytes]] = []

    def kill(request: Request) -> Fault | None:
        if request.is_bulk and "telemetry" in request.path and request.number > 3 and senders:
            senders.pop().send_signal(signal.SIGKILL)
        return None

    with Proxy(elasticsearch.url, after=kill) as proxy:
        arguments = ["index", str(store.folder), "--url", proxy.url, "--prefix", prefix]
        process = subprocess.Popen([SFCPERF, *arguments])
        senders.append(process)
        assert process.wait() == -signal.SIGKILL
        missing = verify(store, target([elasticsearch.url], prefix=prefix))[-1].missing
        assert missing
        assert len(list((state_dir / "spool").glob("*.json"))) == 1
        done = cli("index", "--pending")
    assert done.returncode == 0, done.stderr
    assert "already there" in done.stdout
    assert list((state_dir / "spool").glob("*.json")) == []
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_a_busy_server_is_asked_again(elasticsearch: Server, store: RunStore, prefix: str) -> None:
    def busy(request: Request) -> Fault | None:
        return "too busy" if request.is_bulk and request.number % 3 == 1 else None

    with Proxy(elasticsearch.url, before=busy) as proxy:
        sent = send(store, target([proxy.url], prefix=prefix))
    assert sum(each.repeated for each in sent.values()) >= 3
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_a_new_analysis_replaces_summaries_where_they_are(
    elasticsearch: Server, store: RunStore, prefix: str
) -> None:
    from dataclasses import replace

    place = target([elasticsearch.url], prefix=prefix)
    send(store, place)
    before = store.summaries()
    store.write_summary([replace(before[0], mean=42.0), *before[1:-1]])
    with elasticsearch.client() as client:
        client.indices.rollover(alias=f"{prefix}-summaries")
        assert [found.good for found in verify(store, place)] == [True, True, False, True, True]
        sent = send(store, place)[f"{prefix}-summaries"]
        assert (sent.new, sent.changed, sent.there) == (0, 1, 46)
        found = client.search(index=f"{prefix}-summaries", query={"term": {"summary.mean": 42}})
        assert found["hits"]["total"]["value"] == 1
    telemetry_is_there_once(elasticsearch, store, prefix)


@pytest.mark.exhaustive
def test_verify_names_what_is_missing_and_extra(
    elasticsearch: Server, store: RunStore, prefix: str
) -> None:
    place = ("--url", elasticsearch.url, "--prefix", prefix)
    assert cli("index", store.folder, *place).returncode == 0
    good = cli("index", store.folder, *place, "--verify")
    assert (good.returncode, good.stdout.count("all there, once")) == (0, len(mappings.STREAMS))
    with elasticsearch.client() as client:
        entry = next(inventory.entries(client, f"{prefix}-trials", store.run_id))
        client.delete(index=entry.index, id=entry.id)
        # The count is right again; the documents are not.
        body = {"@timestamp": "2026-01-31T12:00:00Z", "run": {"id": store.run_id}}
        client.create(index=f"{prefix}-trials", id="intruder", document=body)
    bad = cli("index", store.folder, *place, "--verify")
    assert bad.returncode == 1
    assert "143 of 143: DIFFERS" in bad.stdout
    assert f"1 missing: {entry.id}" in bad.stdout
    assert "1 extra: intruder" in bad.stdout


def test_a_run_whose_server_is_away_is_not_failed_and_waits(
    elasticsearch: Server, store: RunStore, prefix: str, state_dir: Path
) -> None:
    def spec(url: str) -> PluginSpec:
        parameters = {"url": url, "prefix": prefix, "insecure": False, "patience_s": 0}
        return PluginSpec("elasticsearch", parameters)

    with Proxy("http://127.0.0.1:1") as proxy:
        # Nothing is behind it yet.
        problems = publishing.publish(store, [spec(proxy.url)])
        assert len(problems) == 1
        assert str(state_dir / "spool") in problems[0]
        assert "sfcperf index --pending" in problems[0]
        proxy.upstream = elasticsearch.url
        done = cli("index", "--pending")
    assert done.returncode == 0, done.stderr
    telemetry_is_there_once(elasticsearch, store, prefix)
    assert publishing.publish(store, [spec(elasticsearch.url)]) == []


def test_templates_are_ours_once_and_never_older(elasticsearch: Server, prefix: str) -> None:
    part = f"{prefix}-trials@sfcperf"
    with elasticsearch.client() as client:
        assert len(templates.install(client, prefix)) == 2 * len(mappings.STREAMS)
        assert templates.install(client, prefix) == []
        newer = {**templates.component_template(mappings.TRIALS), "version": mappings.VERSION + 1}
        client.cluster.put_component_template(name=part, body=newer)
        older = {**templates.index_template(mappings.RUNS, prefix), "version": 0}
        client.indices.put_index_template(name=f"{prefix}-runs", body=older)
        assert templates.install(client, prefix) == [f"{prefix}-runs"]
        found = client.cluster.get_component_template(name=part)["component_templates"][0]
        assert found["component_template"]["version"] == mappings.VERSION + 1
        foreign = {"template": {}, "_meta": {"managed_by": "somebody"}}
        client.cluster.put_component_template(name=part, body=foreign)
        with pytest.raises(EnvironmentLacks, match="not SFCPerf's"):
            templates.install(client, prefix)


def _leaves(properties: Mapping[str, Any], parent: str = "") -> Iterator[tuple[str, str]]:
    for name, mapping in properties.items():
        if "properties" in mapping:
            yield from _leaves(mapping["properties"], f"{parent}{name}.")
        elif mapping.get("type") != "object":
            yield f"{parent}{name}", mapping["type"]
