"""Load: the way of a workflow from its file to immutable values, in the order of the steps.

    read_document      the file becomes a document                       document/reader.py
    customise          preset, profile or driver, and --set are applied  overrides.py
    read_variants      each variant gets a document of its own           variants.py
    expand             factors give each section its forms               expand.py
    check_sections     every form of every section fits the schema       check.py
    build_scenarios    forms become the scenarios of each variant        scenarios.py
    build_design, ...  the other sections become values       design.py, figures.py, claims.py
    workflow_of_run    a campaign repeats the workflow with other seeds  repeats.py

A step adds the mistakes that it finds to the `Findings`, and raises them if the next step needs
what is missing. They all have JSON pointers into the user's document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

from sfcperf.errors import WorkflowError
from sfcperf.workflow.check import check_outline, check_sections, named_plugins
from sfcperf.workflow.claims import build_claims, mark_removed
from sfcperf.workflow.design import build_design
from sfcperf.workflow.document import Findings
from sfcperf.workflow.document.reader import clean
from sfcperf.workflow.expand import expand
from sfcperf.workflow.figures import build_figures
from sfcperf.workflow.model import Variant, Workflow
from sfcperf.workflow.overrides import customise
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.scenarios import ScenarioSet, build_scenarios, plugin_specs
from sfcperf.workflow.schema import compose
from sfcperf.workflow.services import check_same
from sfcperf.workflow.variants import (
    UNCHANGED,
    check_comparable,
    document_of,
    in_shared_document,
    merge,
    read_variants,
)


def load_document(
    document: Mapping[str, Any],
    folder: Path,
    *,
    overrides: Sequence[str] = (),
    driver: str | None = None,
    profile: Profile | None = None,
    within: Path | None = None,
) -> Workflow:
    """Load a workflow from a document. Relative paths in it start at `folder`. If the document is
    not trusted, `within` is the folder that they must not leave (None: they may lead anywhere).

    `overrides` are `PATH=VALUE` (sfcperf.workflow.overrides). `driver` replaces the document's
    driver. If it is a different one, the document's `infrastructure.config` is dropped, and only
    the driver's defaults and overrides of `infrastructure.config` apply. `profile` replaces the
    whole infrastructure. Loading `Workflow.document` again gives the same workflow.

    Raises WorkflowError (`where`: JSON pointer into the document, other findings in `others`),
    InputError (override), EnvironmentLacks (a plug-in that cannot be imported).
    """
    whole = clean(document)
    # A copy: overrides change the values inside, and the levels of both are compared.
    applied = customise(deepcopy(whole), overrides, driver, profile)
    mark_removed(whole, applied)
    variants = read_variants(applied)
    sides = variants or (UNCHANGED,)
    sets: dict[str, ScenarioSet] = {}
    errors: dict[str, WorkflowError] = {}
    for variant in sides:
        with _kept_errors(errors, variant) as findings:
            own = document_of(applied, variant)
            check_outline(own, findings)
            expansion = expand(own, findings, len(sides))
            schema = compose(named_plugins(expansion))
            check_sections(expansion, schema, findings)
            sets[variant.name] = build_scenarios(expansion, folder, within, findings)
    if variants and not errors:
        errors = check_comparable(sets)
    findings = in_shared_document(applied, variants, errors)
    if len(sets) < len(sides):
        findings.raise_any()
    # With all sets there, `_build` also checks the other sections, and raises all errors together.
    scenario_set = merge(sets) if variants else sets[UNCHANGED.name]
    return _build(applied, folder, variants, scenario_set, findings)


@contextmanager
def _kept_errors(errors: dict[str, WorkflowError], variant: Variant) -> Iterator[Findings]:
    """Keep the errors of a variant in `errors` instead of raising them, so that the errors of other
    variants are found, too. Yields the findings for the block to add to; all that they have at its
    end, or that the block raises, becomes the variant's error."""
    findings = Findings()
    try:
        yield findings
        findings.raise_any()
    except WorkflowError as error:
        errors[variant.name] = error


def _build(
    document: Mapping[str, Any],
    folder: Path,
    variants: tuple[Variant, ...],
    scenario_set: ScenarioSet,
    findings: Findings,
) -> Workflow:
    """Build the workflow from its scenarios and the other sections. Raises WorkflowError for errors
    that are in `findings` already or found here."""
    scenarios = scenario_set.scenarios
    design = build_design(document.get("design", {}), scenarios, findings)
    analyses = plugin_specs(
        "analysis", document.get("analyses", []), "analyses", "analysis", findings.add
    )
    publish = document.get("publish", [{"to": "report"}])
    publishers = plugin_specs("publisher", publish, "publish", "to", findings.add)
    check_same(scenarios, findings)
    # Figures are checked against the scenarios, so these must be complete: errors end the build.
    findings.raise_any()
    figures = build_figures(document.get("figures", []), scenario_set.factors, scenarios, findings)
    claims = build_claims(document.get("claims", []), scenarios, findings)
    findings.raise_any()
    return Workflow(
        name=document["name"],
        description=document.get("description", ""),
        driver=scenario_set.infrastructure.driver,
        config=scenario_set.infrastructure.config,
        scenarios=scenarios,
        design=design,
        publish=publishers,
        figures=figures,
        document=document,
        folder=folder,
        variants=variants,
        analyses=analyses,
        claims=claims,
        vnfds=scenario_set.descriptors,
    )
