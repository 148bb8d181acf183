"""Admission: what can be refused is refused before anything is made."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from sfcperf import plugins
from sfcperf.control.journal import FileJournal
from sfcperf.drivers.base import DriverContext
from sfcperf.environment import gather
from sfcperf.workflow.model import Workflow


def admit(workflow: Workflow) -> None:
    """Ask the driver whether it can build every scenario.

    Raises WorkflowError or EnvironmentLacks.
    """
    driver_class = plugins.load("driver", workflow.driver)
    with TemporaryDirectory(prefix="sfcperf-admission-") as folder:
        context = DriverContext(
            run_id="admission",
            tag="000000",
            config=workflow.config,
            journal=FileJournal(Path(folder) / "journal.jsonl"),
            state_dir=Path(folder),
            raw_dir=Path(folder),
            log=lambda text: None,
        )
        driver_class(context).admit(workflow.scenarios)


def check(workflow: Workflow) -> None:
    """The whole check before a run: what the driver can build, and what the machine offers."""
    admit(workflow)
    gather.check(workflow)
