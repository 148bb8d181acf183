"""Clocks of hosts: which hosts share one, and how far another host's clock is from ours."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_TRIES = 3
_TIMEOUT_S = 30.0
_NS_PER_S = 1_000_000_000
# The shells of busybox and bash tell the time by $EPOCHREALTIME; other shells need `date`. That of
# busybox knows no fractions and prints %N as it is; then busybox's shell is asked.
_TELL = """
case $EPOCHREALTIME in ?*) echo "$EPOCHREALTIME"; exit ;; esac
told=$(date +%s.%N)
case $told in *N) exec busybox sh -c 'echo "$EPOCHREALTIME"' ;; esac
echo "$told"
"""


def kernel(host: Host) -> str:
    """An id of the host's running kernel. Hosts with the same id share their clocks. Raises
    MeasurementError."""
    return host.read_text(_BOOT_ID).strip()


def of_this_kernel(host: Host) -> bool:
    """Whether the host runs on the kernel that we run on. Raises MeasurementError."""
    return kernel(host) == Path(_BOOT_ID).read_text().strip()


def shared(hosts: Iterable[Host]) -> bool:
    """Whether all of them run on one kernel. Raises MeasurementError."""
    return len({kernel(host) for host in hosts}) <= 1


def offset_ns(host: Host) -> int:
    """Unix time of the host less ours, nanoseconds; 0 where both are one clock.

    The host is asked a few times, and the fastest round trip counts. The host is taken to have read
    its clock in the middle of it (as NTP does, RFC 5905, section 8), so the error is half of the
    round trip at most. Raises MeasurementError.
    """
    if of_this_kernel(host):
        return 0
    answers = []
    for _ in range(_TRIES):
        asked_ns = time.monotonic_ns()
        answer = host.run(["sh", "-c", _TELL], timeout_s=_TIMEOUT_S).text
        took_ns = time.monotonic_ns() - asked_ns
        answers.append((took_ns, unix_ns(answer) - (time.time_ns() - took_ns // 2)))
    return min(answers)[1]


def unix_ns(text: str) -> int:
    """Convert `SECONDS.FRACTION` to nanoseconds; digits after the ninth are dropped. Raises
    MeasurementError for anything else."""
    seconds, _, fraction = text.strip().partition(".")
    digits = fraction[:9]
    if not (seconds.isascii() and seconds.isdigit() and digits.isascii() and digits.isdigit()):
        raise MeasurementError(f"the host's clock cannot be read: it says {text.strip()!r}")
    return int(seconds) * _NS_PER_S + int(digits.ljust(9, "0"))
