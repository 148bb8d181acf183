"""TLS and secrets, before a real Elasticsearch: who is trusted, and where a secret never is."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.command import SFCPERF
from support.network.http_proxy import Proxy, Request, fingerprint, make_certificate
from support.records.runs import RunOptions, build_run
from support.servers.elasticsearch import Server

from sfcperf.results.store import RunStore

pytestmark = pytest.mark.server
KEY = base64.b64encode(b"an-id:an-api-key-that-nobody-may-see").decode()
PASSWORD = "a-password-that-nobody-may-see"
BASIC = "Basic " + base64.b64encode(f"meter:{PASSWORD}".encode()).decode()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    options = RunOptions(topologies=("T1",), chain_lengths=(0, 1), rounds=1, telemetry=False)
    return build_run(tmp_path / "run" / "20260131-120000-fig8-short-abc123", options)


@pytest.fixture
def prefix() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return make_certificate(tmp_path)


def index(
    store: RunStore, url: str, prefix: str, *options: str, **secrets: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SFCPERF, "index", str(store.folder), "--url", url, "--prefix", prefix, *options],
        env={**os.environ, **{f"SFCPERF_ES_{name}": value for name, value in secrets.items()}},
        capture_output=True,
        text=True,
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("authorization", "secrets"),
    [
        (f"ApiKey {KEY}", {"API_KEY": KEY}),
        (BASIC, {"USER": "meter", "PASSWORD": PASSWORD}),
    ],
    ids=["api-key", "basic"],
)
def test_a_secret_opens_the_door_and_is_seen_nowhere(
    elasticsearch: Server,
    store: RunStore,
    prefix: str,
    certificate: Path,
    state_dir: Path,
    authorization: str,
    secrets: Mapping[str, str],
) -> None:
    seen: list[str] = []

    def look(_request: Request) -> None:
        # Command lines of all processes while one of them is sending.
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                seen.append(path.read_bytes().decode(errors="replace"))
            except OSError:
                continue

    with Proxy(
        elasticsearch.url, authorization=authorization, certificate=certificate, before=look
    ) as proxy:
        ca = ("--ca", str(certificate))
        good = index(store, proxy.url, prefix, *ca, **secrets)
        assert good.returncode == 0, good.stderr
        without = index(store, proxy.url, prefix, *ca)
        wrong = index(store, proxy.url, prefix, *ca, API_KEY=KEY[:-4] + "AAA=")
    for refused in (without, wrong):
        assert refused.returncode == 3
        assert "SFCPERF_ES_API_KEY" in refused.stderr
    away = index(store, "https://localhost:1", prefix, "--patience", "0", **secrets)
    assert (away.returncode, len(list((state_dir / "spool").glob("*.json")))) == (3, 1)
    files = [path for place in (store.folder, state_dir) for path in place.rglob("*")]
    written = [path.read_bytes().decode(errors="replace") for path in files if path.is_file()]
    said = [each.stdout + each.stderr for each in (good, without, wrong, away)]
    assert any(prefix in line for line in seen)
    for secret in (*[v for v in secrets.values() if v != "meter"], authorization.split()[1]):
        assert not [text for text in (*written, *said, *seen) if secret in text]


@pytest.mark.exhaustive
def test_only_a_certificate_that_is_trusted(
    elasticsearch: Server, store: RunStore, prefix: str, certificate: Path, tmp_path: Path
) -> None:
    other = make_certificate(tmp_path, "other")
    with Proxy(elasticsearch.url, certificate=certificate) as proxy:
        for refused in ((), ("--ca", str(other)), ("--fingerprint", fingerprint(other))):
            done = index(store, proxy.url, prefix, *refused)
            assert (done.returncode, "not trusted" in done.stderr) == (3, True), done.stderr
        assert elasticsearch_has_nothing(elasticsearch, prefix)
        for accepted in (
            ("--ca", str(certificate)),
            ("--fingerprint", fingerprint(certificate)),
            ("--insecure",),
        ):
            done = index(store, proxy.url, prefix, *accepted)
            assert (done.returncode, done.stderr) == (0, "")


def elasticsearch_has_nothing(server: Server, prefix: str) -> bool:
    with server.client() as client:
        return int(client.count(index=f"{prefix}-*")["count"]) == 0
