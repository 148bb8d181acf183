"""Checks before a run: what can be refused is refused before anything is created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial

from sfcperf import plugins
from sfcperf.drivers.base import Driver
from sfcperf.environment import gather
from sfcperf.errors import InputError, WorkflowError
from sfcperf.passive.base import Monitor
from sfcperf.workflow.model import Infrastructure, Scenario, Workflow
from sfcperf.workflow.variants import LEVEL, in_shared_document
from sfcperf.workflow.vnfd import read_descriptor


def validate(workflow: Workflow) -> None:
    """Ask the driver whether it can build every scenario, and the monitors whether they can observe
    it. With variants, the driver of each variant is asked, and all errors are raised together.

    Raises WorkflowError or EnvironmentLacks.
    """
    if not workflow.variants:
        _validate(Infrastructure(workflow.driver, workflow.config), workflow.scenarios)
        return
    errors: dict[str, WorkflowError] = {}
    for variant in workflow.variants:
        scenarios = [s for s in workflow.scenarios if s.levels[LEVEL] == variant.name]
        try:
            _validate(workflow.infrastructure_of(scenarios[0]), scenarios)
        except WorkflowError as error:
            errors[variant.name] = error
    if errors:
        in_shared_document(workflow.document, workflow.variants, errors).raise_any()


def _validate(infrastructure: Infrastructure, scenarios: Sequence[Scenario]) -> None:
    """Check the scenarios of one infrastructure. Errors of a monitor name its place in the
    workflow. Raises WorkflowError or EnvironmentLacks."""
    # A driver checks by class methods: it is asked without being started.
    driver = _driver(infrastructure)
    driver.validate(infrastructure.config, scenarios)
    for scenario in scenarios:
        for number, spec in enumerate(scenario.monitors):
            kind: type[Monitor] = plugins.load("monitor", spec.monitor)
            observable = partial(driver.observable, infrastructure.config, scenario)
            try:
                kind.check_scenario(spec.parameters, scenario, observable)
            except InputError as error:
                parameter = "" if error.where is None else f"/{error.where}"
                where = f"/monitors/{number}{parameter}"
                raise error.as_kind(WorkflowError, where=where) from error


def warnings(workflow: Workflow) -> list[str]:
    """Collect what VNF descriptors ask for and nobody uses, and what monitors say about scenarios
    that they can observe (Monitor.scenario_warnings). Each is one line for the user. Raises
    InputError."""
    return [*_of_descriptors(workflow), *_of_monitors(workflow)]


def _of_descriptors(workflow: Workflow) -> list[str]:
    """A warning for each VNF descriptor of the workflow that asks for something nobody uses."""
    found: dict[str, None] = {}
    for scenario in workflow.scenarios:
        # Where hosts are other machines, a cloud may know the flavor.
        here = not _driver(workflow.infrastructure_of(scenario)).elsewhere
        for spec in scenario.chain.functions:
            if spec.vnfd is None:
                continue
            descriptor = read_descriptor(spec.vnfd)
            unused = list(descriptor.unused)
            if here and descriptor.flavor and None in (descriptor.vcpus, descriptor.memory_mib):
                unused.append(f"flavor {descriptor.flavor}: no cloud knows its size here")
            if unused:
                found[f"warning: /vnfs/{spec.vnf}/vnfd: not used: {', '.join(unused)}"] = None
    return list(found)


def _of_monitors(workflow: Workflow) -> list[str]:
    """Each warning of a monitor once, with the number of scenarios if it is not about all of
    them."""
    counts: Counter[str] = Counter(
        f"warning: /monitors/{number}: {text}"
        for scenario in workflow.scenarios
        for number, spec in enumerate(scenario.monitors)
        for text in plugins.load("monitor", spec.monitor).scenario_warnings(
            spec.parameters, scenario
        )
    )
    number = len(workflow.scenarios)
    return [
        text if times == number else f"{text} (in {times} of {number} scenarios)"
        for text, times in counts.items()
    ]


def choices(workflow: Workflow) -> list[str]:
    """Collect what drivers choose where the workflow leaves it open (Driver.choices)."""
    return [
        line
        for infrastructure in workflow.infrastructures
        for line in _driver(infrastructure).choices(
            infrastructure.config, _scenarios(workflow, infrastructure)
        )
    ]


def check_remote(workflow: Workflow) -> None:
    """Check those infrastructures that are not this machine. It is for a run that is planned here
    and executed on another machine: that one uses the same infrastructures. Raises
    EnvironmentLacks."""
    for infrastructure in workflow.infrastructures:
        driver = _driver(infrastructure)
        if driver.elsewhere:
            gather.refuse_unmet(driver.requirements(infrastructure.config))
            driver.check_capacity(infrastructure.config, _scenarios(workflow, infrastructure))


def check(workflow: Workflow) -> None:
    """Make all checks before a run: what the driver can build, what the machine offers, whether the
    infrastructure has room, and whether the analyses fit. Raises InputError or EnvironmentLacks."""
    validate(workflow)
    gather.check(workflow)
    for infrastructure in workflow.infrastructures:
        scenarios = _scenarios(workflow, infrastructure)
        _driver(infrastructure).check_capacity(infrastructure.config, scenarios)
    for spec in workflow.analyses:
        plugins.load("analysis", spec.name)(spec.parameters).check(workflow)


def _driver(infrastructure: Infrastructure) -> type[Driver]:
    """Class of the infrastructure's driver."""
    driver: type[Driver] = plugins.load("driver", infrastructure.driver)
    return driver


def _scenarios(workflow: Workflow, infrastructure: Infrastructure) -> list[Scenario]:
    """Scenarios of the workflow that this infrastructure holds."""
    return [s for s in workflow.scenarios if workflow.infrastructure_of(s) == infrastructure]
