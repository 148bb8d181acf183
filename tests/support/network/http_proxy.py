"""A proxy before a real server: it ends TLS, asks for a secret, and breaks where a test says so."""

from __future__ import annotations

import http.client
import ssl
import subprocess
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from support.network.answering import answering

Fault = Literal["lost answer", "too busy"]
_OWN = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass
class Request:
    method: str
    path: str
    number: int
    """From 1, among requests of the same method and last part of the path."""

    @property
    def is_bulk(self) -> bool:
        return self.path.partition("?")[0].endswith("/_bulk")


@dataclass
class Proxy:
    """Stands before `upstream` on a free port of 127.0.0.1 while its `with` block lasts."""

    upstream: str
    authorization: str | None = None
    """The one value of the header `Authorization` that is let through; None: all."""
    certificate: Path | None = None
    """PEM with certificate and key, for TLS."""
    before: Callable[[Request], Fault | None] = lambda _request: None
    """Called before a request is handed on; `too busy`: it is not, and answered with 429."""
    after: Callable[[Request], Fault | None] = lambda _request: None
    """Called when the server has answered; `lost answer`: nobody hears of it."""
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://localhost:{self._server.server_address[1]}"

    def __enter__(self) -> Proxy:
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._end = ExitStack()
        self._end.enter_context(answering(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

    def numbered(self, method: str, path: str) -> Request:
        key = (method, path.partition("?")[0].rpartition("/")[2])
        with self._lock:
            self.counts[key] = self.counts.get(key, 0) + 1
            return Request(method, path, self.counts[key])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Proxy

    def handle(self) -> None:
        try:
            super().handle()
        except (OSError, ssl.SSLError):
            # A client that did not like the certificate, or was killed.
            self.close_connection = True

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        owner = self.owner
        if owner.authorization not in (None, self.headers.get("authorization")):
            return self._answer(401, [], b'{"error":{"type":"security_exception"},"status":401}')
        request = owner.numbered(self.command, self.path)
        if owner.before(request) == "too busy":
            return self._answer(429, [], b'{"error":{"type":"too_many_requests"},"status":429}')
        try:
            status, headers, answer = self._ask(body)
        except (OSError, http.client.HTTPException):
            return self._hang_up()
        if owner.after(request) == "lost answer":
            return self._hang_up()
        return self._answer(status, headers, answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815 - their names

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(urlsplit(self.owner.upstream).netloc, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in _OWN}
        try:
            connection.request(self.command, self.path, body or None, headers)
            response = connection.getresponse()
            return response.status, response.getheaders(), response.read()
        finally:
            connection.close()

    def _hang_up(self) -> None:
        self.close_connection = True

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers or [("content-type", "application/json")]:
            if name.lower() not in _OWN:
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def make_certificate(folder: Path, name: str = "server") -> Path:
    """PEM with a self-signed certificate for localhost, and its key."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-addext", "basicConstraints=critical,CA:TRUE"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    both = folder / f"{name}.pem"
    both.write_text(certificate.read_text() + key.read_text())
    return both


def fingerprint(certificate: Path) -> str:
    """SHA-256, with colons, as openssl prints it."""
    done = subprocess.run(
        ["openssl", "x509", "-in", str(certificate), "-noout", "-fingerprint", "-sha256"],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip().partition("=")[2]
