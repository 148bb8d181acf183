"""Packages for tests: a made-up run as `sfcperf run` leaves it, packed; and zips of all kinds."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfcperf.control.publishing import publish_report
from sfcperf.control.resolved import resolved
from sfcperf.package.pack import pack
from sfcperf.package.pack_document import PackOptions
from sfcperf.package.people import Author
from sfcperf.package.unpack import private_copy, unpack
from sfcperf.package.verify import Verification
from sfcperf.results.manifest import counts
from sfcperf.results.provenance import keep_descriptors, keep_files
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import plan_document
from support.records.runs import RunOptions, build_run, copied_run, made_once, workflow_document

_CRATE, _HASHES = "ro-crate-metadata.json", "manifest-sha256.txt"
ADA = Author("Ada Lovelace", "0000-0002-1825-0097")
OPTIONS = PackOptions(license="CC-BY-4.0", authors=(ADA,))
SHORT = RunOptions(
    topologies=("T1",),
    chain_lengths=(0, 1),
    rounds=3,
    failed=frozenset(),
    figures=RunOptions().figures[:1],
)
PLAIN = replace(SHORT, figures=())
"""Without figures: drawing them again takes longer than all else that `verify` does."""
VNFD = Path(__file__).resolve().parents[3] / "vnfs" / "forwarder" / "vnfd.yaml"


def finished_run(folder: Path, options: RunOptions = SHORT) -> RunStore:
    """A run folder with plan, report and figures."""
    return copied_run(folder, options, _finished)


def _finished(folder: Path, options: RunOptions) -> None:
    finish(build_run(folder, options))


def finish(store: RunStore) -> None:
    """Plan, report and figures of a run whose trials and workflow are there."""
    workflow = with_plan(store)
    design = {k: v for k, v in asdict(workflow.design).items() if v or k != "noise_gate"}
    trials = counts(store.trials())
    changes = {"trials": trials, "driver": workflow.driver, "design": design}
    store.write_manifest({**store.manifest(), **changes})
    assert publish_report(store) == []


def with_plan(store: RunStore) -> Workflow:
    """Write the plan of a run's workflow, as a run begins."""
    workflow = load_document(*store.workflow())
    store.write_plan({**plan_document(workflow), "resolved": resolved(workflow)})
    return workflow


def with_vnfd(folder: Path, **changes: Any) -> RunStore:
    """A run of a workflow with these changes that refers to `../vnfds/small.yaml` in `lab`."""
    (folder / "lab" / "vnfds").mkdir(parents=True)
    (folder / "lab" / "workflows").mkdir()
    shutil.copy(VNFD, folder / "lab" / "vnfds" / "small.yaml")
    store = finished_run(folder / "run-1", PLAIN)
    document = workflow_document(PLAIN) | changes
    document["vnfs"]["fwd"]["vnfd"] = "../vnfds/small.yaml"
    store.write_workflow(document, folder / "lab" / "workflows")
    kept = keep_descriptors(store.vnfds, with_plan(store).vnfds)
    store.write_manifest({**store.manifest(), "vnfds": kept})
    return store


def with_program(folder: Path, command: str = "../bin/own.sh", **knobs: Any) -> RunStore:
    """A run of a workflow in `lab/workflows` whose VNF is a program with a script and data."""
    files = {"lab/bin/own.sh": "#!/bin/sh\nexec sleep 1000\n", "lab/workflows/data.txt": "1\n"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "lab/bin/own.sh").chmod(0o755)
    store = finished_run(folder / "run-1", PLAIN)
    document = workflow_document(PLAIN)
    own = {"command": [command], "files": {"data": "data.txt"}, **knobs}
    document["vnfs"]["fwd"] = {"type": "program", "knobs": own}
    store.write_workflow(document, folder / "lab" / "workflows")
    workflow = with_plan(store)
    files_now = keep_files(store.files, workflow.files)
    store.write_manifest({**store.manifest(), "files": files_now})
    return store


def packed(folder: Path, options: RunOptions = SHORT) -> Path:
    """A package of such a run, beside it."""
    store = finished_run(folder / "run-1", options)
    first = made_once(("package", options), "paper.zip", lambda at: pack([store], at, OPTIONS))
    return Path(shutil.copy(first, folder))


def contents(package: Path) -> dict[str, bytes]:
    """Name -> content of its files, as the standard library reads it."""
    with zipfile.ZipFile(package) as archive:
        return {e.filename: archive.read(e) for e in archive.infolist() if not e.is_dir()}


def write_zip(path: Path, files: Mapping[str | zipfile.ZipInfo, bytes]) -> Path:
    """A zip of these files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def changed(package: Path, target: Path, name: str, content: bytes | None) -> Path:
    """A copy with one file's content changed, the file added, or (None) left out."""
    files: dict[str | zipfile.ZipInfo, bytes] = {**contents(package)}
    if content is None:
        del files[name]
    else:
        files[name] = content
    return write_zip(target, files)


def edited(content: bytes, edit: Callable[[Any], object]) -> bytes:
    """A JSON document after `edit` has changed it."""
    document = json.loads(content)
    edit(document)
    return json.dumps(document).encode()


def sealed(package: Path, target: Path, name: str, content: bytes) -> Path:
    """As `changed`, with a list of hashes and a crate that fit: what a forger would do."""
    return resealed(package, target, {name: content})


def sealed_edit(package: Path, target: Path, name: str, edit: Callable[[Any], object]) -> Path:
    """The same with a JSON document that `edit` has changed."""
    return sealed(package, target, name, edited(contents(package)[name], edit))


def resealed(package: Path, target: Path, new: Mapping[str, bytes]) -> Path:
    """The same with several files."""
    return write_zip(target, {**forged(contents(package), new)})


def forged(files: Mapping[str, bytes], changed: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files of a package with other content, and with a list of hashes and a crate that fit."""
    found = {**files, **changed}
    if _CRATE not in changed:
        found[_CRATE] = edited(found[_CRATE], lambda crate: _refit(crate, changed))
    del found[_HASHES]
    lines = [f"{sha256(found[name]).hexdigest()}  {name}\n" for name in sorted(found)]
    return {**found, _HASHES: "".join(lines).encode()}


def _refit(crate: Any, changed: Mapping[str, bytes]) -> None:
    for entity in crate["@graph"]:
        content = changed.get(entity["@id"])
        if content is not None and "sha256" in entity:
            entity["sha256"] = sha256(content).hexdigest()
            entity["contentSize"] = str(len(content))


@contextmanager
def unpacked(package: Path) -> Iterator[Path]:
    """A private folder with a package's files, removed afterwards."""
    with private_copy(package) as copy:
        unpack(copy.file, copy.folder)
        yield copy.folder


def finding(verification: Verification, name: str, state: str = "failed") -> str:
    """What a check says, which came to `state`."""
    (check,) = (check for check in verification.checks if check.name == name)
    assert check.state == state
    return "\n".join((check.detail, *check.findings))
