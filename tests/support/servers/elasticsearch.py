"""A real Elasticsearch for tests: one per worker, not as root, gone when the tests are.

Tests that use the `elasticsearch` fixture are in tests/e2e/elasticsearch. One worker runs them all,
so that they share a server and none meets a test that kills it; each has data streams of its own by
a prefix.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from elastic_transport import TransportError
from elasticsearch import ApiError, Elasticsearch

SERVERS = Path(__file__).resolve().parents[3] / "build" / "servers"
NOBODY = 65534
STARTS_WITHIN_S = 180.0


def installed() -> Path | None:
    """The unpacked server, when `make servers` was run."""
    found = sorted(SERVERS.glob("elasticsearch-*/.complete"))
    return found[-1].parent if found else None


class Server:
    """A single node on a free port of 127.0.0.1; its data outlives `kill` until `remove`."""

    def __init__(self, home: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sfcperf-es-"))
        # A tree in somebody's home is not for others to read, and the server is not root.
        self._home = home if _is_public(home) else shutil.copytree(home, self._folder / "home")
        self._ports = _free_ports(2)
        self._process: subprocess.Popen[bytes] | None = None
        self._prepare()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._ports[0]}"

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def client(self) -> Elasticsearch:
        return Elasticsearch([self.url], request_timeout=60)

    def start(self) -> None:
        """Start, and wait until it answers. It ends with the thread that starts it, or before."""
        java = shutil.which("java")
        assert java is not None
        as_nobody = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        settings = {
            "discovery.type": "single-node",
            "xpack.security.enabled": "false",
            "path.data": self._folder / "data",
            "path.logs": self._folder / "logs",
            "network.host": "127.0.0.1",
            "http.port": self._ports[0],
            "transport.port": self._ports[1],
            # A disk that is 96 % full is no business of a test's.
            "cluster.routing.allocation.disk.threshold_enabled": "false",
        }
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [
                    # The server goes with its launcher, and the launcher with us, however we end.
                    *("setpriv", "--pdeathsig", "KILL"),
                    *(as_nobody if os.geteuid() == 0 else ()),
                    str(self._home / "bin" / "elasticsearch"),
                    *(f"-E{name}={value}" for name, value in settings.items()),
                ],
                cwd=self._folder,
                env={
                    "PATH": os.environ["PATH"],
                    "ES_JAVA_HOME": str(Path(java).resolve().parents[1]),
                    # The first compiler alone: the server starts in half of the CPU time.
                    "ES_JAVA_OPTS": "-Xms512m -Xmx512m -XX:TieredStopAtLevel=1",
                    "ES_PATH_CONF": str(self._folder / "conf"),
                    "ES_TMPDIR": str(self._folder / "tmp"),
                },
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._wait(self._process)

    def kill(self) -> None:
        """SIGKILL, as a power cut does it: nothing is flushed, nothing is said."""
        if self._process is None:
            return
        with suppress(psutil.NoSuchProcess):
            launcher = psutil.Process(self._process.pid)
            for process in [*launcher.children(recursive=True), launcher]:
                process.kill()
        self._process.wait()
        self._process = None

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self._folder)

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _prepare(self) -> None:
        shutil.copytree(self._home / "config", self._folder / "conf")
        options = self._folder / "conf" / "jvm.options"
        lines = options.read_text().splitlines()
        # These write below the server's own folder, which is not the server's to write.
        ours = [line for line in lines if "logs/" not in line and "HeapDumpPath" not in line]
        options.write_text("\n".join(ours) + "\n")
        for name in ("data", "logs", "tmp"):
            (self._folder / name).mkdir()
        if os.geteuid() == 0:
            for path in [self._folder, *self._folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        with self.client() as client:
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    client.cluster.health(wait_for_status="yellow", timeout="10s")
                    return
                except (TransportError, ApiError):
                    time.sleep(0.5)
        said = (self._folder / "output").read_text(errors="replace")[-3000:]
        raise AssertionError(f"Elasticsearch did not start:\n{said}")


def _is_public(path: Path) -> bool:
    return os.geteuid() != 0 or all(
        p.stat().st_mode & 0o005 == 0o005 for p in [path, *path.parents]
    )


def _free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def elasticsearch_server() -> Iterator[Server]:
    home = installed()
    if home is None:
        pytest.skip("the Elasticsearch server is not there: make servers")
    with Server(home) as server:
        yield server


@pytest.fixture
def elasticsearch(elasticsearch_server: Server) -> Server:
    """The server, alive, whatever the test before did to it."""
    if not elasticsearch_server.is_alive:
        elasticsearch_server.kill()
        elasticsearch_server.start()
    return elasticsearch_server
