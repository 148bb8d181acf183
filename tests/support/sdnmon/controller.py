"""`sfcperf sdnmon controller` as a process, and a client of its REST interface."""

from __future__ import annotations

import json
import secrets
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from sfcperf.hosts.process import inside
from support.command import spawn
from support.network.wires import eventually

REQUEST_S = 30.0


class Controller:
    """The process; `start` starts it again after `end`, at the same places."""

    def __init__(self, folder: Path, *words: str, namespace: Path | None = None) -> None:
        """`words`: further options. In a namespace, REST is at a Unix socket."""
        self.token = secrets.token_hex(16)
        self._token_file = folder / "token"
        self._token_file.touch(0o600)
        self._token_file.write_text(self.token)
        self._words = words
        self._namespace = namespace
        self.openflow, self.url = "127.0.0.1:0", "127.0.0.1:0"
        if namespace is not None:
            self.url = f"unix:{folder / 'rest.sock'}"
        self.start()

    @property
    def headers(self) -> dict[str, str]:
        """With the token."""
        return {"Authorization": f"Bearer {self.token}"}

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with inside(self._namespace):
            self.process = spawn(
                *("sdnmon", "controller", "--token-file", self._token_file),
                *("--listen", self.openflow, "--rest", self.url.removeprefix("http://")),
                *self._words,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        event = json.loads(line)
        assert event["event"] == "ready"
        self.openflow, self.url = event["openflow"], event["rest"]
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

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and error of an answer that must be none."""
        answer = self.client.request(method, path, json=body)
        assert not answer.is_success, answer.text
        return answer.status_code, answer.json()["error"]

    def lines(self, path: str) -> list[dict[str, Any]]:
        """The JSON Lines of an answer."""
        answer = self.client.get(path)
        assert answer.is_success, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def await_switches(self, *wanted: int, problem: bool = False) -> None:
        """Until exactly these are connected and have said what they can, or (`problem`) cannot."""
        key = "problem" if problem else "features"

        def there() -> bool:
            found = self.request("GET", "/switches")
            names = {f"{number:016x}" for number in wanted}
            return set(found) == names and all(each[key] for each in found.values())

        assert eventually(there), self.request("GET", "/switches")


def path(switch: int, rest: str) -> str:
    """Of a request about a switch."""
    return f"/switches/{switch:016x}/{rest}"


Make = Callable[..., Controller]
