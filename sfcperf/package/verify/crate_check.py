"""Is ro-crate-metadata.json all that RO-Crate 1.1 and the profile Process Run Crate say it MUST be,
and true of the package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from sfcperf.errors import InputError
from sfcperf.package.archive import PackedFile
from sfcperf.package.checks import Check, judged
from sfcperf.package.crate import PROCESS_RUN
from sfcperf.package.layout import CRATE, MANIFEST
from sfcperf.package.opened import Package
from sfcperf.package.read_json import read_json

NAME = "RO-Crate"
PROFILE = "https://w3id.org/ro/crate/1.1"


def check_crate(package: Package, files: Mapping[str, PackedFile]) -> Check:
    """Check the metadata of an unpacked package. `files`: all files of the package."""
    if CRATE not in files:
        return Check(NAME, "failed", f"there is no {CRATE}")
    try:
        document = read_json(package.folder / CRATE, CRATE)
    except InputError as error:
        return Check(NAME, "failed", str(error))
    graph = document.get("@graph") if isinstance(document, dict) else None
    if not isinstance(graph, list) or not all(isinstance(e, dict) for e in graph):
        return Check(NAME, "failed", f"{CRATE} has no @graph of entities")
    entities = {e["@id"]: e for e in graph if isinstance(e.get("@id"), str)}
    findings = []
    context = f"{PROFILE}/context"
    if context not in _list(document.get("@context")):
        findings.append(f"its @context is not {context}")
    if len(entities) != len(graph):
        findings.append("an entity has no @id, or the @id of another")
    findings += [f"{i} has no @type" for i, e in entities.items() if not _types(e)]
    findings += [*_root_findings(entities), *_file_findings(entities, set(files))]
    findings += _run_findings(entities)
    findings += [*_contradictions(entities, files), *_other_words(entities, package.document)]
    return judged(NAME, findings, f"1.1, {len(entities)} entities")


def _root_findings(entities: dict[str, Any]) -> list[str]:
    """Check what the metadata say of themselves and of the package as a whole. `entities`: @id ->
    entity."""
    descriptor = entities.get(CRATE, {})
    found = []
    if "CreativeWork" not in _types(descriptor):
        found.append("the metadata file does not describe itself as a CreativeWork")
    if {"@id": PROFILE} not in _list(descriptor.get("conformsTo")):
        found.append(f"it does not conform to {PROFILE}")
    if descriptor.get("about") != {"@id": "./"}:
        found.append("it is not about the package")
    root = entities.get("./", {})
    if "Dataset" not in _types(root):
        found.append("the package is not a Dataset")
    required = ("name", "description", "datePublished", "license")
    found += [f"the package has no {name}" for name in required if not root.get(name)]
    return found


def _run_findings(entities: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the profile Process Run Crate requires and the metadata lack."""
    profiles = [i for i in _named(entities.get("./", {}), "conformsTo") if PROCESS_RUN in i]
    if not any("CreativeWork" in _types(entities.get(i, {})) for i in profiles):
        yield f"the package does not conform to a version of {PROCESS_RUN}"
    for identifier, entity in entities.items():
        tools = [_types(entities.get(i, {})) for i in _named(entity, "instrument")]
        if "CreateAction" in _types(entity) and ["SoftwareApplication"] not in tools:
            yield f"{identifier} has no SoftwareApplication as its instrument"


def _named(entity: Mapping[str, Any], key: str) -> list[str]:
    """Identifiers of the entities that a property refers to."""
    values = [each.get("@id") for each in _list(entity.get(key)) if isinstance(each, dict)]
    return [each for each in values if isinstance(each, str)]


def _file_findings(entities: dict[str, Any], names: set[str]) -> list[str]:
    """Check that each described file or folder exists, and is listed as a part of the package."""
    parts = set(_named(entities.get("./", {}), "hasPart"))
    folders = {name[: end + 1] for name in names for end, c in enumerate(name) if c == "/"}
    found = []
    for identifier, entity in entities.items():
        types = _types(entity)
        if identifier in ("./", CRATE) or not ("File" in types or "Dataset" in types):
            continue
        name = unquote(identifier)
        there = name in (folders if name.endswith("/") else names)
        if "://" not in identifier and not there:
            found.append(f"{name} is described but missing")
        if identifier not in parts:
            found.append(f"{name} is described but not as a part of the package")
    return found


def _contradictions(entities: Mapping[str, Any], files: Mapping[str, PackedFile]) -> Iterator[str]:
    """Yield sizes and hashes in the metadata that are not those of the files."""
    for identifier, entity in entities.items():
        packed = files.get(unquote(identifier))
        if packed is None:
            continue
        for key, value in (("contentSize", str(packed.bytes)), ("sha256", packed.sha256)):
            if key in entity and entity[key] != value:
                yield f"{unquote(identifier)}: {key} is not that of the file, {value}"


def _other_words(entities: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the metadata say of the package otherwise than package.json."""
    root = entities.get("./", {})
    for key, name in (("name", "title"), ("description", "description"), ("datePublished", "date")):
        if root.get(key) != document[name]:
            yield f"{key} of the package is not {name} of {MANIFEST}"
    licence = root.get("license")
    spdx = document["license"]
    if spdx is not None and licence != {"@id": f"https://spdx.org/licenses/{spdx}"}:
        yield f"license of the package is not that of {MANIFEST}, {spdx}"
    people = {
        e.get("name") for e in entities.values() if "Person" in _types(e) and _has_text_name(e)
    }
    for author in document["authors"]:
        if author["name"] not in people:
            yield f"it does not name the author {author['name']}"


def _has_text_name(entity: Mapping[str, Any]) -> bool:
    return isinstance(entity.get("name"), str)


def _types(entity: Mapping[str, Any]) -> list[Any]:
    """Types of an entity; empty if it has none."""
    return _list(entity.get("@type"))


def _list(value: Any) -> list[Any]:
    """A value of JSON-LD as a list: absent, a single value, or a list of them."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
