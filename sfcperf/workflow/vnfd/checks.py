"""Checks a VNF descriptor of somebody else for what tosca-parser would not survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError

_MAX_ANCESTORS = 50


def check_ancestry(tree: Mapping[str, Any]) -> None:
    """Raise InputError for a type that is derived from itself, which the parser would follow for
    ever, or that has very many ancestors."""
    from toscaparser.elements.entity_type import EntityType

    known: dict[Any, Any] = dict(EntityType.TOSCA_DEF)
    own = [
        kinds
        for key, kinds in tree.items()
        if str(key).endswith("_types") and isinstance(kinds, Mapping)  # else the parser refuses it
    ]
    for kinds in own:
        known.update(kinds)
    for kinds in own:
        for name in kinds:
            kind, ancestors = name, 0
            while isinstance(known.get(kind), dict) and "derived_from" in known[kind]:
                kind, ancestors = known[kind]["derived_from"], ancestors + 1
                if not isinstance(kind, str) or ancestors > _MAX_ANCESTORS:
                    raise InputError(
                        f"has a type {name!r} that is derived from itself, or by too many steps",
                        allowed=f"up to {_MAX_ANCESTORS} ancestors",
                    )


def without_patterns(value: Any) -> Any:
    """Copy the descriptor without the constraint `pattern`, whose regular expression can take years
    (`(a|aa)+$`).

    Nothing is lost: a pattern restricts values of the same file, which SFCPerf does not change.
    """
    if isinstance(value, list):
        return [without_patterns(item) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {key: without_patterns(item) for key, item in value.items()}
    if isinstance(copy.get("constraints"), list):
        copy["constraints"] = [
            item
            for item in copy["constraints"]
            if not (isinstance(item, dict) and "pattern" in item)
        ]
    return copy
