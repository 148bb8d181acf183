"""Which window a controller continues with when it is started again. The switch is a stand-in: a
real one does not end the controller at a given moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sfcperf.vnfs.sfcmon.controller.collector import Collector
from sfcperf.vnfs.sfcmon.controller.model import Monitoring, ThriftAddress
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog

_SIZES = {"cms_columns": 5437, "bloom_bits": 16384, "iblt_cells": 300}
_THRESHOLDS = {"evaluate_from": 1000, "share": 0, "least_packets": 0}


class Killed(BaseException):
    """The controller's process ends here."""


class Switch:
    """Which window is open, behind the connections for tables and for registers."""

    name = "s1"
    thrift_socket = None

    def __init__(self) -> None:
        self.active = 0
        self.is_new = True
        self.kills = True
        """Whether the controller is killed once it has opened a window."""

    def take_was_new(self) -> bool:
        was_new, self.is_new = self.is_new, False
        return was_new

    async def read_window(self) -> Mapping[str, int]:
        return {"active": self.active, **_THRESHOLDS, **_SIZES}

    async def open_window(self, _: Any) -> None:
        self.active = 1 - self.active

    async def clear(self, bank: int) -> None:
        assert bank != self.active

    async def wait_and_clear(self, bank: int) -> None:
        assert bank != self.active
        if self.kills:
            raise Killed


def _take_over(switch: Any, windows: Path) -> None:
    """Begin as a new process does."""
    log = WindowLog(windows)
    collector = Collector(switch, Monitoring(), log, ThriftAddress())
    collector._banks.end()
    collector._banks = switch
    asyncio.run(collector._take_over())


@pytest.mark.parametrize("bank", [0, 1])
def test_a_process_that_was_killed_while_it_began_anew(tmp_path: Path, bank: int) -> None:
    """The switch was restarted, so its window does not follow the last one in the file."""
    pytest.importorskip("finsy")
    windows = tmp_path / "windows.jsonl"
    last = {"event": "window", "switch": "s1", "number": 4, "bank": bank, "end_ns": 9}
    WindowLog(windows).append(last)
    switch = Switch()
    with pytest.raises(Killed):
        _take_over(switch, windows)
    switch.kills = False
    _take_over(switch, windows)
    lines = [json.loads(line) for line in windows.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["window", "opening", "opened"]
    assert (lines[-1]["number"], lines[-1]["bank"]) == (5, switch.active)
