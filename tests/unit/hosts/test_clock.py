"""Clocks of hosts that are ours, and of one that is off by a known time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfcperf.errors import MeasurementError
from sfcperf.hosts import clock
from sfcperf.hosts.base import CompletedCommand
from sfcperf.hosts.namespace import LocalHost

NS_PER_S = 1_000_000_000


class Elsewhere(LocalHost):
    """Claims to be another machine, whose clock is `ahead_s` ahead of ours."""

    def __init__(self, folder: Path, ahead_s: int, shell: str = "sh") -> None:
        super().__init__(folder)
        self.ahead_s = ahead_s
        self.shell = shell

    def read_text(self, path: str) -> str:
        return "another\n" if path.endswith("boot_id") else super().read_text(path)

    def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
        done = super().run([*self.shell.split(), *argv[1:]], **how)
        whole, _, fraction = done.text.strip().partition(".")
        told = f"{int(whole) + self.ahead_s}.{fraction}\n"
        return CompletedCommand(done.argv, done.returncode, told.encode(), done.stderr)


def test_hosts_of_this_machine_share_our_clock(tmp_path: Path) -> None:
    here = [LocalHost(tmp_path), LocalHost(tmp_path)]
    assert clock.shared(here)
    assert clock.shared([])
    assert clock.of_this_kernel(here[0])
    assert clock.offset_ns(here[0]) == 0
    assert not clock.shared([*here, Elsewhere(tmp_path, 0)])


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox sh"])
@pytest.mark.parametrize("ahead_s", [-86_400, 3])
def test_another_clock_is_found_by_any_shell(tmp_path: Path, shell: str, ahead_s: int) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"{shell} is not here")
    started = time.monotonic_ns()
    found = clock.offset_ns(Elsewhere(tmp_path, ahead_s, shell))
    took = time.monotonic_ns() - started
    assert abs(found - ahead_s * NS_PER_S) <= took


def test_a_shell_and_a_date_that_know_no_fractions(tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None or shutil.which("dash") is None:
        pytest.skip("busybox or dash is not here")
    for name in ("busybox", "date"):
        (tmp_path / name).symlink_to(busybox)
    guest = Elsewhere(tmp_path, 3, f"env PATH={tmp_path} {shutil.which('dash')}")
    assert abs(clock.offset_ns(guest) - 3 * NS_PER_S) < NS_PER_S


@given(st.integers(0, 2**33), st.integers(0, 999_999_999))
def test_time_is_read_to_the_nanosecond(seconds: int, rest: int) -> None:
    assert clock.unix_ns(f"{seconds}.{rest:09d}\n") == seconds * NS_PER_S + rest
    assert (
        clock.unix_ns(f"{seconds}.{rest // 1000:06d}") == seconds * NS_PER_S + rest // 1000 * 1000
    )


@given(st.text().filter(lambda text: "." not in text))
@example("1700000000.%N\n")
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(MeasurementError, match="clock cannot be read"):
        clock.unix_ns(text)
