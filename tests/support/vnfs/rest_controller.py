"""A controller of ours as a process (`sfcperf ... controller`), and a client of its interface."""

from __future__ import annotations

import json
import secrets
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import httpx

from sfcperf.hosts.process import inside
from support.command import spawn

REQUEST_S = 30.0


class RestController(ABC):
    """The process, with its files in a folder; `start` starts it again after `end`."""

    url: str
    """Where its REST interface is; set by `ready`."""

    def __init__(self, folder: Path, namespace: Path | None) -> None:
        self.folder = folder
        self.token = secrets.token_hex(16)
        self.token_file = folder / "token"
        self.token_file.touch(0o600)
        self.token_file.write_text(self.token)
        self.namespace = namespace

    @abstractmethod
    def words(self) -> list[str | Path]:
        """Of the command."""

    @abstractmethod
    def ready(self, event: dict[str, Any]) -> None:
        """What it says when it answers."""

    @property
    def headers(self) -> dict[str, str]:
        """With the token."""
        return {"Authorization": f"Bearer {self.token}"}

    def start(self) -> None:
        """Start it and wait until it answers."""
        with inside(self.namespace):
            self.process = spawn(*self.words())
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        event = json.loads(line)
        assert event["event"] == "ready"
        self.ready(event)
        uds = self.url.removeprefix("unix:") if self.url.startswith("unix:") else None
        self.client = httpx.Client(
            transport=httpx.HTTPTransport(uds=uds),
            base_url="http://controller" if uds else self.url,
            headers=self.headers,
            timeout=REQUEST_S,
        )

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; gives the exit code and what it said on stderr."""
        self.client.close()
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=REQUEST_S)
        return self.process.returncode, said

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer that must be a success."""
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None
