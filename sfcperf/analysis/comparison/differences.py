"""Differences between runs besides their results: machine, versions, infrastructure, workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from sfcperf.analysis.comparison.result import Difference
from sfcperf.analysis.comparison.sides import MeasuredSide
from sfcperf.errors import InputError
from sfcperf.workflow.model import Variant
from sfcperf.workflow.variants import document_of

Kind = Literal["host", "versions", "infrastructure", "workflow", "variant"]

_TRANSIENT = frozenset(
    {
        "load",
        "cpu.frequency_khz",
        "cpu.nominal_mhz",
        "memory.available_bytes",
        "memory.swap_used_bytes",
        "memory.total_bytes",
    }
)
"""Host facts that vary on one machine and are not reported. Total memory is reported all the same
if it differs by more than _MEMORY_TOLERANCE."""

_MEMORY_TOLERANCE = 0.02
"""Share of the larger total memory."""
_WITHOUT_EFFECT = frozenset({"name", "description", "publish", "figures", "presets", "preset"})
"""Parts of a workflow that do not affect the measurement."""


def differences(baseline: MeasuredSide, candidate: MeasuredSide) -> list[Difference]:
    """List the conditions that differ between the sides and may explain different results: of two
    variants of one run, their settings; of different runs, the conditions of the first run of each
    side."""
    if baseline.is_same_run(candidate):
        return list(_variants(baseline, candidate))
    documents: list[tuple[Kind, Any, Any]] = [
        ("host", _host(baseline, candidate), _host(candidate, baseline)),
        ("versions", baseline.manifest["versions"], candidate.manifest["versions"]),
        ("infrastructure", _infrastructure(baseline), _infrastructure(candidate)),
        ("workflow", _workflow(baseline), _workflow(candidate)),
    ]
    found: list[Difference] = []
    for kind, a, b in documents:
        flat_a, flat_b = dict(_flat(a)), dict(_flat(b))
        found += [
            Difference(candidate.name, kind, name, flat_a.get(name), flat_b.get(name))
            for name in dict.fromkeys([*flat_a, *flat_b])
            if flat_a.get(name) != flat_b.get(name)
        ]
    return found


def _variants(a: MeasuredSide, b: MeasuredSide) -> Iterator[Difference]:
    """Yield the settings in which two variants of one run differ. Where only one variant changes a
    setting, the other has the workflow's value."""
    changes = {v["name"]: dict(v["changes"]) for v in a.manifest.get("variants") or ()}
    of_a, of_b = (
        _varied(side, Variant(side.side.variant or "", changes.get(side.side.variant, {})))
        for side in (a, b)
    )
    for name in dict.fromkeys([*of_a, *of_b]):
        if of_a.get(name) != of_b.get(name):
            yield Difference(b.name, "variant", name, of_a.get(name), of_b.get(name))


def _varied(side: MeasuredSide, variant: Variant) -> dict[str, Any]:
    """Return the workflow of a variant: dotted path -> value. If the run folder has no workflow,
    return only what the variant changes in it."""
    try:
        document = side.side.store.workflow()[0]
        return dict(_flat(document_of(document, variant)))
    except InputError:
        return dict(variant.changes)


def _host(side: MeasuredSide, other: MeasuredSide) -> dict[str, Any]:
    """Return the lasting facts of a side's host: dotted path -> value. Total memory is among them
    only if the other side's differs by more than the tolerance."""
    host = dict(_flat(side.manifest["host"]))
    facts = {
        name: value
        for name, value in host.items()
        if name not in _TRANSIENT and name.partition(".")[0] not in _TRANSIENT
    }
    size, other_size = (s.manifest["host"]["memory"]["total_bytes"] for s in (side, other))
    if abs(size - other_size) > _MEMORY_TOLERANCE * max(size, other_size):
        facts["memory.total_bytes"] = size
    return facts


def _infrastructure(side: MeasuredSide) -> dict[str, Any]:
    return {"driver": side.manifest["driver"], **side.manifest["infrastructure"]}


def _workflow(side: MeasuredSide) -> dict[str, Any]:
    """Return the parts of the workflow that affect the measurement. Empty if the run folder has no
    workflow: its results can still be compared."""
    try:
        document = side.side.store.workflow()[0]
    except InputError:
        return {}
    return {name: value for name, value in document.items() if name not in _WITHOUT_EFFECT}


def _flat(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a document with their dotted paths; a list of plain values is a leaf."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, list) and any(isinstance(item, Mapping) for item in document):
        for index, item in enumerate(document):
            yield from _flat(item, f"{path}.{index}")
    else:
        yield path, document
