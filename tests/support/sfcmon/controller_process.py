"""`sfcperf sfcmon controller` as a process, and a client of its REST interface."""

from __future__ import annotations

import json
import secrets
import signal
from pathlib import Path
from typing import Any

import httpx

from sfcperf.hosts.process import inside
from support.command import spawn

REQUEST_S = 20.0


class ControllerProcess:
    """The process, with its files in a folder; `start` starts it again after `end`."""

    def __init__(
        self, folder: Path, listen: str | None = None, namespace: Path | None = None
    ) -> None:
        """`listen`: a Unix socket in the folder, if not given."""
        self.folder = folder
        self.windows_file = folder / "windows.jsonl"
        self.state_file = folder / "state.json"
        self.token = secrets.token_hex(16)
        token_file = folder / "token"
        token_file.touch(0o600)
        token_file.write_text(self.token)
        self._listen = listen or f"unix:{folder / 'rest.sock'}"
        self._namespace = namespace
        self.start()

    @property
    def headers(self) -> dict[str, str]:
        """With the token."""
        return {"Authorization": f"Bearer {self.token}"}

    def start(self) -> None:
        """Start it and wait until it answers."""
        with inside(self._namespace):
            self.process = spawn(
                *("sfcmon", "controller", "--state", self.state_file),
                *("--windows", self.windows_file, "--token-file", self.folder / "token"),
                *("--listen", self._listen),
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        event = json.loads(line)
        assert event["event"] == "ready"
        self.url = event["listen"]
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

    def in_sync(self) -> bool:
        """Whether all switches are."""
        return all(each["in_sync"] for each in self.request("GET", "/status")["switches"].values())

    def windows(self, switch: str) -> list[dict[str, Any]]:
        """Those of a switch that were written."""
        events = [json.loads(line) for line in self.windows_file.read_text().splitlines()]
        return [e for e in events if e["event"] == "window" and e["switch"] == switch]
