"""Load: from a workflow file to a validated, expanded Workflow.

    read_document -> customise (preset, profile or driver, --set) -> variants
                  -> for each: expand (factors) -> schema -> scenarios

Whatever is wrong is told together, with JSON pointers into the user's document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.errors import WorkflowError
from sfcperf.workflow import pointer
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.document import clean, read_document
from sfcperf.workflow.expand import FIXED, VARYING, Expansion, expand
from sfcperf.workflow.figures import build_figures
from sfcperf.workflow.findings import Findings
from sfcperf.workflow.forms import Form, check_comparable, merge
from sfcperf.workflow.model import (
    AnalysisSpec,
    Design,
    Infrastructure,
    PublishSpec,
    StopWhen,
    Variant,
    Workflow,
)
from sfcperf.workflow.noise_gate import build_noise_gate, sentinel_probe
from sfcperf.workflow.overrides import customise
from sfcperf.workflow.plan_document import plan_document
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.scenarios import ScenarioBuilder
from sfcperf.workflow.schema import (
    SLOTS,
    compose,
    effective_schema,
    outline,
    parameters_of,
    section_schema,
)
from sfcperf.workflow.validate import Misfit, misfits
from sfcperf.workflow.variants import blame, document_of, read_variants

__all__ = [
    "effective_schema",
    "expand",
    "load_document",
    "load_workflow",
    "plan_document",
]

DEFAULT_MAX_ROUNDS = 20
"""Of sequential stopping, unless more rounds are planned anyway."""


def load_workflow(
    path: Path,
    *,
    overrides: Sequence[str] = (),
    driver: str | None = None,
    profile: Profile | None = None,
) -> Workflow:
    """A workflow from its file.

    `overrides` are `PATH=VALUE` (sfcperf.workflow.overrides). `driver` replaces the file's driver;
    when it is another one, the file's `infrastructure.config` is dropped with it and the named
    driver's defaults count, with whatever overrides say about `infrastructure.config`. `profile`
    takes the place of the file's whole infrastructure.

    Raises WorkflowError (`where`: JSON pointer into the document, other findings in `others`),
    InputError (file, syntax, override), EnvironmentLacks (a plug-in that cannot be imported).
    """
    document = read_document(path)
    folder = path.resolve().parent
    return load_document(document, folder, overrides=overrides, driver=driver, profile=profile)


def load_document(
    document: Mapping[str, Any],
    folder: Path,
    *,
    overrides: Sequence[str] = (),
    driver: str | None = None,
    profile: Profile | None = None,
) -> Workflow:
    """A workflow from a document, e.g. the one kept in a run folder; relative paths in it start
    at `folder`. Loading `Workflow.document` again gives the same workflow. Raises as
    `load_workflow`."""
    given = clean(document)
    _check_early(given, "presets", "preset")
    chosen = customise(given, overrides, driver, profile)
    _check_early(chosen, "variants")
    findings = Findings()
    variants = read_variants(chosen, findings)
    findings.raise_any()
    if not variants:
        form = _form(chosen, folder, findings)
        return _build(chosen, folder, form, findings)
    forms = _forms(chosen, folder, variants, findings)
    return _build(chosen, folder, merge(forms), findings, variants)


def _check_early(document: Mapping[str, Any], *keys: str) -> None:
    """Sections that are applied to the others, and gone when these are looked at."""
    schema = compose(())
    findings = Findings()
    for key in keys:
        if key in document:
            _add(findings, misfits(section_schema(schema, key), document[key]), (key,))
    findings.raise_any()


def _forms(
    document: Mapping[str, Any], folder: Path, variants: tuple[Variant, ...], findings: Findings
) -> dict[str, Form]:
    """Each variant's form. Raises when one is wrong, or when they cannot be compared."""
    forms: dict[str, Form] = {}
    errors: dict[str, WorkflowError] = {}
    for variant in variants:
        try:
            own = document_of(document, variant)
        except WorkflowError as error:
            findings.take(error)
            continue
        wrong = Findings()
        try:
            forms[variant.name] = _form(own, folder, wrong)
            wrong.raise_any()
        except WorkflowError as error:
            errors[variant.name] = error
    if not findings and not errors:
        errors = check_comparable(forms)
    for finding in blame(document, variants, errors):
        findings.take(finding)
    findings.raise_any()
    return forms


def _form(document: Mapping[str, Any], folder: Path, findings: Findings) -> Form:
    """The scenarios of a document, of a variant or the only one; what contradicts itself is noted.

    Raises when it cannot even be expanded, or does not fit the schema.
    """
    expansion = _expand(document, findings)
    _check_sections(expansion, findings)
    builder = ScenarioBuilder(expansion, folder, findings)
    infrastructure = expansion.document["infrastructure"]
    driver = infrastructure["driver"]
    config = with_defaults(parameters_of("driver", driver), infrastructure.get("config", {}))
    return Form(
        Infrastructure(driver, config), expansion.factors, builder.build(), builder.descriptors
    )


def _expand(document: Mapping[str, Any], findings: Findings) -> Expansion:
    """Raises when references cannot be replaced; a wrong outline is noted only."""
    schema = compose(())
    _add(findings, misfits(outline(schema), document))
    if "factors" in document:
        found = misfits(section_schema(schema, "factors"), document["factors"])
        _add(findings, found, ("factors",))
        if found:
            findings.raise_any()
    try:
        return expand(document)
    except WorkflowError as error:
        findings.take(error)
        findings.raise_any()
        raise


def _check_sections(expansion: Expansion, findings: Findings) -> None:
    """Every form of every section fits the schema, the plug-ins' parameters included."""
    document = expansion.document
    varying = [
        (section, combination, expansion.section(section, combination))
        for section in VARYING
        if section in document
        for combination in expansion.variants(section)
    ]
    fixed = {key: document[key] for key in FIXED if key in document and key != "factors"}
    used = _used_plugins([fixed, *({name: value} for name, _, value in varying)])
    schema = compose(used)
    for key, value in fixed.items():
        _add(findings, misfits(section_schema(schema, key), value), (key,))
    for section, combination, value in varying:
        for misfit in misfits(section_schema(schema, section), value):
            where, levels = expansion.locate((section, *misfit.path), combination)
            message = misfit.message + levels
            findings.add(where, message, allowed=misfit.allowed, hint=misfit.hint)
    findings.raise_any()


def _used_plugins(documents: Iterable[Mapping[str, Any]]) -> set[tuple[str, str]]:
    """(kind, name) of the installed plug-ins that (parts of) documents name, whatever else is
    wrong with these."""
    used = set()
    for document in documents:
        for slot, value in _choices(document):
            name = value.get(slot.selector) if isinstance(value, dict) else None
            if isinstance(name, str) and name in plugins.names(slot.kind):
                used.add((slot.kind, name))
    return used


def _choices(document: Mapping[str, Any]) -> Iterable[tuple[Any, Any]]:
    driver, vnf, probe, monitor, publisher, analysis = SLOTS
    yield driver, document.get("infrastructure")
    vnfs = document.get("vnfs")
    yield from ((vnf, value) for value in (vnfs.values() if isinstance(vnfs, dict) else ()))
    yield probe, sentinel_probe(document)
    lists = (
        (probe, "probes"),
        (monitor, "monitors"),
        (publisher, "publish"),
        (analysis, "analyses"),
    )
    for slot, section in lists:
        values = document.get(section)
        yield from ((slot, value) for value in (values if isinstance(values, list) else ()))


def _build(
    document: Mapping[str, Any],
    folder: Path,
    form: Form,
    findings: Findings,
    variants: tuple[Variant, ...] = (),
) -> Workflow:
    design = _design(document.get("design", {}), findings)
    analyses = _analyses(document.get("analyses", []), findings)
    publish = _publish(document.get("publish", [{"to": "report"}]), findings)
    findings.raise_any()
    figures = build_figures(document.get("figures", []), form.factors, form.scenarios, findings)
    findings.raise_any()
    return Workflow(
        name=document["name"],
        description=document.get("description", ""),
        driver=form.infrastructure.driver,
        config=form.infrastructure.config,
        scenarios=form.scenarios,
        design=design,
        publish=publish,
        figures=figures,
        document=document,
        folder=folder,
        variants=variants,
        analyses=analyses,
        vnfds=form.descriptors,
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


def _analyses(given: Sequence[Mapping[str, Any]], findings: Findings) -> tuple[AnalysisSpec, ...]:
    specs: dict[str, AnalysisSpec] = {}
    for index, entry in enumerate(given):
        name = entry["analysis"]
        if name in specs:
            findings.add(f"/analyses/{index}/analysis", f"the analysis {name!r} is there already")
        parameters = {key: item for key, item in entry.items() if key != "analysis"}
        filled = with_defaults(parameters_of("analysis", name), parameters)
        specs[name] = AnalysisSpec(name, filled)
    return tuple(specs.values())


def _publish(given: Sequence[Mapping[str, Any]], findings: Findings) -> tuple[PublishSpec, ...]:
    specs: dict[str, PublishSpec] = {}
    for index, entry in enumerate(given):
        name = entry["to"]
        if name in specs:
            findings.add(f"/publish/{index}/to", f"the publisher {name!r} is there already")
        parameters = {key: item for key, item in entry.items() if key != "to"}
        filled = with_defaults(parameters_of("publisher", name), parameters)
        specs[name] = PublishSpec(name, filled)
    return tuple(specs.values())


def _add(findings: Findings, found: Iterable[Misfit], at: pointer.Path = ()) -> None:
    for misfit in found:
        where = pointer.to_pointer((*at, *misfit.path))
        findings.add(where, misfit.message, allowed=misfit.allowed, hint=misfit.hint)
