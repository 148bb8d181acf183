"""A process that deploys a chain, to be killed meanwhile: `python -m MODULE FILE`.

FILE has a pickled Task. The process prints what it does, a line each: `deploying`, `deployed`.
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
    """Folders of the run, and the driver's class; reading the task imports the class's module."""
    scenario: Scenario
    dies_when_intended: bool
    """Whether it kills itself as soon as the first resources are in the journal, none created."""


class KillingJournal(FileJournal):
    """A journal that kills its process as soon as it has recorded the first resources."""

    def intend(self, resources: Iterable[Resource], owner: int = 0) -> None:
        """Record the resources, and kill the process."""
        super().intend(resources, owner)
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Deploy, then wait to be killed: by the test, or, when the test's own process ends, by the
    kernel."""
    end_with(os.getppid(), signal.SIGKILL)
    task: Task = pickle.loads(Path(sys.argv[1]).read_bytes())
    kind = KillingJournal if task.dies_when_intended else FileJournal
    folders = task.folders
    driver = folders.driver_class(folders.context(kind(folders.journal_file)))
    print("deploying", flush=True)
    driver.deploy(task.scenario)
    print("deployed", flush=True)
    # The wait has an end, because there may be no process left that kills this one.
    time.sleep(600)


if __name__ == "__main__":
    # `main` is called as a function of the module, because the pickle names the class by its
    # module, and not by __main__.
    from sfcperf.drivers.conformance.deploying_process import main as run

    run()
