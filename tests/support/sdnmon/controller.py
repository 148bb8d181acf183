"""`sfcperf sdnmon controller` as a process, and a client of its REST interface."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.network.wires import eventually
from support.vnfs.rest_controller import RestController


class Controller(RestController):
    """The process of SDN-Mon's controller, which starts again at the same places."""

    def __init__(self, folder: Path, *words: str, namespace: Path | None = None) -> None:
        """`words`: further options. In a namespace, REST is at a Unix socket."""
        super().__init__(folder, namespace)
        self._words = words
        self.openflow, self.url = "127.0.0.1:0", "127.0.0.1:0"
        if namespace is not None:
            self.url = f"unix:{folder / 'rest.sock'}"
        self.start()

    def words(self) -> list[str | Path]:
        """See RestController.words."""
        return [
            *("sdnmon", "controller", "--token-file", self.token_file),
            *("--listen", self.openflow, "--rest", self.url.removeprefix("http://")),
            *self._words,
        ]

    def ready(self, event: dict[str, Any]) -> None:
        """See RestController.ready."""
        self.openflow, self.url = event["openflow"], event["rest"]

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
