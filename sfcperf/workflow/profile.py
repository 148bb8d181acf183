"""Profile: an infrastructure in a file of its own, on which any workflow can run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.errors import WorkflowError
from sfcperf.workflow.document import Findings, SchemaViolation, choices, pointer, read_document
from sfcperf.workflow.schema import parameters_of, shipped_schema
from sfcperf.workflow.validate import Validator

_SECRET_KEY = re.compile(
    r"pass(word|wd|phrase)|secret|(^|_)token$|api_?key|private_?key|credential", re.IGNORECASE
)
URL_WITH_PASSWORD = re.compile(r"://[^/\s:@]+:[^/\s@]+@")


@dataclass(frozen=True)
class Profile:
    """A profile that was read and checked."""

    source: str
    """The file's name as the user gave it, for messages."""
    driver: str
    config: Mapping[str, Any]
    """Configuration as in the file; defaults are filled in when the workflow is loaded."""


def read_profile(path: Path) -> Profile:
    """Read the profile in a file.

    Raises InputError (the file, its syntax), WorkflowError (`where`: the file and a JSON pointer
    into it, other findings in `others`), EnvironmentLacks (a driver that cannot be imported).
    """
    try:
        document = read_document(path, "profile")
    except WorkflowError as error:
        raise _in_file(error, path) from None
    findings = Findings()
    findings.add_misfits(Validator(shipped_schema("profile")).misfits(document))
    findings.add_misfits(_secrets(document.get("config"), ("config",)))
    if not findings:
        _check_driver(document, findings)
    try:
        findings.raise_any()
    except WorkflowError as error:
        raise _in_file(error, path) from None
    return Profile(str(path), document["driver"], document.get("config", {}))


def _check_driver(document: Mapping[str, Any], findings: Findings) -> None:
    """Report a driver that does not exist, or a configuration that does not fit it."""
    name, known = document["driver"], plugins.names("driver")
    if name not in known:
        findings.add("/driver", f"there is no driver named {name!r}", **choices(name, known))
        return
    validator = Validator(parameters_of("driver", name))
    findings.add_misfits(validator.misfits(document.get("config", {})), ("config",))


def _secrets(value: Any, at: pointer.Path) -> Iterator[SchemaViolation]:
    """Find values that look like credentials, whether or not the driver would accept them."""
    message = "a profile must not contain secrets, because results and packages include it"
    hint = "keep them where the driver finds them, e.g. in clouds.yaml or the environment"
    if isinstance(value, Mapping):
        for key, item in value.items():
            if _SECRET_KEY.search(key):
                yield SchemaViolation((*at, key), message, hint=hint)
            else:
                yield from _secrets(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secrets(item, (*at, index))
    elif isinstance(value, str) and URL_WITH_PASSWORD.search(value):
        yield SchemaViolation(at, message, hint=hint)


def _in_file(error: WorkflowError, path: Path) -> WorkflowError:
    """Put the profile's file in front of the pointer of the error, and of its others; the error
    itself is changed."""
    error.where = f"{path} {error.where or 'as a whole'}"
    error.others = tuple(_in_file(other, path) for other in error.others)
    return error
