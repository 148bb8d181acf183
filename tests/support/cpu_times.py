"""CPU time of tests (`--cpu-times N`): unlike durations, it hardly depends on what else the machine
does.

That of the process and of those that it has started and waited for. A server that tests share
counts for the test at which it ends, and one that outlives its parent for none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

_KEY = "cpu_s"


def cpu_s() -> float:
    """Of this process and its children that have ended, in the kernel and outside of it."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class CpuTimes:
    """In each worker it notes times; in the process that started them it prints the most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tests: dict[str, float] = {}
        self._workers_s = 0.0
        self._before_s = 0.0

    def pytest_runtest_logstart(self) -> None:
        self._before_s = cpu_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_KEY, cpu_s() - self._before_s))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = dict(report.user_properties).get(_KEY)
        if report.when == "teardown" and isinstance(found, float):
            self._tests[report.nodeid] = found

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_KEY] = cpu_s()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._workers_s += getattr(node, "workeroutput", {}).get(_KEY, 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        whole_s = self._workers_s or cpu_s()
        terminalreporter.section(
            f"CPU time: {whole_s:.0f} s, of which tests took {sum(self._tests.values()):.0f} s"
        )
        slowest = sorted(self._tests, key=self._tests.__getitem__, reverse=True)
        for name in slowest[: self._most]:
            terminalreporter.line(f"{self._tests[name]:7.1f}  {name.removeprefix('tests/')}")
