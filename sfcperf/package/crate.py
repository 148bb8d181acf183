"""ro-crate-metadata.json: a package described as an RO-Crate (https://w3id.org/ro/crate/1.1) whose
runs are described by the profile Process Run Crate (https://w3id.org/ro/wfrun/process/0.5)."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sfcperf.package.archive import PackedFile
from sfcperf.package.kit.machine import machine_text
from sfcperf.package.layout import CITATION, HASHES, MANIFEST, README
from sfcperf.package.people import Author
from sfcperf.results.store import RunFile

if TYPE_CHECKING:
    from rocrate.model.entity import Entity
    from rocrate.rocrate import ROCrate

VERSION = "1.1"
PROCESS_RUN = "https://w3id.org/ro/wfrun/process/"
"""Address of the profile Process Run Crate, without its version."""
PROCESS_RUN_VERSION = "0.5"
NO_LICENCE = "No licence is given: ask the authors before you use it for more than checking it."
_YOUNGER_TERMS = ("creditText", "sha256")
"""Terms of schema.org that the context of RO-Crate 1.1 does not have."""
_TYPES = {
    ".cff": "application/yaml",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".pcapng": "application/x-pcapng",
    ".txt": "text/plain",
}
_MADE = (RunFile.TRIALS, RunFile.TELEMETRY, RunFile.SUMMARY, RunFile.CLAIMS)
"""Files of a run folder that are results of the run."""
_DESCRIPTIONS = {
    README: "What this is, how to check it, how to rerun it",
    MANIFEST: "The package as SFCPerf describes it",
    CITATION: "How to cite the package",
    HASHES: "SHA-256 of each file but this one, for sha256sum -c",
}


def crate_text(document: Mapping[str, Any], files: Mapping[str, PackedFile]) -> str:
    """Return the text of the metadata file. `document` is package.json; `files` are all files but
    this one and the list of hashes. The same arguments give the same text."""
    from rocrate.rocrate import ROCrate

    crate: ROCrate = ROCrate(version=VERSION)
    root = crate.root_dataset
    authors = [Author(a["name"], a["orcid"]) for a in document["authors"]]
    people = [_entity(crate, a.id, {"@type": "Person", "name": a.name}) for a in authors]
    root["name"] = document["title"]
    root["description"] = document["description"]
    root["datePublished"] = document["date"]
    root["license"] = _licence(crate, document["license"])
    if people:
        root["author"] = _one_or_all(people)
        root["creditText"] = document["citation"]
    profile = {"@type": "CreativeWork", "name": "Process Run Crate", "version": PROCESS_RUN_VERSION}
    root["conformsTo"] = _entity(crate, f"{PROCESS_RUN}{PROCESS_RUN_VERSION}", profile)
    # Run folder -> paths in the package of what the run measured.
    results = {run["folder"]: _results(run["folder"], files) for run in document["runs"]}
    folders = {run["folder"]: _run_folder(crate, run, results) for run in document["runs"]}
    # Files of raw output are not described one by one: `_run_folder` describes their folder.
    for name in sorted({*files, HASHES}):
        if not any(name.startswith(_raw(folder)) for folder in folders):
            _file(crate, name, files.get(name))
    root["mainEntity"] = _one_or_all([{"@id": _workflow(run)} for run in document["runs"]])
    software = _software(crate, document["runs"])
    actions = [_action(crate, run, software, people, results) for run in document["runs"]]
    root["mentions"] = _one_or_all(actions)
    # schema.org got these terms after the context of RO-Crate 1.1 was written.
    crate.metadata.extra_terms.update({t: f"http://schema.org/{t}" for t in _YOUNGER_TERMS})
    graph = crate.metadata.generate()
    return json.dumps(graph, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _file(crate: ROCrate, name: str, packed: PackedFile | None) -> None:
    """Describe a file. `packed` None: its size and hash are not known, as those of the list of
    hashes, which is written after this text."""
    properties: dict[str, Any] = {
        "name": _DESCRIPTIONS.get(name, name),
        "encodingFormat": _type(name),
    }
    if packed is not None:
        properties |= {"contentSize": str(packed.bytes), "sha256": packed.sha256}
    if name.rpartition("/")[2] in (RunFile.WORKFLOW, RunFile.WORKFLOW_APPLIED):
        properties["@type"] = ["File", "SoftwareSourceCode"]
        properties["programmingLanguage"] = "SFCPerf workflow (JSON)"
    crate.add_file(dest_path=name, properties=properties)


def _results(folder: str, files: Mapping[str, PackedFile]) -> list[str]:
    """Return the paths of what a run measured and derived. A run that was interrupted early, or
    packed without its raw output, lacks some."""
    made = [f"{folder}/{name}" for name in _MADE]
    has_raw = any(name.startswith(_raw(folder)) for name in files)
    return [*(name for name in made if name in files), *([_raw(folder)] if has_raw else [])]


def _raw(folder: str) -> str:
    """Folder of raw output in a run folder."""
    return f"{folder}/raw/"


def _run_folder(
    crate: ROCrate, run: Mapping[str, Any], results: Mapping[str, Sequence[str]]
) -> Entity:
    """Describe a run folder, and its folder of raw output if it has one; return the first."""
    properties = {
        "name": f"Run {run['run_id']} of the workflow {run['name']}",
        "description": run["description"] or "A run folder as SFCPerf writes it",
    }
    folder = crate.add_dataset(dest_path=f"{run['folder']}/", properties=properties)
    if (raw := _raw(run["folder"])) in results[run["folder"]]:
        crate.add_dataset(
            dest_path=raw,
            properties={
                "name": f"Raw output of the tools in run {run['run_id']}",
                "description": "What each tool printed, unparsed, and captures: a folder per trial",
            },
        )
    return folder


def _software(crate: ROCrate, runs: Sequence[Mapping[str, Any]]) -> dict[str, Entity]:
    """Describe each version of SFCPerf that made a run; return version -> entity."""
    return {
        version: _entity(
            crate,
            f"#sfcperf-{quote(version)}",
            {"@type": "SoftwareApplication", "name": "SFCPerf", "softwareVersion": version},
        )
        for version in dict.fromkeys(run["sfcperf_version"] for run in runs)
    }


def _action(
    crate: ROCrate,
    run: Mapping[str, Any],
    software: Mapping[str, Entity],
    people: list[Entity],
    results: Mapping[str, Sequence[str]],
) -> Entity:
    """Describe the run as an action: software that made results from a workflow (RO-Crate 1.1,
    section "Provenance"; Process Run Crate 0.5, "Requirements")."""
    complete = run["status"] == "complete"
    trials = ", ".join(f"{number} {status}" for status, number in run["trials"].items())
    properties: dict[str, Any] = {
        "@type": "CreateAction",
        "name": f"Measurement {run['run_id']}",
        "description": f"Trials: {trials}; measured on {machine_text(run['machine'])}",
        "startTime": _moment(run["started_at"]),
        "instrument": software[run["sfcperf_version"]],
        "object": {"@id": _workflow(run)},
        "actionStatus": f"http://schema.org/{'Completed' if complete else 'Failed'}ActionStatus",
    }
    if made := results[run["folder"]]:
        properties["result"] = _one_or_all([{"@id": quote(name)} for name in made])
    if run["ended_at"] is not None:
        properties["endTime"] = _moment(run["ended_at"])
    if not complete:
        properties["error"] = f"Its status is {run['status']}"
    if people:
        properties["agent"] = people[0]
    return _entity(crate, f"#run-{run['run_id']}", properties)


def _workflow(run: Mapping[str, Any]) -> str:
    """Identifier of the workflow as the run executed it."""
    return quote(f"{run['folder']}/{RunFile.WORKFLOW_APPLIED}")


def _moment(text: str) -> str:
    """Return a moment of ISO 8601 in milliseconds: validators refuse more digits."""
    return datetime.fromisoformat(text).isoformat(timespec="milliseconds")


def _one_or_all(entities: list[Any]) -> Any:
    """Return a single entity bare: RO-Crate wants no array of one (RO-Crate 1.1, appendix "RO-Crate
    JSON-LD")."""
    return entities[0] if len(entities) == 1 else entities


def _licence(crate: ROCrate, spdx: str | None) -> Entity | str:
    """Describe the licence with this SPDX identifier; None: return a text that there is none."""
    if spdx is None:
        return NO_LICENCE
    address = f"https://spdx.org/licenses/{spdx}"
    properties = {
        "@type": "CreativeWork",
        "name": spdx,
        "identifier": spdx,
        "description": f"The licence with the SPDX identifier {spdx}",
    }
    return _entity(crate, address, properties)


def _entity(crate: ROCrate, identifier: str, properties: Mapping[str, Any]) -> Entity:
    """Add something to the crate that is no file of the package, and return it."""
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identifier, properties=dict(properties)))


def _type(name: str) -> str:
    """Media type of a file, by the ending of its name."""
    known = _TYPES.get(PurePosixPath(name).suffix.lower())
    return known or mimetypes.guess_type(name)[0] or "application/octet-stream"
