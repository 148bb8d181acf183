"""Do workflow.applied.json and plan.json describe the same scenarios: one is executed by a replay,
the other was executed by the author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.package.verify.same import same, shown
from sfcperf.results.store import RunFile
from sfcperf.workflow.check import check_outline, check_sections
from sfcperf.workflow.document import Findings
from sfcperf.workflow.expand import Expansion, expand
from sfcperf.workflow.schema import own_schema
from sfcperf.workflow.variants import LEVEL, UNCHANGED, document_of, read_variants


def scenario_differences(applied: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the workflow states of a scenario, and the plan states otherwise or lacks. Neither
    plug-ins nor VNF descriptors are read: what the workflow leaves to them is not compared."""
    try:
        expected = list(_expected(applied))
    except InputError as error:
        yield f"{RunFile.WORKFLOW_APPLIED} is not valid: {error.message}"
        return
    resolved = plan["resolved"]
    ids = [f"s{number:03d}" for number in range(len(expected))]
    if ids != list(resolved):
        yield (
            f"{RunFile.WORKFLOW_APPLIED} has {count_text(len(ids), 'scenario')}, and "
            f"{RunFile.PLAN}/resolved {shown(list(resolved))}"
        )
        return
    for name, stated in zip(ids, expected, strict=True):
        for key, value in stated.items():
            # The plan of a run without services has no key `services`.
            found = resolved[name].get(key, [])
            if not _covers(value, found):
                yield (
                    f"{RunFile.WORKFLOW_APPLIED} says for {name}/{key} {shown(value)}, and "
                    f"{RunFile.PLAN} {shown(found)}"
                )


def _expected(applied: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the workflow states of each scenario, in their order and with the keys of
    plan.json."""
    variants = read_variants(applied)
    for variant in variants or (UNCHANGED,):
        findings = Findings()
        own = document_of(applied, variant)
        check_outline(own, findings)
        expansion = expand(own, findings, max(1, len(variants)))
        check_sections(expansion, own_schema(), findings)
        yield from _scenarios(expansion, {LEVEL: variant.name} if variants else {})


def _scenarios(expansion: Expansion, variant: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what the document states of each scenario. Each section has the levels of the scenario
    in place of references to factors. `variant` is the level that names the variant, and comes
    before those of the factors; empty without variants."""
    for combination in expansion.combinations():
        sections = {
            section: forms[expansion.form_key(section, combination)].value
            for section, forms in expansion.forms.items()
        }
        labels = {factor: level.label for factor, level in combination.items()}
        yield {"levels": {**variant, **labels}, **_stated(sections)}


def _stated(sections: Mapping[str, Any]) -> dict[str, Any]:
    """What the expanded sections state of one scenario, with the keys that plan.json has in
    `resolved`."""
    topology = sections.get("topology", "T1")
    names = {"name": topology} if isinstance(topology, str) else _picked(topology, "name")
    return {
        "topology": names,
        **sections.get("endpoints", {}),
        "chain": _chain(sections.get("chain", {}), sections.get("vnfs", {})),
        "probes": [_instrument("probe", entry) for entry in sections.get("probes", ())],
        "monitors": [_instrument("monitor", entry) for entry in sections.get("monitors", ())],
        "services": _services(sections.get("services", {})),
    }


def _services(services: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Section `services` as plan.json has it."""
    return [
        {
            "name": name,
            "service": entry["service"],
            "parameters": {key: value for key, value in entry.items() if key != "service"},
        }
        for name, entry in services.items()
    ]


def _chain(chain: Mapping[str, Any], vnfs: Mapping[str, Any]) -> dict[str, Any]:
    """Section `chain` as plan.json has it, with what `vnfs` states of each function."""
    functions = [
        {"vnf": entry["vnf"], **_picked(vnfs.get(entry["vnf"], {}), "type", "knobs", "resources")}
        for entry in chain.get("functions", ())
        for _ in range(entry.get("count", 1))
    ]
    return {"functions": functions, **_picked(chain, "encapsulation", "reverse")}


def _instrument(kind: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `probes` or `monitors` as plan.json has it; `kind` is `probe` or `monitor`."""
    parameters = {key: value for key, value in entry.items() if key not in (kind, "name")}
    label = {"label": entry["name"]} if "name" in entry else {}
    return {kind: entry[kind], **label, "parameters": parameters}


def _picked(value: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Those of the keys that the value has, with their values."""
    return {key: value[key] for key in keys if key in value}


def _covers(stated: Any, found: Any) -> bool:
    """Whether all that is stated is found; what is found may have more keys."""
    if isinstance(stated, dict) and isinstance(found, dict):
        return all(key in found and _covers(stated[key], found[key]) for key in stated)
    if isinstance(stated, list) and isinstance(found, list):
        return len(stated) == len(found) and all(map(_covers, stated, found))
    return same(stated, found)
