"""The probe around ping's output."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sfcperf.active.ping import Ping, probe
from sfcperf.active.tool_run import ToolOutput
from sfcperf.workflow.schema import parameters_with_defaults

TICK_S = 0.01
"""Of a kernel with HZ=100, to which ping's timer is rounded up."""


def test_ping_may_take_as_long_as_its_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, given = 66_000, []

    def run_tool(_: Any, argv: list[str], *, timeout_s: float, **__: Any) -> ToolOutput:
        given.append(timeout_s)
        replies = "\n".join(
            f"64 bytes from 10.0.0.2: icmp_seq={number % 2**16} ttl=64 time=0.02 ms"
            for number in range(1, count + 1)
        )
        summary = f"{count} packets transmitted, {count} received, 0% packet loss, time 9ms"
        times = "rtt min/avg/max/mdev = 0.020/0.020/0.020/0.000 ms"
        return ToolOutput(tuple(argv), 0, f"{replies}\n{summary}\n{times}\n", "")

    monkeypatch.setattr(probe, "run_tool", run_tool)
    host = SimpleNamespace(read_text=lambda path: Path(path).read_text())
    end = SimpleNamespace(host=host, interface="lo", address="127.0.0.1")
    deployment: Any = SimpleNamespace(client=end, server=end)
    parameters = parameters_with_defaults("probe", "ping", {"count": count, "interval_s": 0.002})
    result = Ping(parameters).measure(deployment, tmp_path)
    assert given[0] > count * (0.002 + TICK_S)
    assert result.series["rtt_us"] == [20.0] * count
