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
"""Largest share of a CPU for making pages: the run is measured on this machine, and must not be
disturbed."""
MOST_THREADS = 64
"""Largest number of connections at the same time: for one more, the oldest is ended."""
_HOSTS = {ADDRESS, "localhost"}
_POLICY = "default-src 'none'; sandbox"
"""Content security policy of files: what a tool or a VNF wrote is shown, not executed."""


class LivePage:
    """Keeps the page of a run. A request makes it again if the run has changed, and if the last
    page was not made so recently that SHARE would be exceeded."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._version = ""
        """Version of the page that is kept."""
        self._page = b""
        """The page that is kept; empty before the first one."""
        self._not_before_s = 0.0
        """Time of the monotonic clock before which no other page is made, seconds."""

    def version(self) -> str:
        """Return the entity tag (RFC 9110, 8.8.3) of the page that `page` would return, without
        making it. Raises InputError when the run folder is gone."""
        check_there(self._store)
        if self._page and time.monotonic() < self._not_before_s:
            return self._version
        state = repr(version_of(self._store)).encode()
        return f'"{hashlib.sha256(state).hexdigest()[:16]}"'

    def page(self) -> tuple[str, bytes]:
        """Return version and page. Raises InputError when the run folder is damaged."""
        with self._lock:
            if (version := self.version()) != self._version:
                began_s, is_first = time.thread_time(), not self._page
                self._page = live_page(self._store, version).encode()
                self._version = version
                # The first page does not count: most of its time goes into importing libraries.
                spent_s = 0.0 if is_first else time.thread_time() - began_s
                self._not_before_s = time.monotonic() + spent_s / SHARE
            return self._version, self._page


class _Handler(http.server.SimpleHTTPRequestHandler):
    """Answers GET and HEAD requests for the page and for files in the run folder."""

    server: _Server
    server_version, sys_version = "SFCPerf", ""
    timeout = LONGEST_S
    """Seconds that a browser has to send its request, or to take what is sent."""

    def __init__(self, *args: Any, page: LivePage, folder: Path) -> None:
        self._page = page
        self._is_page = False
        """Whether the answer is the page, whose scripts the policy of files would forbid."""
        super().__init__(*args, directory=str(folder))

    def send_head(self) -> BytesIO | IO[bytes] | None:  # type: ignore[override]
        """Send the status and the headers, and return a file with the body; None: there is none.
        The base class calls this for GET and HEAD."""
        self.server.asked(self.connection)
        # Another name than ours is refused: a foreign page could let its own name resolve to this
        # address, and so read the report (DNS rebinding).
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
        """Whether a path may be sent: a file or folder in the run folder. Links in it may lead
        elsewhere, or in a circle; a pipe would never end."""
        try:
            target = path.resolve()
            is_inside = target.is_relative_to(Path(self.directory).resolve())
            return is_inside and (target.is_file() or target.is_dir())
        except (ValueError, OSError, RuntimeError):
            return False

    def _send_page(self) -> BytesIO | None:
        """Send the head of the page, and return its body, as `send_head` does. None if the browser
        has this version already, or if the run cannot be read."""
        try:
            # HEAD asks for the version alone, and does not make a page.
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
        """Add the headers that all answers have, and the policy of files, then end them."""
        self.send_header("X-Content-Type-Options", "nosniff")
        if not self._is_page:
            self.send_header("Content-Security-Policy", _POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: users need no line for each request."""


def _host(header: str) -> str | None:
    """Return the host of a Host header, without the port; None if it names none."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class _Server(http.server.ThreadingHTTPServer):
    """Serves each connection, which is for one request, in a thread of its own. Limits the number
    of threads, and ends connections that send no request."""

    def __init__(self, *args: Any, longest_idle_s: float) -> None:
        self._open: dict[socket.socket, bool] = {}
        """Open connections, the oldest first -> whether the request is still to come."""
        self._idle = IdleConnections[socket.socket](longest_idle_s)
        self._room = threading.Semaphore(MOST_THREADS)
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start the thread of a new connection. If there are MOST_THREADS, end the oldest
        connection first, and wait for a thread to end."""
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
        """Serve a connection in its own thread, then make room for another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def asked(self, request: socket.socket) -> None:
        """Note that the request of a connection has arrived, so that it is not ended as idle."""
        self._open[request] = False

    def service_actions(self) -> None:
        """End connections that have waited too long for a request. `serve_forever` calls this twice
        a second."""
        for request in self._idle.overdue(r for r, waits in list(self._open.items()) if waits):
            _end(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and forget it."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless the browser has left or does not read on: that is none."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


def _end(request: socket.socket) -> None:
    """End a connection. Its thread then gets no more data, and closes it."""
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def report_server(
    store: RunStore, port: int, *, longest_idle_s: float = LONGEST_S
) -> http.server.ThreadingHTTPServer:
    """Return a server on loopback for the report of a run; its `serve_forever` starts it. Port 0
    takes a free port. Raises EnvironmentLacks when the port cannot be used."""
    handler = partial(_Handler, page=LivePage(store), folder=store.folder)
    with system_errors_as(
        EnvironmentLacks,
        "the report cannot be served",
        where=f"{ADDRESS}:{port}",
        hint="--port 0 takes a free port",
    ):
        return _Server((ADDRESS, port), handler, longest_idle_s=longest_idle_s)
