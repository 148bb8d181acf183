"""The report of a run over HTTP, updated while the run goes on: on loopback, and read-only."""

from __future__ import annotations

import hashlib
import http.server
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from sfcperf.control.live import check_there, version_of
from sfcperf.errors import EnvironmentLacks, InputError, system_errors_as
from sfcperf.report.run_page import live_page
from sfcperf.rest.idle import LONGEST_S, IdleConnections
from sfcperf.results.store import RunFile, RunStore

ADDRESS = "127.0.0.1"
SHARE = 0.02
"""Of a CPU, at most, for making pages: the run is measured on this machine."""
MOST_THREADS = 64
"""Connections at the same time: for one more, the oldest is ended."""
_HOSTS = {ADDRESS, "localhost"}
_POLICY = "default-src 'none'; sandbox"
"""Content security policy of files: what a tool or a VNF wrote is shown, not executed."""


class LivePage:
    """The page, which is made when it is asked for, the run has changed, and the last one was not
    made just now."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version = ""
        self._page = b""
        self._not_before_s = 0.0

    def version(self) -> str:
        """The entity tag (RFC 9110, 8.8.3) of the page that `page` would give. Raises InputError
        when the run folder is gone."""
        check_there(self._store)
        if self._page and time.monotonic() < self._not_before_s:
            return self._version
        state = repr(version_of(self._store)).encode()
        return f'"{hashlib.sha256(state).hexdigest()[:16]}"'

    def page(self) -> tuple[str, bytes]:
        """Version and page. Raises InputError when the run folder is damaged."""
        with self._lock:
            if (version := self.version()) != self._version:
                began_s, is_first = time.thread_time(), not self._page
                self._page = live_page(self._store, version).encode()
                self._version = version
                # The first page imports libraries.
                spent_s = 0.0 if is_first else time.thread_time() - began_s
                self._not_before_s = time.monotonic() + spent_s / SHARE
            return self._version, self._page


class _Handler(http.server.SimpleHTTPRequestHandler):
    """GET and HEAD of the page and of files in the run folder."""

    server: _Server
    server_version, sys_version = "SFCPerf", ""
    timeout = LONGEST_S
    """For a browser to take what is sent."""

    def __init__(self, *args: Any, page: LivePage, folder: Path) -> None:
        self._page = page
        self._is_page = False
        super().__init__(*args, directory=str(folder))

    def send_head(self) -> BytesIO | IO[bytes] | None:  # type: ignore[override]
        self.server.asked(self.connection)
        # A page from elsewhere could give its own name this address (DNS rebinding).
        if _host(self.headers.get("Host", "")) not in _HOSTS:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return None
        path = urlsplit(self.path).path
        self._is_page = path in ("/", f"/{RunFile.REPORT}")
        if self._is_page:
            return self._send_page()
        if not self._is_of_the_run(Path(self.translate_path(self.path))):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def _is_of_the_run(self, path: Path) -> bool:
        """Links in the folder may lead elsewhere, or in a circle; a pipe would never end."""
        try:
            target = path.resolve()
            is_inside = target.is_relative_to(Path(self.directory).resolve())
            return is_inside and (target.is_file() or target.is_dir())
        except (ValueError, OSError, RuntimeError):
            return False

    def _send_page(self) -> BytesIO | None:
        try:
            # A question for the version does not make a page.
            version, page = (
                self._page.page() if self.command == "GET" else (self._page.version(), b"")
            )
        except InputError as error:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=str(error))
            return None
        known = self.headers.get("If-None-Match") == version
        self.send_response(HTTPStatus.NOT_MODIFIED if known else HTTPStatus.OK)
        self.send_header("ETag", version)
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if page and not known:
            self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        return None if known else BytesIO(page)

    def end_headers(self) -> None:
        self.send_header("X-Content-Type-Options", "nosniff")
        if not self._is_page:
            self.send_header("Content-Security-Policy", _POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: who looks at the report is no news."""


def _host(header: str) -> str | None:
    """Without the port; None if it names none."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class _Server(http.server.ThreadingHTTPServer):
    """Each connection has a thread, and is for one request."""

    def __init__(self, *args: Any, longest_idle_s: float) -> None:
        self._open: dict[socket.socket, bool] = {}
        """Connections, the oldest first -> whether it waits for a request."""
        self._idle = IdleConnections[socket.socket](longest_idle_s)
        self._room = threading.Semaphore(MOST_THREADS)
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        # The number of threads is bounded: the oldest connection gives way.
        if not self._room.acquire(blocking=False):
            for oldest in list(self._open)[:1]:
                _end(oldest)
            self._room.acquire()
        self._open[request] = True
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # there is no room for another thread
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def asked(self, request: socket.socket) -> None:
        """The request is there."""
        self._open[request] = False

    def service_actions(self) -> None:
        """Called twice a second."""
        for request in self._idle.overdue(r for r, waits in list(self._open.items()) if waits):
            _end(request)

    def shutdown_request(self, request: Any) -> None:
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has left, or does not read on, is no error."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def _end(request: socket.socket) -> None:
    """Its thread closes it then."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def report_server(
    store: RunStore, port: int, *, longest_idle_s: float = LONGEST_S
) -> http.server.ThreadingHTTPServer:
    """A server on loopback, which `serve_forever` starts; port 0 takes a free one. Raises
    EnvironmentLacks when the port cannot be used."""
    handler = partial(_Handler, page=LivePage(store), folder=store.folder)
    with system_errors_as(
        EnvironmentLacks,
        "the report cannot be served",
        where=f"{ADDRESS}:{port}",
        hint="--port 0 takes a free port",
    ):
        return _Server((ADDRESS, port), handler, longest_idle_s=longest_idle_s)
