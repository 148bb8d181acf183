"""Admission: what can be refused is refused before anything is made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sfcperf import plugins
from sfcperf.drivers.base import DriverContext, Resource
from sfcperf.environment import gather
from sfcperf.workflow.model import Workflow

_NOWHERE = Path("/nonexistent/sfcperf-admission")
"""Never made: a killed command leaves nothing that `clean` does not know of."""


def admit(workflow: Workflow) -> None:
    """Ask the driver whether it can build every scenario.

    Raises WorkflowError or EnvironmentLacks.
    """
    driver_class = plugins.load("driver", workflow.driver)
    context = DriverContext(
        run_id="admission",
        tag="000000",
        config=workflow.config,
        journal=_NothingIsMade(),
        state_dir=_NOWHERE,
        raw_dir=_NOWHERE,
        log=lambda text: None,
    )
    driver_class(context).admit(workflow.scenarios)


def check(workflow: Workflow) -> None:
    """The whole check before a run: what the driver can build, and what the machine offers."""
    admit(workflow)
    gather.check(workflow)
    for spec in workflow.analyses:
        plugins.load("analysis", spec.analysis)(spec.parameters).check(workflow)


class _NothingIsMade:
    """The journal of a driver that only answers."""

    def intend(self, resources: Iterable[Resource]) -> None:
        """A driver that makes something here has a bug."""
        raise AssertionError(f"made while the workflow was admitted: {list(resources)}")

    def removed(self, resources: Iterable[Resource]) -> None:
        """Nothing to note."""

    def outstanding(self) -> list[Resource]:
        """Nothing."""
        return []
