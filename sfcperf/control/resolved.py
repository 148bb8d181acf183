"""Resolved: everything that the trials of a run depend on, with files and plug-in defaults filled
in.

A workflow is not complete by itself: VNFDs define resources, and plug-ins define defaults. Trials
of two sessions belong to one population only if both sessions resolved the workflow alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError, system_errors_as
from sfcperf.workflow.model import FunctionSpec, Scenario, Workflow

_SHOWN = 5
"""How many differences a message names."""


def resolved(workflow: Workflow) -> dict[str, Any]:
    """Map each scenario id to the scenario in plain JSON. A VNFD is represented by its file name
    and the SHA-256 of its content. With variants, each scenario has its driver and configuration.

    Raises InputError when a VNFD cannot be read.
    """
    scenarios = {scenario.id: scenario for scenario in workflow.scenarios}
    plain: dict[str, Any] = json.loads(json.dumps(scenarios, default=_plain))
    return plain


def check_unchanged(before: Mapping[str, Any], workflow: Workflow, where: str) -> None:
    """Refuse to continue a run whose workflow now resolves to something else.

    `before` is what `resolved` returned when the run began. Raises InputError that names the
    changes.
    """
    changes = list(_differences(before, resolved(workflow), ""))
    if changes:
        more = f", and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        raise InputError(
            "the scenarios of the workflow have changed since the run began: "
            + ", ".join(changes[:_SHOWN])
            + more,
            where=where,
            hint="restore VNFDs and plug-ins, or start a new run",
        )


def _plain(value: Any) -> Any:
    """Convert one value of a scenario that JSON does not know, one level deep: json.dumps calls
    this again for what is inside. A scenario's `infrastructure` and `services` are left out if it
    has none, and paths in knobs are those of the workflow."""
    if is_dataclass(value):
        document = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, Scenario) and value.infrastructure is None:
            # Without variants the infrastructure is not part of a scenario.
            del document["infrastructure"]
        if isinstance(value, Scenario) and not value.services:
            del document["services"]
        if isinstance(value, FunctionSpec):
            del document["files"]
            document["knobs"] = value.knobs_as_written
        return document
    if isinstance(value, Path):
        return {"file": value.name, "sha256": _sha256(value)}
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} does not belong into a scenario: {value!r}")


def _sha256(path: Path) -> str:
    with system_errors_as(InputError, "the VNF descriptor cannot be read", where=path):
        return hashlib.sha256(path.read_bytes()).hexdigest()


def _differences(before: Any, now: Any, at: str) -> Iterator[str]:
    """Yield a line for each value that differs, with its place as a JSON pointer. `at` is the
    place of `before` and `now`. A key that is missing counts as null."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*before, *now]):
            yield from _differences(before.get(key), now.get(key), f"{at}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _differences(old, new, f"{at}/{index}")
    # In Python, 1 and True are equal.
    elif before != now or isinstance(before, bool) != isinstance(now, bool):
        yield f"{at} was {json.dumps(before)} and is {json.dumps(now)}"
