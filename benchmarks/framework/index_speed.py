"""Rate of `sfcperf index` against that of the bare bulk helper, into the same real server.

100,000 telemetry documents; both ways take turns, so that a machine that gets slower or faster
meanwhile does so for both. The helper gets the same documents, made beforehand, and sends them into
a data stream of the same template. Goal: at least half of its rate.

make servers; .venv/bin/python benchmarks/framework/index_speed.py [REPETITIONS]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from elasticsearch import Elasticsearch
from elasticsearch.helpers import parallel_bulk
from support.records.runs import RunOptions, build_run
from support.servers.elasticsearch import Server, installed

from sfcperf.elasticsearch import mappings, templates
from sfcperf.elasticsearch.documents import Documents
from sfcperf.elasticsearch.publication import send
from sfcperf.elasticsearch.target import target
from sfcperf.results.store import RunStore
from sfcperf.results.values import Observation

DOCUMENTS = 100_000
GOAL = 0.5


def main() -> int:
    home = installed()
    if home is None:
        print("the Elasticsearch server is not there: make servers", file=sys.stderr)
        return 3
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder, Server(home) as server:
        store = _run(Path(folder) / "20260131-120000-speed-abc123")
        actions = [
            {"_op_type": "create", "_id": document.id, **json.loads(document.body)}
            for document in Documents(store).of(mappings.TELEMETRY)
        ]
        assert len(actions) == DOCUMENTS
        with server.client() as client:
            _bare_s(client, actions, "warm-up-bare")
            _ours_s(client, server, store, "warm-up-ours")
            bare, ours = [], []
            for number in range(repetitions):
                bare.append(DOCUMENTS / _bare_s(client, actions, f"bare{number}"))
                ours.append(DOCUMENTS / _ours_s(client, server, store, f"ours{number}"))
                print(f"bare {bare[-1]:,.0f}/s, ours {ours[-1]:,.0f}/s", flush=True)
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"parallel_bulk: {statistics.median(bare):,.0f} documents/s (median of {repetitions})")
    print(f"sfcperf index: {statistics.median(ours):,.0f} documents/s")
    print(f"ratio: {ratio:.2f} (goal: at least {GOAL})")
    return 0 if ratio >= GOAL else 1


def _bare_s(client: Elasticsearch, actions: list[dict[str, Any]], prefix: str) -> float:
    """Seconds until the helper has sent all, and the server shows all."""
    templates.install(client, prefix)
    name = mappings.data_stream(mappings.TELEMETRY, prefix)
    begin = time.perf_counter()
    deque(parallel_bulk(client, actions, index=name), maxlen=0)
    client.indices.refresh(index=name)
    taken = time.perf_counter() - begin
    return _checked(client, prefix, taken)


def _ours_s(client: Elasticsearch, server: Server, store: RunStore, prefix: str) -> float:
    """Seconds for everything: run folder to documents, templates, other streams, last look."""
    begin = time.perf_counter()
    send(store, target([server.url], prefix=prefix))
    taken = time.perf_counter() - begin
    return _checked(client, prefix, taken)


def _checked(client: Elasticsearch, prefix: str, taken: float) -> float:
    name = mappings.data_stream(mappings.TELEMETRY, prefix)
    assert client.count(index=name)["count"] == DOCUMENTS
    return taken


def _run(folder: Path) -> RunStore:
    """A run with a few trials and much telemetry."""
    store = build_run(folder, RunOptions(rounds=1, telemetry=False))
    records = store.trials()
    each, rest = divmod(DOCUMENTS, len(records))
    for number, record in enumerate(records):
        rows = each + (rest if number == 0 else 0)
        begin_ns = 1_750_000_000_000_000_000 + number * 10**12
        store.write_trial_telemetry(
            record,
            [
                Observation(
                    begin_ns + row * 10**7, f"fwd-{row % 9}", "cpu_cores", "1", 0.3 + row * 1e-6
                )
                for row in range(rows)
            ],
        )
    store.merge_telemetry()
    return store


if __name__ == "__main__":
    sys.exit(main())
