"""Captures on interfaces of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.network.wires import Lab, space

from sfcperf.drivers.local.capture import Capture, send
from sfcperf.errors import MeasurementError

pytestmark = pytest.mark.root
FRAME = bytes.fromhex("020000000002 020000000001 88b5") + b"stamped" * 8


@contextmanager
def no_cpu_for_kernel_workers() -> Iterator[None]:
    """This thread is on one CPU, which a process with a real-time priority keeps busy: for 0.95 s
    of each second, none but this thread gets a share."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cpus)})
    hog = subprocess.Popen(["chrt", "--fifo", "1", sys.executable, "-c", "while True: pass"])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    try:
        time.sleep(0.2)  # until it runs
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        hog.send_signal(signal.SIGKILL)
        hog.wait()
        os.sched_setaffinity(0, cpus)


@pytest.mark.exhaustive
def test_frames_have_the_times_at_which_they_came(tmp_path: Path) -> None:
    """Not those at which they were read: a worker of the kernel begins to stamp frames some time
    after it was asked to, long after when the machine is busy."""
    with Lab(tmp_path) as lab:
        here, there = lab.join((lab.host("a"), "a0"), (lab.host("b"), "b0"))
        wire, other = here.wire(), there.wire()
        with no_cpu_for_kernel_workers():
            capture = Capture([("b", space(there.host), there.interface)])
            wire.send([FRAME])
            other.receive_until(lambda frame: frame == FRAME)
            arrived_ns = time.time_ns()
            capture.collect(lambda: bool(capture.frames), timeout_s=5)
        capture.close()
        (stamp_ns,) = (frame.time_ns for frame in capture.frames if frame.data == FRAME)
        assert stamp_ns < arrived_ns


def test_what_is_missing_is_named_and_no_socket_stays_open(tmp_path: Path) -> None:
    with Lab(tmp_path) as lab:
        here, _ = lab.join((lab.host("a"), "a0"), (lab.host("b"), "b0"))
        there = ("a", space(here.host), here.interface)
        before = [*Path("/proc/self/fd").iterdir()]
        for namespace in (there[1], "sfcperf-no-space"):
            with pytest.raises(MeasurementError, match="none") as raised:
                Capture([there, ("x", namespace, "none")])
            assert raised.value.where == namespace
            # `raised` still holds the Capture that failed.
            assert [*Path("/proc/self/fd").iterdir()] == before
            with pytest.raises(MeasurementError, match="none"):
                send(namespace, "none", [])
