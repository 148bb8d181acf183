"""Overrides: `--set PATH=VALUE`, presets, a profile, and another driver, applied to a document.

A path is dotted (`design.rounds`, `probes.0.count`) or a JSON pointer (`/design/rounds`, for keys
that contain dots). A value is JSON, or otherwise a string. The last part of a path may be new, and
so may objects on the way to it that the schema declares; everything else must exist.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from sfcperf.errors import InputError, WorkflowError
from sfcperf.workflow.check import section_misfits
from sfcperf.workflow.document import Findings, choices, listing, pointer
from sfcperf.workflow.document.reader import clean, parse
from sfcperf.workflow.profile import Profile
from sfcperf.workflow.schema import own_schema

DEFAULT_DRIVER = "local"
_PRESET = "preset"


@dataclass(frozen=True)
class Override:
    """One value that is set in a document."""

    path: tuple[str, ...]
    """Keys, and indices as text, that lead to the value."""
    value: Any
    source: str
    """The override as the user wrote it, for messages."""


def parse_override(text: str) -> Override:
    """Parse `PATH=VALUE` as typed on the command line. Raises InputError."""
    path, separator, value = text.partition("=")
    source = f"--set {text}"
    if not separator or not path:
        raise InputError(
            f"{text!r} is not PATH=VALUE", where="--set", allowed="e.g. design.rounds=5"
        )
    return Override(override_path(path, source), _value(value, source), source)


def customise(
    document: Mapping[str, Any],
    overrides: Sequence[str],
    driver: str | None,
    profile: Profile | None = None,
) -> dict[str, Any]:
    """Make the document that is run: apply the chosen preset, then the profile or the driver, then
    the overrides in their order. `preset` and `presets` are removed; `infrastructure` is always
    there afterwards.

    A profile replaces the whole section. A driver other than the document's starts from its own
    defaults, because the document's `config` is for the document's driver. Raises InputError or
    WorkflowError.
    """
    findings = Findings()
    for key in ("presets", _PRESET):
        findings.add_misfits(section_misfits(document, key))
    findings.raise_any()
    parsed = [parse_override(text) for text in overrides]
    presets = document.get("presets", {})
    preset = document.get(_PRESET)
    for override in parsed:
        if override.path == (_PRESET,):
            preset = override.value
    result = {key: item for key, item in document.items() if key not in ("presets", _PRESET)}
    result.setdefault("infrastructure", {"driver": DEFAULT_DRIVER})
    if preset is not None:
        for override in _changes_of(presets, preset):
            apply(result, override)
    if profile is not None:
        _apply_profile(result, profile, driver, parsed)
    elif driver is not None:
        _choose_driver(result, f"--driver {driver}", driver, parsed)
    for override in parsed:
        if override.path != (_PRESET,):
            apply(result, override)
    return result


def _changes_of(presets: Mapping[str, Mapping[str, Any]], preset: Any) -> list[Override]:
    """The changes of the preset with this name, as overrides. Raises WorkflowError if there is
    none."""
    if not isinstance(preset, str) or preset not in presets:
        raise WorkflowError(
            f"there is no preset {preset!r}",
            where="/presets" if presets else "",
            **choices(preset, presets),
        )
    return [
        Override(override_path(path, f"preset {preset}"), value, f"preset {preset}: {path}")
        for path, value in presets[preset].items()
    ]


def _apply_profile(
    document: dict[str, Any], profile: Profile, driver: str | None, overrides: list[Override]
) -> None:
    """Replace the infrastructure by the profile's. Raises InputError if other options contradict
    it."""
    option = f"--profile {profile.source}"
    if driver is not None and driver != profile.driver:
        raise InputError(
            f"--driver {driver} contradicts {option}, which is for the driver {profile.driver}",
            hint="use only one of them",
        )
    # Called for its errors: the line after it replaces what it sets.
    _choose_driver(document, option, profile.driver, overrides)
    document["infrastructure"] = {"driver": profile.driver, "config": deepcopy(profile.config)}


def _choose_driver(
    document: dict[str, Any], option: str, driver: str, overrides: list[Override]
) -> None:
    """Set the driver that `option` (as the user typed it) chooses. A driver other than the
    document's gets no configuration. Raises InputError if an override or a variant names another
    driver."""
    for override in overrides:
        if override.path == ("infrastructure", "driver") and override.value != driver:
            raise InputError(
                f"{option} and {override.source} contradict each other",
                hint="use only one of them",
            )
    if chosen := _choosing_variants(document.get("variants")):
        raise InputError(
            f"{option} contradicts the variants: {listing(chosen)} names its own driver",
            hint=f"change it there: --set /variants/{chosen[0]}/infrastructure.driver={driver}",
        )
    infrastructure = document["infrastructure"]
    if not isinstance(infrastructure, dict) or infrastructure.get("driver") != driver:
        document["infrastructure"] = {"driver": driver}


def _choosing_variants(variants: Any) -> list[str]:
    """Names of the variants that choose a driver of their own."""
    documents = variants if isinstance(variants, dict) else {}
    paths = ("infrastructure", "/infrastructure", "infrastructure.driver", "/infrastructure/driver")
    return [
        name
        for name, changes in documents.items()
        if isinstance(changes, dict) and any(path in changes for path in paths)
    ]


def override_path(text: str, source: str) -> tuple[str, ...]:
    """Split a path, which is dotted or a JSON pointer, into its parts. Raises InputError."""
    path = pointer.parts(text) if text.startswith("/") else tuple(text.split("."))
    if "" in path:
        raise InputError(
            "a part of the path is empty", where=source, allowed="e.g. design.rounds=5"
        )
    return path


def _value(text: str, source: str) -> Any:
    """Read a value: JSON, or else the text itself. Raises InputError for values that a document
    must not have."""
    # Python's json decides whether it is JSON; `parse`, which is stricter, would refuse other text.
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        value: Any = text
    else:
        value = parse(text, source)
    try:
        return clean(value)
    except WorkflowError as error:
        raise InputError(error.message, where=source, allowed=error.allowed) from None


def apply(document: dict[str, Any], override: Override) -> None:
    """Set a value in a document. Raises InputError (`where`: the override's source) if the path
    does not exist."""
    *parents, last = override.path
    if override.path[0] in ("presets", _PRESET):
        raise InputError(
            "presets themselves cannot be changed",
            where=override.source,
            allowed="--set preset=NAME chooses one",
        )
    place: Any = document
    schema: Mapping[str, Any] = own_schema()
    for depth, part in enumerate(parents):
        place = _step(place, part, schema, override, depth)
        schema = _below(schema, part)
    if isinstance(place, dict):
        place[last] = override.value
    elif isinstance(place, list) and last == "-":
        place.append(override.value)
    elif isinstance(place, list):
        place[_index(place, last, override, len(parents))] = override.value
    else:
        raise _no_such_path(override, len(parents), "is neither an object nor a list")


def _step(place: Any, part: str, schema: Mapping[str, Any], override: Override, depth: int) -> Any:
    """Go down the path by `part`, the one at `depth`, and return what is there. An object that is
    absent is made if the schema of `place` declares it. Raises InputError if the part does not
    exist."""
    if isinstance(place, list):
        return place[_index(place, part, override, depth)]
    if not isinstance(place, dict):
        raise _no_such_path(override, depth, "is neither an object nor a list")
    if part not in place:
        if part not in schema.get("properties", {}) or _below(schema, part).get("type") != "object":
            raise _no_such_path(override, depth, f"has no {part!r}", **choices(part, place))
        place[part] = {}
    return place[part]


def _index(place: list[Any], part: str, override: Override, depth: int) -> int:
    """Convert a part of the path to an index of this list. Raises InputError if there is none."""
    # Longer numbers are no index, and Python refuses to convert very long ones.
    if part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(place):
        return int(part)
    allowed = f"0 to {len(place) - 1}, " if place else ""
    raise _no_such_path(
        override,
        depth,
        f"is a list of {len(place)} and has no {part!r}",
        f"{allowed}or - as the last part to append",
    )


def _no_such_path(
    override: Override,
    depth: int,
    reason: str,
    allowed: str | None = None,
    hint: str | None = None,
) -> InputError:
    """The error for a path of which only the first `depth` parts exist; it names these."""
    nearest = pointer.to_pointer(override.path[:depth])
    named = f"{nearest} exists, but it" if nearest else "the workflow"
    return InputError(
        f"this path does not exist: {named} {reason}",
        where=override.source,
        allowed=allowed,
        hint=hint,
    )


def _below(schema: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Schema of a key or an item. It is empty where the workflow's own schema says nothing, as for
    parameters of plug-ins."""
    below = schema.get("properties", {}).get(part)
    below = below or schema.get("additionalProperties") or schema.get("items")
    if not isinstance(below, Mapping):
        return {}
    if "$ref" in below:
        target: Mapping[str, Any] = own_schema()["$defs"][below["$ref"].split("/")[-1]]
        return target
    return below
