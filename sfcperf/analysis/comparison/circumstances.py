"""In what the runs differ besides their results: machine, versions, infrastructure, workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from sfcperf.analysis.comparison.result import Difference
from sfcperf.analysis.comparison.sides import Measured
from sfcperf.errors import InputError

Kind = Literal["host", "versions", "infrastructure", "workflow", "variant"]

_OF_THE_MOMENT = frozenset(
    {
        "load",
        "cpu.frequency_khz",
        "cpu.nominal_mhz",
        "memory.available_bytes",
        "memory.swap_used_bytes",
        "memory.total_bytes",
    }
)
"""Host facts that differ between two looks at the same machine (memory by what the kernel keeps
for itself; see `_memory`)."""

_MEMORY_THAT_MATTERS = 0.02
_NOT_MEASURING = frozenset({"name", "description", "publish", "figures", "presets", "preset"})
"""Parts of a workflow that change no number."""


def differences(baseline: Measured, candidate: Measured) -> list[Difference]:
    """What a reader should know before he puts a difference down to the candidate."""
    if _same_run(baseline, candidate):
        return list(_variants(baseline, candidate))
    found: list[Difference] = []
    for kind, a, b in _documents(baseline, candidate):
        flat_a, flat_b = dict(_flat(a)), dict(_flat(b))
        found += [
            Difference(candidate.name, kind, name, flat_a.get(name), flat_b.get(name))
            for name in dict.fromkeys([*flat_a, *flat_b])
            if flat_a.get(name) != flat_b.get(name)
        ]
    return found


def _same_run(a: Measured, b: Measured) -> bool:
    return a.side.store.folder.resolve() == b.side.store.folder.resolve()


def _variants(a: Measured, b: Measured) -> Iterator[Difference]:
    changes = {v["name"]: dict(v["changes"]) for v in a.manifest.get("variants") or ()}
    of_a, of_b = (changes.get(side.side.variant, {}) for side in (a, b))
    for name in dict.fromkeys([*of_a, *of_b]):
        if of_a.get(name) != of_b.get(name):
            yield Difference(b.name, "variant", name, of_a.get(name), of_b.get(name))


def _documents(a: Measured, b: Measured) -> Iterator[tuple[Kind, Any, Any]]:
    yield "host", _host(a, b), _host(b, a)
    yield "versions", a.manifest["versions"], b.manifest["versions"]
    yield "infrastructure", _infrastructure(a), _infrastructure(b)
    yield "workflow", _workflow(a), _workflow(b)


def _host(side: Measured, other: Measured) -> dict[str, Any]:
    host = dict(_flat(side.manifest["host"]))
    facts = {
        name: value
        for name, value in host.items()
        if name not in _OF_THE_MOMENT and name.partition(".")[0] not in _OF_THE_MOMENT
    }
    mine, theirs = (s.manifest["host"]["memory"]["total_bytes"] for s in (side, other))
    if abs(mine - theirs) > _MEMORY_THAT_MATTERS * max(mine, theirs):
        facts["memory.total_bytes"] = mine
    return facts


def _infrastructure(side: Measured) -> dict[str, Any]:
    return {"driver": side.manifest["driver"], **side.manifest["infrastructure"]}


def _workflow(side: Measured) -> dict[str, Any]:
    """Empty when the run folder has none: results can still be compared."""
    try:
        document = side.side.store.workflow()[0]
    except InputError:
        return {}
    return {name: value for name, value in document.items() if name not in _NOT_MEASURING}


def _flat(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves by their dotted path; lists of plain values are leaves."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, list) and any(isinstance(item, Mapping) for item in document):
        for index, item in enumerate(document):
            yield from _flat(item, f"{path}.{index}")
    else:
        yield path, document
