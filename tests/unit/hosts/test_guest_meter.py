"""The meter of a whole machine; psutil is the judge."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import MeasurementError
from sfcperf.hosts.guest_meter import GuestMeter, busy_cpu_s
from sfcperf.hosts.namespace import LocalHost
from sfcperf.hosts.procfs import memory_bytes, process_stat

MIB = 2**20


@pytest.fixture
def meter(tmp_path: Path) -> GuestMeter:
    return GuestMeter(LocalHost(tmp_path))


def test_cpu_time_is_what_psutil_counts(meter: GuestMeter) -> None:
    def judged() -> float:
        times = psutil.cpu_times()
        return float(times.user + times.nice + times.system + times.irq + times.softirq)

    before = judged()
    told = meter.cpu_s()
    after = judged()
    assert before - 0.05 <= told <= after + 0.05


def test_memory_is_what_psutil_counts(meter: GuestMeter) -> None:
    seen = psutil.virtual_memory()
    assert meter.memory_bytes() == pytest.approx(seen.total - seen.available, abs=256 * MIB)


def test_processes_are_those_of_the_machine(meter: GuestMeter) -> None:
    found = {stat.pid: stat for stat in map(process_stat, meter.processes())}
    own = found[os.getpid()]
    assert own.command == Path("/proc/self/comm").read_text().strip()
    judge = psutil.Process()
    assert own.rss_bytes == pytest.approx(judge.memory_info().rss, abs=64 * MIB)
    assert own.cpu_s <= sum(judge.cpu_times()[:2]) + 0.05
    assert os.getppid() in found
    assert os.getpid() in meter.pids()


@given(st.text())
def test_other_texts_are_refused(text: str) -> None:
    for read in (busy_cpu_s, memory_bytes):
        with pytest.raises(MeasurementError, match="does not say"):
            read(text)


@given(st.lists(st.integers(0, 2**40), min_size=10, max_size=10))
def test_idle_and_stolen_time_is_not_used(ticks: list[int]) -> None:
    user, nice, system, _, _, irq, softirq, *_ = ticks
    line = f"cpu  {' '.join(map(str, ticks))}\ncpu0 1 2 3\n"
    assert busy_cpu_s(line) == (user + nice + system + irq + softirq) / 100
