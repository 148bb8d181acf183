"""Checks documents against the schemas that SFCPerf ships.

By jsonschema-rs: a document of a stranger may be as large as a limit allows, and a line of
trials.jsonl is checked in microseconds. Patterns are those of ECMA 262, as JSON Schema wants: `$`
is the end of the text, and not also the place before a last newline.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sfcperf.workflow.schema import shipped_schema

if TYPE_CHECKING:
    import jsonschema_rs

_LONGEST_MESSAGE = 200
"""Largest number of characters of a message. It contains the value that does not fit, which may be
the whole document."""


def misfit(schema: str, document: Any) -> tuple[str, str] | None:
    """Return the first place where a document does not match `schemas/SCHEMA.schema.json`, as JSON
    pointer and message; None if the document matches."""
    import jsonschema_rs

    try:
        _validator(schema).validate(document)
    except jsonschema_rs.ValidationError as error:
        pointer = "".join(f"/{_escaped(part)}" for part in error.instance_path)
        message = error.message
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[:_LONGEST_MESSAGE]}..."
        return pointer, message
    except ValueError as error:
        # The library raises this for lone surrogates, and for too many nested levels.
        return "", f"cannot be checked: {str(error)[:_LONGEST_MESSAGE]}"
    return None


def _escaped(part: str | int) -> str:
    """Escape a part of a JSON pointer (RFC 6901, section 3)."""
    return str(part).replace("~", "~0").replace("/", "~1")


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    # Agents have no compiled packages.
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(shipped_schema(schema))
