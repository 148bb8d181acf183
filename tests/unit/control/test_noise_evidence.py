"""What Linux says, from copies of /proc and /sys that are made up (a virtual machine hides its
frequency, and nobody steals on demand), and from the machine itself where that can be provoked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.trials import trial

from sfcperf.control.noise import proc
from sfcperf.control.noise.machine_noise import LOAD_S, LoadReading, quiet_evidence, under_load
from sfcperf.control.noise.proc import Machine
from sfcperf.control.noise.watch import NoiseWatch
from sfcperf.results import noise_gate
from sfcperf.workflow.model import NoiseGate

STAT = """cpu  300 0 100 1400 0 0 0 200 0 0
cpu0 100 0 50 800 0 0 0 50 0 0
cpu1 200 0 50 600 0 0 0 150 0 0
ctxt 5
procs_running 3
procs_blocked 0
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/pressure").mkdir(parents=True)
    (tmp_path / "proc/stat").write_text(STAT)
    (tmp_path / "proc/pressure/cpu").write_text(
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\nfull avg10=0.00 total=9\n"
    )
    (tmp_path / "proc/schedstat").write_text(
        "version 17\ntimestamp 1\ncpu0 0 0 0 0 0 0 10 2000 3\ncpu1 0 0 0 0 0 0 10 500 3\n"
    )
    return tmp_path


def test_times_queue_and_waiting(root: Path):
    machine = Machine(root)
    times = machine.cpu_times()
    assert (times[1].total, times[1].idle, times[1].steal) == (1000, 600, 150)
    assert machine.runnable() == 3
    assert machine.cpu_pressure_us() == 123456
    assert machine.run_delay_ns([0]) == 2000
    assert machine.run_delay_ns([0, 1]) == 2500
    assert machine.run_delay_ns([7]) is None


def test_frequency_by_what_the_machine_tells(root: Path):
    cpufreq = root / "sys/devices/system/cpu/cpu0/cpufreq"
    cpufreq.mkdir(parents=True)
    (cpufreq / "scaling_cur_freq").write_text("2100000\n")
    assert Machine(root).frequency_mhz([0]) == (2100.0, "cpufreq")
    (root / "proc/cpuinfo").write_text("processor\t: 1\ncpu MHz\t\t: 1800.5\nflags\t: fpu\n\n")
    assert Machine(root).frequency_mhz([1]) == (1800.5, "/proc/cpuinfo")
    (root / "proc/cpuinfo").write_text("processor: 1\ncpu MHz: 1800\nflags: fpu hypervisor\n\n")
    value, why = Machine(root).frequency_mhz([1])
    assert value is None
    assert "virtual machine" in why


def test_what_is_not_there_is_not_guessed(tmp_path: Path):
    machine = Machine(tmp_path)
    assert machine.cpu_times() == {}
    assert machine.runnable() is None
    assert machine.cpu_pressure_us() is None
    assert machine.run_delay_ns([0]) is None
    assert machine.frequency_mhz([0])[0] is None
    assert machine.throttle_events([0]) is None
    assert machine.processes(100) is None


def test_throttling_counts(root: Path):
    folder = root / "sys/devices/system/cpu/cpu0/thermal_throttle"
    folder.mkdir(parents=True)
    (folder / "core_throttle_count").write_text("12\n")
    assert Machine(root).throttle_events([0, 1]) == 12


@pytest.fixture
def busy() -> Iterator[int]:
    """A process of somebody else that wants a CPU, for ten seconds at most."""
    code = "import time\nend = time.monotonic() + 10\nwhile time.monotonic() < end: pass"
    # By a shell that ends at once: a child of ours would count as ours.
    argv = ["sh", "-c", '"$0" -c "$1" >/dev/null 2>&1 & echo $!', sys.executable, code]
    pid = int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_a_busy_stranger_is_seen_and_a_child_of_ours_is_not(busy: int):
    machine = Machine()
    before = machine.processes(5000)
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    time.sleep(0.5)
    after = machine.processes(5000)
    assert before is not None and after is not None
    own = proc.descendants(after, os.getpid()) | proc.descendants(before, os.getpid())
    assert busy not in own
    only = {pid: times for pid, times in before.items() if pid in own or pid == busy}
    only_after = {pid: times for pid, times in after.items() if pid in own or pid == busy}
    used = proc.cpu_s_between(only, only_after, own)
    assert 0 < used <= time.monotonic() - begin + 0.1


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ({"quiet_steal_ratio": 0.0501}, "steal 0.0501 > 0.05 before or after"),
        ({"run_queue": 0.5}, "run queue per CPU 0.5 > 0.25"),
        ({"other_cpu_ratio": 0.3}, "CPU used by others 0.3 > 0.25"),
        ({"frequency_drop_ratio": 0.25}, "frequency drop 0.25 > 0.1"),
        ({"throttle_events": 2}, "a CPU in use was throttled for heat (2 events)"),
    ],
)
def test_reasons_name_the_figure_and_the_limit(evidence: dict[str, float], reason: str):
    assert noise_gate.outside(evidence, NoiseGate()) == (f"noise gate: {reason}",)


def test_what_is_unknown_or_within_the_resolution_is_not_judged():
    assert noise_gate.outside({}, NoiseGate()) == ()
    assert noise_gate.outside({"quiet_steal_ratio": None, "run_queue": None}, NoiseGate()) == ()
    one_tick = {"quiet_steal_ratio": 0.06, "quiet_steal_resolution_ratio": 0.05}
    assert noise_gate.outside(one_tick, NoiseGate()) == ()
    assert noise_gate.outside({"quiet_steal_ratio": 0.9}, NoiseGate(max_steal_ratio=None)) == ()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_nothing_that_the_measured_value_drives_puts_a_trial_outside(
    steal: float, pressure: float, delay: float
):
    driven = {
        "steal_ratio": steal,
        "steal_resolution_ratio": 0.0,
        "cpu_pressure_ratio": pressure,
        "run_delay_ratio": delay,
        "busy_ratio": 1.0,
        "frequency_mhz": 1.0,
    }
    assert noise_gate.outside(driven, NoiseGate()) == ()
    assert bool(noise_gate.steal_meanwhile(driven, NoiseGate())) == (steal > 0.05)


def test_the_worse_of_two_readings_under_load_counts():
    quiet, noisy = LoadReading(0, 20, 2000.0), LoadReading(5, 25, 1500.0)
    for readings in ([quiet, noisy], [noisy, quiet]):
        assert quiet_evidence(readings) == {
            "quiet_steal_ratio": 0.2,
            "quiet_steal_resolution_ratio": 0.04,
            "quiet_frequency_mhz": 1500.0,
        }
    assert set(quiet_evidence([LoadReading(0, 0, None)]).values()) == {None}
    assert set(quiet_evidence([]).values()) == {None}


def test_a_load_keeps_the_cpus_busy_and_then_lets_go():
    usable = os.sched_getaffinity(0)
    begin = time.monotonic()
    # There is no CPU of this number: it is left out.
    found = under_load(Machine(), [*sorted(usable), 8191])
    assert time.monotonic() - begin >= LOAD_S * len(usable) / (len(usable) + 1) * 0.9
    assert os.sched_getaffinity(0) == usable
    assert found.wanted_ticks >= 0.5 * 100 * LOAD_S
    assert 0 <= found.stolen_ticks <= found.wanted_ticks


def test_the_frequency_under_load_is_the_one_that_is_compared():
    """Of the measurement, it may follow what is measured."""
    watch = NoiseWatch([], gated=True)
    for quiet, seen in ((2000.0, 900.0), (2000.0, 2000.0)):
        watch.complete("", {"quiet_frequency_mhz": quiet, "frequency_mhz": seen})
    found = watch.complete("", {"quiet_frequency_mhz": 1500.0})
    assert (found["frequency_reference_mhz"], found["frequency_drop_ratio"]) == (2000.0, 0.25)


def test_each_machine_is_compared_with_itself():
    evidence = {"machines": {"node2": {"frequency_mhz": 1000.0}}, "frequency_mhz": 3000.0}
    watch = NoiseWatch([trial(noise=evidence)])
    found = watch.complete("node2", {"frequency_mhz": 1000.0})
    assert found["frequency_drop_ratio"] == 0.0


def test_the_gate_says_which_machine_was_not_quiet():
    evidence = {"run_queue": 0.0, "machines": {"node2": {"run_queue": 0.9}}}
    [reason] = noise_gate.outside(evidence, NoiseGate())
    assert "node2" in reason
