"""`sfcperf sfcmon controller` as a process, and a client of its REST interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.vnfs.rest_controller import RestController


class ControllerProcess(RestController):
    """The process of the SFC controller."""

    def __init__(
        self, folder: Path, listen: str | None = None, namespace: Path | None = None
    ) -> None:
        """`listen`: a Unix socket in the folder, if not given."""
        super().__init__(folder, namespace)
        self.windows_file = folder / "windows.jsonl"
        self.state_file = folder / "state.json"
        self._listen = listen or f"unix:{folder / 'rest.sock'}"
        self.start()

    def words(self) -> list[str | Path]:
        """See RestController.words."""
        return [
            *("sfcmon", "controller", "--state", self.state_file),
            *("--windows", self.windows_file, "--token-file", self.token_file),
            *("--listen", self._listen),
        ]

    def ready(self, event: dict[str, Any]) -> None:
        """See RestController.ready."""
        self.url = event["listen"]

    def in_sync(self) -> bool:
        """Whether all switches are."""
        return all(each["in_sync"] for each in self.request("GET", "/status")["switches"].values())

    def windows(self, switch: str) -> list[dict[str, Any]]:
        """Those of a switch that were written."""
        events = [json.loads(line) for line in self.windows_file.read_text().splitlines()]
        return [e for e in events if e["event"] == "window" and e["switch"] == switch]
