"""Services of a scenario: builds them, and checks whatever refers to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sfcperf import plugins
from sfcperf.errors import InputError
from sfcperf.workflow.document import Findings, choices, listing, pointer
from sfcperf.workflow.document.likeness import check_alike
from sfcperf.workflow.model import FunctionSpec, Scenario, ServiceSpec
from sfcperf.workflow.schema import parameters_with_defaults
from sfcperf.workflow.topology import Report


def build_services(value: Mapping[str, Any], report: Report) -> tuple[ServiceSpec, ...]:
    """Build the services in their order. Report a service that uses one which is not before it."""
    check_alike(("services",), value, report)
    specs: list[ServiceSpec] = []
    for name, entry in value.items():
        kind = entry["service"]
        values = {key: item for key, item in entry.items() if key != "service"}
        parameters = parameters_with_defaults("service", kind, values)
        check_parameters(("services", name), "service", kind, parameters, report)
        before = [spec.name for spec in specs]
        for used in plugins.load("service", kind).uses(parameters):
            if used not in before:
                report(
                    ("services", name),
                    f"it uses the service {used!r}, which is not started before it",
                    allowed=f"a service above it: {listing(before)}",
                    hint="services are started in the order of the workflow",
                )
        specs.append(ServiceSpec(name, kind, parameters))
    return tuple(specs)


def check_parameters(
    path: pointer.Path, kind: str, name: str, parameters: Mapping[str, Any], report: Report
) -> None:
    """Report parameters of a plug-in that fit the schema but not each other. `path` is where the
    document has them; `kind` and `name` are the plug-in's."""
    try:
        plugins.load(kind, name).check(parameters)
    except InputError as error:
        # The plug-in names a parameter, or `PARAMETER/KEY`.
        key = [int(p) if pointer.is_index(p) else p for p in (error.where or "").split("/")]
        report((*path, *key), error.message, allowed=error.allowed, hint=error.hint)


def check_references(
    functions: Iterable[FunctionSpec], services: Iterable[ServiceSpec], report: Report
) -> None:
    """Report knobs of functions that name services which are not in the workflow."""
    known = [spec.name for spec in services]
    for function in functions:
        references = plugins.load("vnf", function.type).services(function.knobs)
        for knob, name in references.items():
            if name not in known:
                report(
                    ("vnfs", function.vnf, "knobs", knob),
                    f"there is no service {name!r}",
                    **choices(name, known),
                )


def check_same(scenarios: Sequence[Scenario], findings: Findings) -> None:
    """Find services, or their parameters, that differ between scenarios. A service lives as long as
    the run, so only parameters that it lists as `per_chain` may differ."""
    expected = {spec.name: spec for spec in scenarios[0].services} if scenarios else {}
    for scenario in scenarios[1:]:
        found = {spec.name: spec for spec in scenario.services}
        if list(found) != list(expected):
            findings.add(
                "/services",
                f"scenarios have different services: {listing(expected)}, and {listing(found)}",
                allowed="the same services in all scenarios",
            )
            continue
        for name, spec in found.items():
            _check_spec(expected[name], spec, findings)


def _check_spec(expected: ServiceSpec, found: ServiceSpec, findings: Findings) -> None:
    """Report how a service of a scenario (`found`) differs from the first scenario's service of the
    same name (`expected`)."""
    path = ("services", found.name)
    if found.service != expected.service:
        findings.add((*path, "service"), "it is the same in all scenarios")
        return
    per_chain = plugins.load("service", found.service).per_chain
    for key in sorted(expected.parameters.keys() | found.parameters.keys()):
        if key not in per_chain and found.parameters.get(key) != expected.parameters.get(key):
            findings.add(
                (*path, key),
                f"{key} is the same in all scenarios: the service lives as long as the run",
                allowed=f"what may vary: {listing(sorted(per_chain))}",
            )
