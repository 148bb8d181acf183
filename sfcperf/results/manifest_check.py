"""Is a run.json as schemas/run.schema.json says: readers then need not ask for each key's type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from sfcperf.results.documents import damaged

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

_LONGEST_MESSAGE = 200
"""A schema's message shows the value that does not fit, which may be the whole document."""


def check_manifest(document: Mapping[str, Any], where: str) -> None:
    """Raises InputError that names the first place that does not fit."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator().iter_errors(document))
    if error is not None:
        pointer = "".join(f"/{part}" for part in error.absolute_path)
        message = error.message
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[:_LONGEST_MESSAGE]}..."
        raise damaged(message, f"{where}#{pointer}" if pointer else where)


@cache
def _validator() -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    text = (files("sfcperf.schemas") / "run.schema.json").read_text()
    return Draft202012Validator(json.loads(text))
