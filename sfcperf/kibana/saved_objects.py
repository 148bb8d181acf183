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
"""Of the envelope; unchanged since Kibana 8.8."""
TYPE_VERSIONS: Mapping[str, str] = {"index-pattern": "8.0.0", "dashboard": "8.9.0"}
"""Of the attributes of each type, as in Kibana 8.9; later versions migrate them."""

_NAMESPACE = uuid.UUID("5fc9e5f0-8300-4a94-9f7e-766500000000")


def identifier(*parts: str) -> str:
    """The same for the same parts, always: importing again replaces, and exports do not differ."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def saved_object(
    type_: str,
    id_: str,
    attributes: Mapping[str, Any],
    references: Sequence[Mapping[str, str]] = (),
) -> SavedObject:
    """An object with its envelope."""
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
    """The file: a line per object, then what the export consists of, as Kibana writes it."""
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
    """JSON within JSON: some attributes are kept as text."""
    return json.dumps(value, sort_keys=True)


def reference(name: str, data_view: str) -> dict[str, str]:
    """A reference to a data view."""
    return {"id": data_view, "name": name, "type": "index-pattern"}
