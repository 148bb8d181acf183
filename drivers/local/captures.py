"""Captures: a capture on interfaces of several machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from sfcperf.drivers.local.capture import Capture, Frame
from sfcperf.drivers.local.machine import Machine
from sfcperf.errors import MeasurementError

_TURN_S = 0.02
"""How long each machine is asked for frames before the next one is, where there are several."""


class Captures:
    """Captures every frame of the interfaces from its creation until `close`, as Capture does.
    Frames of another machine have the stamps of its clock, less what it is estimated to be ahead of
    ours: stamps of two machines do not tell which frame came first."""

    def __init__(self, interfaces: Sequence[tuple[Machine, str, str, str]]) -> None:
        """Each of `interfaces` is (machine, name for `Frame.interface`, namespace, name of the
        interface there). Raises MeasurementError."""
        self.names = [name for _, name, _, _ in interfaces]
        self.frames: list[Frame] = []
        self._captures: dict[Machine, Capture] = {}
        self._offsets_ns: dict[Machine, int] = {}
        try:
            for machine in dict.fromkeys(machine for machine, *_ in interfaces):
                theirs = [
                    (name, namespace, inner)
                    for each, name, namespace, inner in interfaces
                    if each is machine
                ]
                self._offsets_ns[machine] = machine.clock_offset_ns()
                self._captures[machine] = machine.call(Capture, theirs)
        except BaseException:
            self.close()
            raise

    def collect(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Read frames into `frames` until `done` returns True or the time is over."""
        end = time.monotonic() + timeout_s
        while not done() and (left := end - time.monotonic()) > 0:
            self._read(left if len(self._captures) == 1 else min(left, _TURN_S))
        # Frames that crossed the other interfaces while the last one was read still wait in their
        # sockets.
        self._read(0)

    def close(self) -> None:
        """Stop capturing; `frames` keeps what was captured. A machine that is lost has stopped
        itself."""
        for capture in self._captures.values():
            with suppress(MeasurementError):
                capture.close()
        self._captures.clear()

    def _read(self, timeout_s: float) -> None:
        for machine, capture in self._captures.items():
            offset_ns = self._offsets_ns[machine]
            self.frames += (
                replace(frame, time_ns=frame.time_ns - offset_ns, machine=machine.name)
                for frame in capture.read(timeout_s)
            )
