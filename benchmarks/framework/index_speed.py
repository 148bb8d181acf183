"""Rate of `sfcperf index` against that of the bare bulk helper, into the same real server.

100,000 telemetry documents; both ways take turns, so that a machine that gets slower or faster
meanwhile does so for both. The helper gets the same documents, made beforehand, and sends them into
a data stream of the same template.

make servers; .venv/bin/python benchmarks/framework/index_speed.py
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _runner import Benchmark, Budget, Row, Run, Skipped
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
BARE, OURS = "parallel_bulk", "sfcperf index"


def rates(run: Run) -> Iterator[Row]:
    """Both ways, after one of each that does not count."""
    home = installed()
    if home is None:
        raise Skipped("the Elasticsearch server is not there: make servers")
    prefix = map("n{}".format, count())
    with tempfile.TemporaryDirectory() as folder, Server(home) as server:
        store = _run(Path(folder) / "20260131-120000-speed-abc123")
        actions = [
            {"_op_type": "create", "_id": document.id, **json.loads(document.body)}
            for document in Documents(store).of(mappings.TELEMETRY)
        ]
        assert len(actions) == DOCUMENTS
        with server.client() as client:
            sides = {
                BARE: lambda: DOCUMENTS / _bare_s(client, actions, next(prefix)),
                OURS: lambda: DOCUMENTS / _ours_s(client, server, store, next(prefix)),
            }
            found = run.in_turn(sides, warm_up=True)
    yield Row(OURS, found[OURS], "documents/s", BARE, found[BARE], Budget(low=0.5, of="ratio"))


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
    Benchmark(__doc__, {rates: 3}).main()
