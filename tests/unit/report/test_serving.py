"""The report over HTTP: what is served, and what is not."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from support.network.answering import answering
from support.records.runs import RunOptions, build_run

from sfcperf.control.lock import held
from sfcperf.errors import EnvironmentLacks
from sfcperf.report import serving
from sfcperf.report.serving import report_server
from sfcperf.results.store import RunStore

OPTIONS = RunOptions(rounds=2, trials=30, summaries=False, telemetry=False, status="running")

Ask = Callable[..., tuple[HTTPResponse, bytes]]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """A run in progress, in a folder beside which there is a secret."""
    (tmp_path / "secret").write_text("secret")
    store = build_run(tmp_path / "run", OPTIONS)
    (store.folder / "raw" / "link").symlink_to(tmp_path / "secret")
    (store.folder / "raw" / "folder").symlink_to(tmp_path)
    os.mkfifo(store.folder / "raw" / "pipe")
    return store


@pytest.fixture
def ask(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    monkeypatch.setattr(serving, "SHARE", 1e6)  # each change makes a page
    with answering(report_server(store, 0)) as server:

        def asked(path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
            connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer, answer.read()

        yield asked


def valid(store: RunStore) -> bytes:
    """What the verdict says of the trials in the folder."""
    number = sum(record.status == "valid" for record in store.trials())
    return f"<strong>{number}</strong> valid".encode()


def test_the_page_changes_with_the_run(store: RunStore, ask: Ask) -> None:
    with held(store.folder, store.run_id):
        first, page = ask("/")
        version = first.headers["ETag"]
        assert valid(store) in page
        assert b"<td>" in page.partition(b'id="results"')[2]  # summaries of the trials so far
        assert re.search(rb"The run has not ended: \d+ planned trials to come, about .+ left", page)
        assert not any(words in page for words in (b"sfcperf resume", b"not run</li>", b"Plan 6"))
        again, nothing = ask("/", **{"If-None-Match": version})
        assert (again.status, nothing) == (304, b"")
        assert ask("/", "HEAD")[0].headers["ETag"] == version

        lines = (store.folder / "trials.jsonl").read_text().splitlines(keepends=True)
        (store.folder / "trials.jsonl").write_text("".join(lines[:-4]))
        changed = ask("/", "HEAD")[0].headers["ETag"]
        assert changed != version
        later, page = ask("/", **{"If-None-Match": version})
        assert (later.status, later.headers["ETag"]) == (200, changed)
        assert valid(store) in page
        (store.folder / "trials.jsonl").unlink()
        assert b"No trial is done yet" in ask("/")[1]
    # Nothing of it was written.
    written = {path.name for path in store.folder.iterdir()}
    assert not {"report.html", "summary.json", "figures"} & written


def test_no_other_file_is_reachable(ask: Ask) -> None:
    for path in (
        *("/../secret", "/%2e%2e/secret", "/..%2fsecret", "/raw/../../secret", "//secret"),
        *("/raw/link", "/raw/folder/", "/raw/folder/secret", "/raw/pipe", "/%00"),
        "http://127.0.0.1/../secret",
    ):
        answer, content = ask(path)
        assert answer.status == 404, path
        assert b"secret</" not in content
        assert content != b"secret"


def test_files_of_the_run_are_shown_and_not_executed(store: RunStore, ask: Ask) -> None:
    answer, content = ask("/run.json")
    assert content == (store.folder / "run.json").read_bytes()
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    trial = store.trials()[0].trial_id
    assert b"stdout.txt" in ask(f"/raw/{trial}/")[1]
    for method in ("POST", "PUT", "DELETE"):
        assert ask("/run.json", method)[0].status == 501


def test_a_page_from_elsewhere_cannot_ask(ask: Ask) -> None:
    for host in ("elsewhere.example", "[", "[::1", "a]", "", "[v1.x]"):
        assert ask("/", Host=host)[0].status == 421, host
    assert ask("/run.json", Host="localhost:8644")[0].status == 200


def test_a_folder_that_is_gone(store: RunStore, ask: Ask) -> None:
    assert ask("/")[0].status == 200
    store.folder.rename(store.folder.with_name("elsewhere"))
    assert ask("/", "HEAD")[0].status == 503
    answer, text = ask("/")
    assert answer.status == 503
    assert b"removed or renamed" in text


def test_connections_that_ask_nothing_are_ended(store: RunStore) -> None:
    with (
        answering(report_server(store, 0, longest_idle_s=0.1)) as server,
        socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as idle,
    ):
        idle.sendall(b"GET / HTTP/1.0\r\n")
        assert idle.recv(1) == b""


def test_many_connections_take_few_threads_and_keep_nobody_out(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_THREADS", 4)
    threads = threading.active_count()
    with answering(report_server(store, 0)) as server, ExitStack() as opened:
        where = ("127.0.0.1", server.server_port)
        for _ in range(20):
            oldest = opened.enter_context(socket.create_connection(where, timeout=60))
        connection = HTTPConnection(*where, timeout=60)
        connection.request("GET", "/run.json")
        assert connection.getresponse().status == 200
        assert threading.active_count() < threads + 10
        assert oldest.getpeername() == where


def test_a_port_that_is_taken_and_only_this_machine_can_connect(store: RunStore) -> None:
    with report_server(store, 0) as server:
        assert server.server_address[0] == "127.0.0.1"
        with pytest.raises(EnvironmentLacks, match="--port 0 takes a free port"):
            report_server(store, server.server_port)
