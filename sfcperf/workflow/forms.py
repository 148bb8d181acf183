"""Forms: what each variant of a workflow became, and all of them as one experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.errors import WorkflowError
from sfcperf.workflow.expand import MAX_SCENARIOS, Level
from sfcperf.workflow.findings import Findings, listing
from sfcperf.workflow.model import Infrastructure, ProbeSpec, Scenario
from sfcperf.workflow.variants import LEVEL


@dataclass(frozen=True)
class Form:
    """A document, expanded: that of one variant, or all of them together."""

    infrastructure: Infrastructure
    factors: Mapping[str, tuple[Level, ...]]
    scenarios: tuple[Scenario, ...]
    descriptors: Mapping[str, Path]
    """VNF descriptors that it refers to: path as given -> file."""


def merge(forms: Mapping[str, Form]) -> Form:
    """The scenarios of all variants in one numbering; `variant` is the first of their levels, and
    varies slowest. The infrastructure is the baseline's."""
    baseline = next(iter(forms.values()))
    variants = tuple(Level(name, name, ("variants", name)) for name in forms)
    scenarios = [
        replace(
            scenario,
            levels={LEVEL: name, **scenario.levels},
            infrastructure=form.infrastructure,
        )
        for name, form in forms.items()
        for scenario in form.scenarios
    ]
    return Form(
        baseline.infrastructure,
        {LEVEL: variants, **baseline.factors},
        tuple(replace(each, id=f"s{number:03d}") for number, each in enumerate(scenarios)),
        {given: file for form in forms.values() for given, file in form.descriptors.items()},
    )


def check_comparable(forms: Mapping[str, Form]) -> dict[str, WorkflowError]:
    """Each scenario is measured in all variants, by probes of the same labels and metrics; gives
    what keeps a variant from being compared with the first. (The scenarios themselves are the
    same, since factors are.) Raises WorkflowError when there are too many of them together."""
    (_, baseline), *others = forms.items()
    count = sum(len(form.scenarios) for form in forms.values())
    if count > MAX_SCENARIOS:
        raise WorkflowError(
            f"{len(forms)} variants of {len(baseline.scenarios)} scenarios are {count} scenarios",
            where="/variants",
            allowed=f"up to {MAX_SCENARIOS} scenarios in one workflow",
        )
    expected = [_reported(scenario.probes) for scenario in baseline.scenarios]
    errors: dict[str, WorkflowError] = {}
    for name, form in others:
        findings = Findings()
        for wanted, scenario in zip(expected, form.scenarios, strict=True):
            _check_probes(wanted, _reported(scenario.probes), findings)
        # Each scenario says the same again: once is enough.
        if first := next(iter(findings), None):
            errors[name] = first
    return errors


def _check_probes(
    wanted: Mapping[str, frozenset[Any]], given: Mapping[str, frozenset[Any]], findings: Findings
) -> None:
    if wanted.keys() != given.keys():
        findings.add(
            "/probes",
            f"its probes are {listing(given)}, and those of the first variant {listing(wanted)}: "
            "they cannot be compared",
            hint="give a probe whose parameters differ the same `name` in all variants",
        )
        return
    for label, metrics in wanted.items():
        if given[label] != metrics:
            findings.add(
                "/probes",
                f"the probe {label!r} reports {_names(given[label])}, and that of the first "
                f"variant {_names(metrics)}: they cannot be compared",
                hint="give it another `name` in all variants, or the same parameters",
            )


def _reported(probes: tuple[ProbeSpec, ...]) -> dict[str, frozenset[Any]]:
    """Label -> metrics with their units."""
    return {
        probe.label: frozenset(
            (metric.name, metric.unit)
            for metric in plugins.load("probe", probe.probe).metrics(probe.parameters)
        )
        for probe in probes
    }


def _names(metrics: frozenset[Any]) -> str:
    return listing(sorted(f"{name} ({unit})" for name, unit in metrics))
