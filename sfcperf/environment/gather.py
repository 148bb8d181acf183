"""Requirements of the plug-ins: of all that are installed, or of those that a workflow uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sfcperf import plugins
from sfcperf.errors import EnvironmentLacks, SfcperfError
from sfcperf.plugins import Requirement
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Scenario, Workflow


def of_workflow(workflow: Workflow) -> list[Requirement]:
    """Collect what the drivers, VNF types, probes, monitors, publishers and services of a workflow
    need with its parameters. Each thing is listed once, in the order in which it was asked for."""
    return each_once(_of_workflow(workflow))


def of_installed(
    driver: str | None = None, config: Mapping[str, Any] | None = None
) -> list[Requirement]:
    """Collect what every installed plug-in needs with default parameters, each thing once; services
    are left out. With `driver`, the other drivers are left out, too. `config` is the configuration
    of that driver, valid and with its defaults filled in; None: the defaults alone."""
    return each_once(_of_installed(driver, config))


def check(workflow: Workflow) -> None:
    """Check before a run that the machine has all that the workflow needs. Raises EnvironmentLacks
    that names all that is missing."""
    refuse_unmet(of_workflow(workflow))


def refuse_unmet(requirements: Iterable[Requirement]) -> None:
    """Raise EnvironmentLacks that names all requirements that are not met."""
    missing = [need for need in requirements if not need.met]
    if missing:
        raise EnvironmentLacks(
            "the environment lacks " + "; ".join(f"{n.name} ({n.detail})" for n in missing),
            hint="; ".join(dict.fromkeys(need.remedy for need in missing if need.remedy)),
        )


def _of_workflow(workflow: Workflow) -> Iterator[Requirement]:
    """Yield the requirements behind `of_workflow`. What this kernel must have is left out for
    scenarios on other infrastructures."""
    for infrastructure in workflow.infrastructures:
        driver = plugins.load("driver", infrastructure.driver)
        yield from driver.requirements(infrastructure.config)
    for publisher in workflow.publish:
        yield from plugins.load("publisher", publisher.name).requirements()
    for spec in workflow.services:
        yield from plugins.load("service", spec.service).requirements(spec.parameters)
    for scenario in workflow.scenarios:
        name = workflow.infrastructure_of(scenario).driver
        elsewhere = plugins.load("driver", name).elsewhere
        for need in _of_scenario(scenario):
            if not (elsewhere and need.of_this_kernel):
                yield need


def _of_scenario(scenario: Scenario) -> Iterator[Requirement]:
    """Yield what the functions, probes and monitors of a scenario need."""
    for function in scenario.chain.functions:
        yield from plugins.load("vnf", function.type).requirements(function.knobs)
    for probe in scenario.probes:
        for name in probe.plugins:
            yield from plugins.load("probe", name).requirements()
    for monitor in scenario.monitors:
        yield from plugins.load("monitor", monitor.monitor).requirements()


def _of_installed(driver: str | None, config: Mapping[str, Any] | None) -> Iterator[Requirement]:
    """Yield the requirements behind `of_installed`. A driver whose infrastructure is not this
    machine is asked only if `driver` names it. Requirements of this kernel are left out then."""
    unasked = set() if driver else set(infrastructures_elsewhere())
    for name in [driver] if driver else plugins.names("driver"):
        if name not in unasked:
            yield from _of_plugin("driver", name, config)
    elsewhere = driver is not None and _is_elsewhere(driver)
    for kind in ("vnf", "probe", "monitor"):
        for name in plugins.names(kind):
            for need in _of_plugin(kind, name):
                if not (elsewhere and need.of_this_kernel):
                    yield need


def of_services() -> list[Requirement]:
    """Collect what the installed services need with default parameters. They are not part of
    `of_installed`, because a user of no service lacks nothing."""
    names = plugins.names("service")
    return each_once(need for name in names for need in _of_plugin("service", name))


def infrastructures_elsewhere() -> list[str]:
    """Names of the drivers whose infrastructure is not this machine. They are checked only when
    they are asked for, because a user of none of them lacks nothing."""
    return [name for name in plugins.names("driver") if _is_elsewhere(name)]


def _is_elsewhere(driver: str) -> bool:
    """Whether a driver's infrastructure is not this machine; False also if it is not known."""
    try:
        return bool(plugins.load("driver", driver).elsewhere)
    except SfcperfError:
        # The driver cannot be loaded: `_of_plugin` tells that as a requirement that is not met.
        return False


def _of_plugin(
    kind: str, name: str, config: Mapping[str, Any] | None = None
) -> Iterable[Requirement]:
    """Return what one plug-in needs, with a driver's configuration `config`, or with default
    parameters (None). A plug-in that does not work is returned as a requirement that is not met:
    one broken package must not hide what the others need."""
    try:
        plugin = plugins.load(kind, name)
        requirements: list[Requirement] = (
            plugin.requirements(config or with_defaults(plugin.parameters, {}))
            if kind in ("driver", "vnf", "service")
            else plugin.requirements()
        )
    except EnvironmentLacks as error:
        return [Requirement(f"{kind} {name}", False, error.message, error.hint or "")]
    except Exception as error:
        reason = f"its requirements cannot be determined: {type(error).__name__}: {error}"
        return [Requirement(f"{kind} {name}", False, reason, "repair or remove its package")]
    return requirements


def each_once(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Merge requirements of the same name, since several plug-ins may need one tool. The merged one
    is met only if all of them are."""
    seen: dict[str, Requirement] = {}
    for requirement in requirements:
        known = seen.get(requirement.name)
        if known is None or (known.met and not requirement.met):
            seen[requirement.name] = requirement
    return list(seen.values())
