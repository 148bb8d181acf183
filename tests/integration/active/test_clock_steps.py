"""A real ping whose clock is set while it measures.

The clock of this machine is not a test's to set, and has no namespace: libfaketime (Debian's
package of this name) sets it for ping alone. ping then reports echoes that took an hour.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.network.cable import Cable
from support.probing import made, measure_while

from sfcperf.active.ping import probe as ping
from sfcperf.active.tool_run import ToolOutput, run_tool
from sfcperf.control.trials.attempt import impossible_time
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

pytestmark = pytest.mark.root


@pytest.mark.parametrize("step_s", [-3600, 3600])
def test_no_echo_of_an_hour_is_believed(
    wire: Cable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    (library,) = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    stamp = tmp_path / "stamp"
    stamp.write_text("+0")
    faked = [
        "env",
        f"LD_PRELOAD={library}",
        f"FAKETIME_TIMESTAMP_FILE={stamp}",
        "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
    ]

    def run(host: Host, argv: Sequence[str], **how: Any) -> ToolOutput:
        return run_tool(host, [*faked, *argv], **how)

    monkeypatch.setattr(ping, "run_tool", run)
    probe = made(ping.Ping, count=20, interval_s=0.1)
    began_s = time.monotonic()
    try:
        result = measure_while(wire, tmp_path, probe, 1.0, lambda: stamp.write_text(f"{step_s:+d}"))
    except MeasurementError:
        return  # ping's own report made no sense, and the trial fails
    found = impossible_time(result, time.monotonic() - began_s)
    assert found or result.untrusted
    assert not found or "clock of the tool's machine was set" in found
