"""Expand: combines the levels of factors, and gives each section its form for each combination."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from sfcperf.workflow.document import Findings, choices, likeness, limits, pointer
from sfcperf.workflow.references import (
    Combination,
    Level,
    is_unfinished,
    is_whole,
    level_text,
    names_in,
    names_within,
    strings,
    substitute,
)

VARYING = ("topology", "endpoints", "vnfs", "chain", "probes", "monitors", "services")
"""Sections in which factors may be used; they make a scenario."""

FIXED = (
    "$schema",
    "sfcperf",
    "name",
    "description",
    "infrastructure",
    "factors",
    "design",
    "analyses",
    "publish",
    "figures",
    "claims",
)
"""Sections that are the same for the whole run."""

MAX_SCENARIOS = 1000
_MAX_LABEL = 200
"""Longest label by which results show a level, characters: as long as a level of text may be."""


@dataclass(frozen=True)
class Form:
    """A section of the document in which references are replaced."""

    levels: Combination
    """Levels of the factors that the section uses, by which the references were replaced."""
    value: Any
    """The section, expanded."""


class Expansion:
    """A document with its factors; all references in it are valid."""

    def __init__(self, document: Mapping[str, Any], factors: Mapping[str, tuple[Level, ...]]):
        self.document = document
        self.factors = factors

    def combinations(self) -> Iterator[Combination]:
        """Yield all combinations of levels; each is a scenario. The last factor varies fastest."""
        return _combinations(self.factors, self.factors)

    @cached_property
    def forms(self) -> Mapping[str, Mapping[tuple[Any, ...], Form]]:
        """All forms of each section of the document except `factors`, by their `form_key`."""
        forms: dict[str, dict[tuple[Any, ...], Form]] = {}
        for section in (*FIXED, *VARYING):
            if section in self.document and section != "factors":
                value = self.document[section]
                forms[section] = {
                    self.form_key(section, levels): Form(levels, substitute(value, levels))
                    for levels in _combinations(self.factors, self._used[section])
                }
        return forms

    def form_key(self, section: str, combination: Combination) -> tuple[Any, ...]:
        """Key of a section's form: combinations that give the section the same form have the same
        key."""
        return tuple(combination[name].path for name in self._used[section])

    def locate(
        self, path: pointer.Path, combination: Combination, *, whole: bool = False
    ) -> tuple[str, str]:
        """Find where the user can correct a value of the expanded document. `path` leads to the
        value there; `combination` has the levels with which it was expanded. Returns a JSON pointer
        into the user's document, and the end of a message: the levels that matter, ` with a = 1, b
        = 2`, or nothing if there are none.

        Inside of a level that is an object, the pointer leads to the factor. With `whole`, the
        levels of all references below the path are named as well.
        """
        # The user's document has only the beginning of the path if the rest is inside of a level.
        found = pointer.deepest(self.document, path)
        value = pointer.value_at(self.document, found)
        rest = path[len(found) :]
        if rest and isinstance(value, str) and is_whole(value):
            name = names_in(value)[0]
            inside = (*combination[name].path, *rest)
            where = pointer.to_pointer(pointer.deepest(self.document, inside))
            return where, self._levels_text({name}, combination)
        where = pointer.to_pointer(found)
        names = names_within(value) if whole or isinstance(value, str) else set()
        return where, self._levels_text(names, combination)

    @cached_property
    def _used(self) -> dict[str, list[str]]:
        """Section -> names of the factors that it uses, in the order of the factors."""
        names = {section: names_within(self.document.get(section)) for section in VARYING}
        return {
            section: [name for name in self.factors if name in names.get(section, ())]
            for section in (*FIXED, *VARYING)
        }

    def _levels_text(self, names: set[str], combination: Combination) -> str:
        """The levels of these factors as the end of a message, ` with a = 1`; empty without
        factors."""
        shown = [
            f"{name} = {level_text(combination[name].label)}"
            for name in self.factors
            if name in names
        ]
        return f" with {', '.join(shown)}" if shown else ""


def _combinations(
    factors: Mapping[str, tuple[Level, ...]], names: Iterable[str]
) -> Iterator[Combination]:
    """Yield all combinations of the levels of the factors in `names`; the last one varies
    fastest."""
    for levels in product(*(factors[name] for name in names)):
        yield dict(zip(names, levels, strict=True))


def expand(document: Mapping[str, Any], findings: Findings, variants: int = 1) -> Expansion:
    """Read the factors of a document, whose `factors` section fits the schema, and check its
    references. `variants` is how many documents the workflow has: one for each variant.

    Raises WorkflowError, together with earlier findings, for: levels that look the same, references
    to unknown factors or in places that cannot vary, unused factors, too many scenarios, sections
    that would be too large.
    """
    mistakes = Findings()
    factors = {
        name: _levels(name, values, mistakes)
        for name, values in document.get("factors", {}).items()
    }
    _check_names(factors, mistakes)
    _check_references(document, factors, mistakes)
    _check_count(factors, mistakes)
    if not mistakes:
        _check_size(document, factors, variants, mistakes)
    if mistakes:
        findings.add_error(mistakes.error())
        findings.raise_any()
    return Expansion(document, factors)


def _check_names(factors: Mapping[str, Any], findings: Findings) -> None:
    """Report names of factors that a database takes for the same column."""
    for known, name in likeness.alike(factors, likeness.as_column):
        findings.add(
            ("factors", name),
            f"the factors {known!r} and {name!r} have one column in SQL, or one field on servers",
            allowed="names that differ in more than case, and in more than dots and underscores",
        )


def _levels(name: str, values: list[Any], findings: Findings) -> tuple[Level, ...]:
    """Build the levels of one factor. Report those that results could not tell apart, or whose
    label is too long."""
    levels = []
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        level = _level(value, ("factors", name, index))
        text = level_text(level.label)
        if len(text) > _MAX_LABEL:
            findings.add(
                ("factors", name, index),
                f"this level has no `name`, and as JSON it has {len(text)} characters",
                allowed=f"a `name`, or up to {_MAX_LABEL} characters",
            )
            continue
        if text in seen:
            findings.add(
                ("factors", name, index),
                f"the level {text!r} is a duplicate of index {seen[text]}",
                allowed="levels that differ in results",
                hint="an object is shown by its `name`" if isinstance(value, dict) else None,
            )
        seen.setdefault(text, index)
        levels.append(level)
    return tuple(levels)


def _level(value: Any, path: pointer.Path) -> Level:
    """Build a level from its value in the document, which is at `path`. An object is shown by its
    `name`, or else as JSON; `{name, value}` gives a value a name."""
    if not isinstance(value, dict):
        return Level(value, value, path)
    label = value.get("name") or json.dumps(value, sort_keys=True, separators=(",", ":"))
    if value.keys() == {"name", "value"}:
        return Level(label, value["value"], (*path, "value"))
    return Level(label, value, path)


def _check_references(
    document: Mapping[str, Any], factors: Mapping[str, Any], findings: Findings
) -> None:
    """Report references that are unfinished, unknown or where nothing varies, and factors that none
    refers to."""
    used: set[str] = set()
    for section, content in document.items():
        for path, text in strings(content, (section,)):
            if is_unfinished(text):
                findings.add(path, "`${` without a closing `}`", allowed="${factor}")
            for name in names_in(text):
                if section in FIXED:
                    findings.add(
                        path,
                        f"${{{name}}} cannot be used here: this is the same in all scenarios",
                        allowed=f"references in {', '.join(VARYING)}",
                    )
                elif section in VARYING and name not in factors:
                    found = choices(name, factors)
                    if section == "vnfs" and found["hint"] is None:
                        found["hint"] = f"a placeholder of a program is written {{{{{name}}}}}"
                    findings.add(path, f"there is no factor {name!r}", **found)
                used.add(name)
    for name in factors:
        if name not in used:
            findings.add(
                ("factors", name),
                f"the factor {name!r} is not used: all its levels would measure the same",
                hint=f"write ${{{name}}} where it belongs, or remove it",
            )


def _check_count(factors: Mapping[str, tuple[Level, ...]], findings: Findings) -> None:
    """Report factors whose levels make too many scenarios."""
    count = prod(len(levels) for levels in factors.values())
    if count > MAX_SCENARIOS:
        sizes = " x ".join(f"{len(levels)} ({name})" for name, levels in factors.items())
        findings.add(
            "/factors",
            f"these factors make {count} scenarios: {sizes}",
            allowed=f"up to {MAX_SCENARIOS} scenarios in one workflow",
            hint="fewer levels, or several workflows",
        )


def _check_size(
    document: Mapping[str, Any],
    factors: Mapping[str, tuple[Level, ...]],
    variants: int,
    findings: Findings,
) -> None:
    """Report sections that would be too large with all levels. It is computed before anything is
    expanded."""
    sizes = {
        section: limits.expanded_size(document[section], factors, names_in)
        for section in VARYING
        if section in document
    }
    if sum(sizes.values()) * variants > limits.MAX_EXPANDED:
        section = max(sizes, key=lambda name: sizes[name])
        each = f" in each of {variants} variants" if variants > 1 else ""
        findings.add(
            (section,),
            f"with the levels of its factors, this section has {sizes[section]} values{each}",
            allowed=f"up to {limits.MAX_EXPANDED} in all sections",
            hint="fewer levels or smaller ones, a smaller section, or several workflows",
        )
