"""A process that deploys a chain, to be killed meanwhile: `python -m MODULE FILE`.

It prints what it does, a line each: `deploying`, `deployed`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.base import Resource
from sfcperf.drivers.conformance.driver_run import RunFolders
from sfcperf.drivers.journal import FileJournal
from sfcperf.environment.parent import end_with
from sfcperf.workflow.model import Scenario


@dataclass(frozen=True)
class Task:
    """What the process deploys, and where."""

    folders: RunFolders
    """With the name of the driver's class, whose module is imported here."""
    scenario: Scenario
    dies_when_intended: bool
    """Whether it kills itself as soon as the first resources are in the journal, none created."""


class KillingJournal(FileJournal):
    """Kills its process after the first line."""

    def intend(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Record the resources, and kill the process."""
        super().intend(resources, owner)
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Deploy, and wait to be killed: by the test, or by its end."""
    end_with(os.getppid(), signal.SIGKILL)
    task: Task = pickle.loads(Path(sys.argv[1]).read_bytes())
    kind = KillingJournal if task.dies_when_intended else FileJournal
    folders = task.folders
    driver = folders.driver_class(folders.context(kind(folders.journal_file)))
    print("deploying", flush=True)
    driver.deploy(task.scenario)
    print("deployed", flush=True)
    # Not for ever: there may be no process left to kill it.
    time.sleep(600)


if __name__ == "__main__":
    # The pickle names the class by its module, not by __main__.
    from sfcperf.drivers.conformance.deploying_process import main as run

    run()
