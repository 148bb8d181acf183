"""Saved objects as Kibana exports and imports them: one JSON object per line (NDJSON).

Shapes and migration versions are those of Kibana 8: an older object is migrated on import, a newer
one refused, so each type carries the version whose shape it has. Panels are kept *by value* in
their dashboard; what a dashboard needs besides is named in `references`.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

SavedObject = Mapping[str, Any]

CORE_VERSION = "8.8.0"
"""Version of the envelope around the attributes; it is the same since Kibana 8.8."""
TYPE_VERSIONS: Mapping[str, str] = {"index-pattern": "8.0.0", "dashboard": "8.9.0"}
"""Type of object -> version of its attributes, as in Kibana 8.9; later versions migrate them."""

_NAMESPACE = uuid.UUID("5fc9e5f0-8300-4a94-9f7e-766500000000")


def identifier(*parts: str) -> str:
    """Return an id that is always the same for the same parts, so that a second import replaces
    objects, and exports do not differ."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def saved_object(
    type_: str,
    id_: str,
    attributes: Mapping[str, Any],
    references: Sequence[Mapping[str, str]] = (),
) -> SavedObject:
    """Return a saved object: attributes and references in the envelope that Kibana expects."""
    return {
        "id": id_,
        "type": type_,
        "attributes": dict(attributes),
        "references": [dict(reference) for reference in references],
        "coreMigrationVersion": CORE_VERSION,
        "typeMigrationVersion": TYPE_VERSIONS[type_],
        "managed": False,
    }


def ndjson(objects: Iterable[SavedObject]) -> str:
    """Return the text of an export file as Kibana writes it: a line for each object, then one with
    the number of objects."""
    lines = list(objects)
    details = {
        "excludedObjects": [],
        "excludedObjectsCount": 0,
        "exportedCount": len(lines),
        "missingRefCount": 0,
        "missingReferences": [],
    }
    return "".join(json.dumps(line, sort_keys=True) + "\n" for line in (*lines, details))


def text(value: Any) -> str:
    """Return a value as JSON text, for attributes that Kibana keeps as text within JSON."""
    return json.dumps(value, sort_keys=True)


def reference(name: str, data_view: str) -> dict[str, str]:
    """Return a reference to a data view. `name`: what the object calls it."""
    return {"id": data_view, "name": name, "type": "index-pattern"}
