"""Access to a REST interface: only requests with the token are answered, and bodies have a
limit."""

from __future__ import annotations

import hmac
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.input_file import read_input

LEAST_TOKEN_CHARACTERS = 16
_MOST_TOKEN_BYTES = 4096
OPEN_PATHS = ("/openapi.json",)
"""Paths that need no token: they describe the interface and nothing else."""


def read_token(path: Path) -> str:
    """Read the token from a file. Raises InputError unless this user alone can read the file."""
    content = read_input(path, "the token", max_bytes=_MOST_TOKEN_BYTES)
    found = path.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(
            "other users can read this token, or it belongs to another user",
            where=str(path),
            allowed="a file of the user who starts it, with mode 0600",
            hint=f"chmod 600 {path}, and write another token into it",
        )
    token = content.decode("ascii", "replace").strip()
    if not re.fullmatch(rf"[A-Za-z0-9._~+/=-]{{{LEAST_TOKEN_CHARACTERS},}}", token):
        raise InputError(
            "this is no token",
            where=str(path),
            allowed=f"at least {LEAST_TOKEN_CHARACTERS} letters, digits or any of ._~+/=- "
            "(RFC 6750)",
            hint="for example: openssl rand -hex 32",
        )
    return token


class TokenNeeded:
    """ASGI middleware that refuses requests without the token, and bodies that are too large. It
    answers before a body is read."""

    def __init__(self, app: Any, token: str, most_body_bytes: int) -> None:
        self._app = app
        self._most_body_bytes = most_body_bytes
        self._authorization = f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer 401 without a valid token, 411 without a length, 413 to a body that is too large;
        pass everything else on to the app."""
        if scope["type"] != "http":  # only HTTP has requests with a token and a body
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        header = headers.get(b"authorization", b"")
        if scope["path"] not in OPEN_PATHS and not hmac.compare_digest(header, self._authorization):
            await _answer(send, 401, "a valid token is needed: Authorization: Bearer TOKEN")
            return
        length = headers.get(b"content-length", b"0")
        # Without a length the body comes in chunks, which the app would collect without a limit.
        if b"transfer-encoding" in headers or not length.isdigit():
            await _answer(send, 411, "the header Content-Length is needed")
        elif int(length) > self._most_body_bytes:
            message = f"the body is too large: at most {self._most_body_bytes} bytes"
            await _answer(send, 413, message)
        else:
            await self._app(scope, receive, send)


async def _answer(send: Any, status: int, message: str) -> None:
    """Answer with a status, and a body like that of all refusals (`Refusal` in answers.py)."""
    body = json.dumps({"error": message, "problems": []}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
