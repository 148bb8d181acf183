"""Admission: what can be refused is refused before anything is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sfcperf import plugins
from sfcperf.drivers.base import Driver, DriverContext, Resource
from sfcperf.environment import gather
from sfcperf.errors import WorkflowError
from sfcperf.workflow.model import Infrastructure, Scenario, Workflow
from sfcperf.workflow.variants import LEVEL, in_shared_document

_NOWHERE = Path("/nonexistent/sfcperf-admission")
"""Never made: a killed command leaves nothing that `clean` does not know of."""


def admit(workflow: Workflow) -> None:
    """Ask the driver, or that of each variant, whether it can build every scenario.

    Raises WorkflowError or EnvironmentLacks.
    """
    if not workflow.variants:
        _admit(Infrastructure(workflow.driver, workflow.config), workflow.scenarios)
        return
    errors: dict[str, WorkflowError] = {}
    for variant in workflow.variants:
        scenarios = [s for s in workflow.scenarios if s.levels[LEVEL] == variant.name]
        try:
            _admit(workflow.infrastructure_of(scenarios[0]), scenarios)
        except WorkflowError as error:
            errors[variant.name] = error
    if errors:
        in_shared_document(workflow.document, workflow.variants, errors).raise_any()


def _admit(infrastructure: Infrastructure, scenarios: Sequence[Scenario]) -> None:
    _driver(infrastructure).admit(scenarios)


def check_elsewhere(workflow: Workflow) -> None:
    """What infrastructures lack that are not this machine: a run that is planned here and done on
    another machine meets the same ones. Raises EnvironmentLacks."""
    for infrastructure in workflow.infrastructures:
        driver: type[Driver] = plugins.load("driver", infrastructure.driver)
        if driver.elsewhere:
            gather.refuse_unmet(driver.requirements(infrastructure.config))
            _afford(workflow, infrastructure)


def afford(workflow: Workflow) -> None:
    """Ask the infrastructures whether they have room for it now. Raises EnvironmentLacks."""
    for infrastructure in workflow.infrastructures:
        _afford(workflow, infrastructure)


def _afford(workflow: Workflow, infrastructure: Infrastructure) -> None:
    _driver(infrastructure).afford(_scenarios(workflow, infrastructure))


def _scenarios(workflow: Workflow, infrastructure: Infrastructure) -> list[Scenario]:
    return [s for s in workflow.scenarios if workflow.infrastructure_of(s) == infrastructure]


def _driver(infrastructure: Infrastructure) -> Driver:
    """One that only answers."""
    context = DriverContext(
        run_id="admission",
        tag="000000",
        config=infrastructure.config,
        journal=_NothingIsMade(),
        state_dir=_NOWHERE,
        raw_dir=_NOWHERE,
        log=lambda text: None,
    )
    driver: type[Driver] = plugins.load("driver", infrastructure.driver)
    return driver(context)


def check(workflow: Workflow) -> None:
    """The whole check before a run: what the driver can build, what the machine offers, and whether
    the infrastructure has room."""
    admit(workflow)
    gather.check(workflow)
    afford(workflow)
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
