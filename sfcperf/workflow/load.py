"""Load: from a workflow file to a validated, expanded Workflow.

    read_document -> customise (preset, profile or driver, --set) -> variants
                  -> for each: expand (factors) -> schema -> scenarios

All errors are reported together, with JSON pointers into the user's document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import Findings
from sfcperf.workflow.document.limits import MAX_TRIALS
from sfcperf.workflow.document.reader import clean
from sfcperf.workflow.expand import FIXED, VARYING, Expansion, expand
from sfcperf.workflow.figures import build_figures
from sfcperf.workflow.model import (
    Design,
    Infrastructure,
    Scenario,
    StopWhen,
    Variant,
    Workflow,
)
from sfcperf.workflow.noise_gate import build_noise_gate, sentinel_probe
from sfcperf.workflow.overrides import customise, parse_override
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.scenarios import Places, ScenarioBuilder, plugin_specs
from sfcperf.workflow.schema import (
    SLOTS,
    compose,
    outline,
    parameters_with_defaults,
)
from sfcperf.workflow.services import check_same
from sfcperf.workflow.validate import all_fit, misfits, section_misfits
from sfcperf.workflow.variants import (
    ExpandedDocument,
    check_comparable,
    check_size,
    document_of,
    in_shared_document,
    merge,
    read_variants,
)

DEFAULT_MAX_ROUNDS = 20
"""Maximum of sequential stopping, unless more rounds are planned."""


def load_document(
    document: Mapping[str, Any],
    folder: Path,
    *,
    overrides: Sequence[str] = (),
    driver: str | None = None,
    profile: Profile | None = None,
    within: Path | None = None,
) -> Workflow:
    """A workflow from a document; relative paths in it start at `folder`, and if it is not trusted,
    stay `within` one.

    `overrides` are `PATH=VALUE` (sfcperf.workflow.overrides). `driver` replaces the document's
    driver; if it is a different one, its `infrastructure.config` is dropped, and only the driver's
    defaults and overrides of `infrastructure.config` apply. `profile` replaces the whole
    infrastructure. Loading `Workflow.document` again gives the same workflow.

    Raises WorkflowError (`where`: JSON pointer into the document, other findings in `others`),
    InputError (override), EnvironmentLacks (a plug-in that cannot be imported).
    """
    given = clean(document)
    _check_early(given, "presets", "preset")
    chosen = customise(given, overrides, driver, profile)
    _check_early(chosen, "variants")
    findings = Findings()
    variants = read_variants(chosen, findings)
    findings.raise_any()
    if not variants:
        return _build(chosen, folder, _expanded(chosen, (folder, within), findings), findings)
    check_size(chosen, variants)
    expanded = _expand_variants(chosen, (folder, within), variants, findings)
    return _build(chosen, folder, merge(expanded), findings, variants)


def _check_early(document: Mapping[str, Any], *keys: str) -> None:
    """Check sections that are applied to the others, and removed before those are checked."""
    schema = compose(())
    findings = Findings()
    for key in keys:
        if key in document:
            findings.add_misfits(section_misfits(schema, key, document[key]))
    findings.raise_any()


def _expand_variants(
    document: Mapping[str, Any], places: Places, variants: tuple[Variant, ...], findings: Findings
) -> dict[str, ExpandedDocument]:
    """By name of the variant. Raises if one is wrong, or if they cannot be compared."""
    expanded: dict[str, ExpandedDocument] = {}
    errors: dict[str, WorkflowError] = {}
    for variant in variants:
        try:
            own = document_of(document, variant)
        except WorkflowError as error:
            findings.add_error(error)
            continue
        wrong = Findings()
        try:
            expanded[variant.name] = _expanded(own, places, wrong, len(variants))
            wrong.raise_any()
        except WorkflowError as error:
            errors[variant.name] = error
    if not findings and not errors:
        errors = check_comparable(expanded)
    for finding in in_shared_document(document, variants, errors):
        findings.add_error(finding)
    findings.raise_any()
    return expanded


def _expanded(
    document: Mapping[str, Any], places: Places, findings: Findings, variants: int = 1
) -> ExpandedDocument:
    """Expand the only document or that of a variant; contradictions are added to the findings.

    Raises if it cannot be expanded, or does not fit the schema.
    """
    expansion = _expand(document, findings, variants)
    _check_sections(expansion, findings)
    builder = ScenarioBuilder(expansion, places, findings)
    infrastructure = _infrastructure(expansion.document["infrastructure"])
    scenarios = builder.build()
    return ExpandedDocument(infrastructure, expansion.factors, scenarios, builder.descriptors)


def load_infrastructure(
    overrides: Sequence[str], driver: str | None, profile: Profile | None
) -> Infrastructure:
    """The infrastructure of a workflow without its own, run with these options.

    Raises InputError for an override of something else, WorkflowError for a configuration that the
    driver does not accept, EnvironmentLacks for a driver that cannot be imported.
    """
    for text in overrides:
        override = parse_override(text)
        if override.path[0] != "infrastructure":
            raise InputError(
                "without a workflow, only the infrastructure can be changed",
                where=override.source,
                allowed="--set infrastructure.config.KEY=VALUE",
            )
    section = customise({}, overrides, driver, profile)["infrastructure"]
    findings = Findings()
    # The driver's own schema can be composed only if the driver exists.
    for used in ([], ["driver"]):
        schema = compose([(kind, section[kind]) for kind in used])
        findings.add_misfits(section_misfits(schema, "infrastructure", section))
        findings.raise_any()
    return _infrastructure(section)


def _infrastructure(section: Mapping[str, Any]) -> Infrastructure:
    """From a section that fits the schema."""
    driver = section["driver"]
    config = parameters_with_defaults("driver", driver, section.get("config", {}))
    return Infrastructure(driver, config)


def _expand(document: Mapping[str, Any], findings: Findings, variants: int) -> Expansion:
    """Raises if references cannot be replaced; unknown or missing sections are only added to the
    findings."""
    schema = compose(())
    findings.add_misfits(misfits(outline(schema), document))
    if "factors" in document:
        found = section_misfits(schema, "factors", document["factors"])
        findings.add_misfits(found)
        if found:
            findings.raise_any()
    try:
        return expand(document, variants)
    except WorkflowError as error:
        findings.add_error(error)
        findings.raise_any()
        raise


def _check_sections(expansion: Expansion, findings: Findings) -> None:
    """Check every form of every section against the schema with the plug-ins' parameters."""
    document = expansion.document
    varying = [
        (section, combination, expansion.section(section, combination))
        for section in VARYING
        if section in document
        for combination in expansion.combinations(section)
    ]
    fixed = {key: document[key] for key in FIXED if key in document and key != "factors"}
    used = _used_plugins([fixed, *({name: value} for name, _, value in varying)])
    schema = compose(used)
    if all_fit(schema, [*fixed.items(), *((name, value) for name, _, value in varying)]):
        fixed, varying = {}, []
    for key, value in fixed.items():
        findings.add_misfits(section_misfits(schema, key, value))
    for section, combination, value in varying:
        for misfit in section_misfits(schema, section, value):
            where, levels = expansion.locate(misfit.path, combination)
            findings.add(where, misfit.message + levels, misfit.allowed, misfit.hint)
        if findings.are_many:
            break
    findings.raise_any()


def _used_plugins(documents: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """(kind, name) of the installed plug-ins that documents, which may have errors, name."""
    used = set()
    for document in documents:
        for slot in SLOTS:
            values = document.get(slot.section)
            if isinstance(values, dict):
                values = [values] if slot.kind == "driver" else list(values.values())
            values = values if isinstance(values, list) else []
            if slot.kind == "probe":
                values = [*values, sentinel_probe(document)]
            for value in values:
                name = value.get(slot.selector) if isinstance(value, dict) else None
                if isinstance(name, str) and name in plugins.names(slot.kind):
                    used.add((slot.kind, name))
    return used


def _build(
    document: Mapping[str, Any],
    folder: Path,
    expanded: ExpandedDocument,
    findings: Findings,
    variants: tuple[Variant, ...] = (),
) -> Workflow:
    design = _design(document.get("design", {}), findings)
    asked = document.get("analyses", [])
    analyses = plugin_specs("analysis", asked, "analyses", "analysis", findings.add)
    asked = document.get("publish", [{"to": "report"}])
    publishers = plugin_specs("publisher", asked, "publish", "to", findings.add)
    _check_trials(design, expanded.scenarios, findings)
    check_same(expanded.scenarios, findings)
    findings.raise_any()
    figures = build_figures(
        document.get("figures", []), expanded.factors, expanded.scenarios, findings
    )
    findings.raise_any()
    return Workflow(
        name=document["name"],
        description=document.get("description", ""),
        driver=expanded.infrastructure.driver,
        config=expanded.infrastructure.config,
        scenarios=expanded.scenarios,
        design=design,
        publish=publishers,
        figures=figures,
        document=document,
        folder=folder,
        variants=variants,
        analyses=analyses,
        vnfds=expanded.descriptors,
    )


def _check_trials(design: Design, scenarios: Sequence[Scenario], findings: Findings) -> None:
    in_round = sum(len(scenario.probes) for scenario in scenarios)
    trials = in_round * (design.rounds + design.warmup_rounds)
    if trials > MAX_TRIALS:
        findings.add(
            "/design/rounds",
            f"these rounds, with warm-up, have {trials} trials, {in_round} each",
            allowed=f"up to {MAX_TRIALS} trials in one workflow",
            hint="fewer rounds, levels or probes, or several workflows",
        )


def _design(given: Mapping[str, Any], findings: Findings) -> Design:
    schema = compose(())
    values = with_defaults({**schema["$defs"]["design"], "$defs": schema["$defs"]}, given)
    stop = values.pop("stop_when", None)
    values["noise_gate"] = build_noise_gate(values.pop("noise_gate", None), findings)
    if stop is None:
        return Design(**values, stop_when=None)
    rounds = values["rounds"]
    most = stop.get("max_rounds", max(rounds, DEFAULT_MAX_ROUNDS))
    if most < rounds:
        findings.add(
            "/design/stop_when/max_rounds",
            f"max_rounds {most} is less than rounds {rounds}",
            allowed=f"{rounds} or more",
        )
    return Design(**values, stop_when=StopWhen(stop["relative_half_width"], most))
