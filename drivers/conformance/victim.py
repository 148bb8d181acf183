"""The process that is killed while it deploys: `python -m sfcperf.drivers.conformance.victim FILE`.

It says on stdout what it is at, a line each: `deploying`, `standing`.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.drivers.journal import FileJournal
from sfcperf.workflow.model import Scenario

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Order:
    """What it is to do."""

    driver: type[Driver]
    """By name in the pickle: its module is imported here."""
    config: Mapping[str, Any]
    tag: str
    journal: str
    state_dir: str
    raw_dir: str
    scenario: Scenario
    dies_when_intended: bool
    """As soon as the first resources are in the journal, and none of them is made."""


class DeadlyJournal(FileJournal):
    """Its process does not survive the first line."""

    def intend(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Written down, durably; that was all."""
        super().intend(resources, owner)
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Deploy, and wait for the end; that of the test, however it comes, is one as well."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    order: Order = pickle.loads(Path(sys.argv[1]).read_bytes())
    kind = DeadlyJournal if order.dies_when_intended else FileJournal
    context = DriverContext(
        run_id=f"conformance-{order.tag}",
        tag=order.tag,
        config=order.config,
        journal=kind(Path(order.journal)).of(0),
        state_dir=Path(order.state_dir),
        raw_dir=Path(order.raw_dir),
        log=lambda text: None,
    )
    driver = order.driver(context)
    print("deploying", flush=True)
    driver.deploy(order.scenario)
    print("standing", flush=True)
    # Not for ever: nobody may be left to kill it.
    time.sleep(600)


if __name__ == "__main__":
    # The class in the pickle is that of the module, not of the program.
    from sfcperf.drivers.conformance.victim import main as run

    run()
