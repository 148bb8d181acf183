"""Interrupts at random moments of a command: none of them runs on behind the tear-down's back."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from sfcperf import waiting
from sfcperf.control.interrupts import Interrupted, Interrupts
from sfcperf.drivers.local.network import remove_namespace
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import run

pytestmark = pytest.mark.root


def add(name: str) -> None:
    run(["ip", "netns", "add", name], timeout_s=30)


def send_after(delay_s: float) -> threading.Thread:
    def send() -> None:
        time.sleep(delay_s)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.mark.parametrize("times", [100, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_interrupted_while_it_makes_a_namespace(times: int) -> None:
    prefix = f"interrupted-{os.getpid()}"
    latest_s, unfinished = 0.02, 0
    for number in range(times):
        name = f"{prefix}-{number}"
        made = False
        with Interrupts() as interrupts:
            sending = send_after(random.uniform(0, latest_s))
            with pytest.raises(Interrupted):
                try:
                    with interrupts.allowed:
                        add(name)
                        made = True
                        waiting.sleep(60)
                finally:
                    remove_namespace(name)
            sending.join()
        unfinished += not made
        # The command takes longer on a busy machine: half of the signals come before its end.
        latest_s *= 0.8 if made else 1.25
    # Time for a command that nobody knows of any more to do its work.
    time.sleep(0.5)
    assert list(Path(NETNS_FOLDER).glob(f"{prefix}*")) == []
    assert unfinished > times / 10
