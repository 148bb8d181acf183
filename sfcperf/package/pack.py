"""Pack: run folders, and all that is needed to judge and to rerun them, in one zip."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sfcperf
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.package import layout
from sfcperf.package.archive import Archive, hash_file, hash_list
from sfcperf.package.crate import crate_text
from sfcperf.package.environment import python_packages, system_packages
from sfcperf.package.hostile import inspect
from sfcperf.package.modules import Module, third_party, used_plugins
from sfcperf.package.people import Author
from sfcperf.package.readme import readme_text
from sfcperf.package.run_files import RunFiles, run_files
from sfcperf.package.scan import Finding, scan
from sfcperf.package.sources import WorkflowFiles, workflow_files
from sfcperf.results.files import replacing
from sfcperf.results.store import WORKFLOW_BASE, RunStore

_NAMED = 3
"""Files in a warning."""


@dataclass(frozen=True)
class PackOptions:
    """What the user says about a package."""

    license: str | None = None
    """SPDX identifier; None: no licence is given."""
    authors: tuple[Author, ...] = ()
    title: str | None = None
    """None: made of the workflows' names."""
    captures: bool = True
    allow_incomplete: bool = False
    allow_secrets: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class PackResult:
    """What was packed."""

    path: Path
    files: int
    bytes: int
    """Unpacked."""
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    """A run with what it needs."""

    run: RunFiles
    sources: WorkflowFiles
    used: frozenset[tuple[str, str]]

    @property
    def folder(self) -> str:
        return f"{layout.RUNS}/{self.run.store.run_id}"

    @property
    def base(self) -> str:
        """Folder of its workflow's files."""
        return f"{layout.WORKFLOW_FILES}/{self.run.store.run_id}"


def pack(
    stores: Sequence[RunStore],
    target: Path,
    options: PackOptions | None = None,
    *,
    own_lock: bool = False,
) -> PackResult:
    """Write a package of runs; the same input gives the same bytes.

    Raises InputError when a run is alive, damaged, incomplete (unless allowed) or holds a secret
    (unless allowed), or when `target` exists (unless it may be replaced); EnvironmentLacks when a
    plug-in that a run used is not installed here.
    """
    options = options or PackOptions()
    _check_target(target, options)
    runs = [_collect(store, options, own_lock=own_lock) for store in stores]
    _check_runs(runs, options)
    modules = third_party({plugin for run in runs for plugin in run.used})
    files = _files(runs, modules)
    findings = scan(files)
    _check_secrets(findings, options)
    warnings = [*_doubts(runs), *_folders_told(findings)]
    with replacing(target) as beside:
        with Archive(beside) as archive:
            document = _document(runs, modules, options, warnings)
            _write(archive, runs, files, document)
            added = dict(archive.files)
        try:
            inspect(beside, max_bytes=1 << 62)
        except InputError as error:
            raise InputError(
                f"this cannot be packed: {error.message}", where=str(target), hint=error.hint
            ) from error
    return PackResult(target, len(added), sum(f.bytes for f in added.values()), tuple(warnings))


def _check_target(target: Path, options: PackOptions) -> None:
    if target.exists() and not (options.overwrite and target.is_file()):
        raise InputError(
            "there is something of this name already",
            where=str(target),
            hint="name another file, or add --overwrite",
        )
    if not target.parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent))


def _collect(store: RunStore, options: PackOptions, *, own_lock: bool) -> _Run:
    run = run_files(store, captures=options.captures, own_lock=own_lock)
    document, _ = store.workflow()
    used = frozenset(used_plugins(run.manifest, document, store.plan()))
    # Before the workflow is loaded, which says less clearly that a plug-in is missing.
    third_party(used)
    return _Run(run, workflow_files(store), used)


def _check_runs(runs: Sequence[_Run], options: PackOptions) -> None:
    names = [run.run.store.run_id for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the run {name} is named twice")
    for run in runs:
        reasons = (*run.run.incomplete, *run.sources.missing)
        if reasons and not options.allow_incomplete:
            raise InputError(
                f"the run is not complete: {'; '.join(reasons)}",
                where=str(run.run.store.folder),
                hint="`sfcperf resume` goes on with it; --allow-incomplete packs it as it is",
            )


def _check_secrets(findings: Sequence[Finding], options: PackOptions) -> None:
    secrets = [finding for finding in findings if finding.secret]
    if secrets and not options.allow_secrets:
        named = "; ".join(f"{f.file}: {f.what}" for f in secrets[:_NAMED])
        more = f"; and {len(secrets) - _NAMED} more" if len(secrets) > _NAMED else ""
        raise InputError(
            f"there seems to be a secret in what would be packed: {named}{more}",
            hint="remove it and change it where it is used; --allow-secrets packs it all the same",
        )


def _files(runs: Sequence[_Run], modules: Sequence[Module]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for run in runs:
        files |= {f"{run.folder}/{name}": path for name, path in run.run.files.items()}
        files |= {f"{run.base}/{name}": path for name, path in run.sources.files.items()}
        # Names a folder of this machine; written anew, so that it leads into the package.
        files.pop(f"{run.folder}/{WORKFLOW_BASE}", None)
    for module in modules:
        folder = f"{layout.MODULES}/{module.folder}"
        files |= {f"{folder}/{name}": path for name, path in module.files.items()}
    return files


def _write(
    archive: Archive, runs: Sequence[_Run], files: Mapping[str, Path], document: Mapping[str, Any]
) -> None:
    texts = {
        layout.PYTHON_PACKAGES: python_packages(),
        layout.SYSTEM_PACKAGES: system_packages(),
        layout.MANIFEST: _json(document),
        layout.README: readme_text(document),
        **{f"{run.folder}/{WORKFLOW_BASE}": _json({"folder": _base(run)}) for run in runs},
    }
    for name in sorted({*files, *texts}):
        if name in texts:
            archive.add_text(name, texts[name])
        else:
            archive.add_file(name, files[name])
    archive.add_text(layout.CRATE, crate_text(document, archive.files))
    archive.add_text(layout.HASHES, hash_list(archive.files))


def _base(run: _Run) -> str:
    """From the run's folder in the package to where its workflow's paths start."""
    if not run.sources.files:
        return "."
    base = f"../../{run.base}"
    return base if run.sources.base == "." else f"{base}/{run.sources.base}"


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _document(
    runs: Sequence[_Run], modules: Sequence[Module], options: PackOptions, warnings: Sequence[str]
) -> dict[str, Any]:
    """package.json, as schemas/package.schema.json says."""
    names = list(dict.fromkeys(run.run.manifest["name"] for run in runs))
    title = options.title or f"Measurements of service function chains: {', '.join(names)}"
    date = _date(runs)
    return {
        "schema_version": layout.FORMAT,
        "made_by": {"sfcperf": sfcperf.__version__},
        "title": title,
        "description": " ".join(
            dict.fromkeys(run.run.manifest["description"] for run in runs)
        ).strip()
        or f"Workflow, trials, raw output and results of {len(runs)} SFCPerf run(s).",
        "date": date,
        "license": options.license,
        "authors": [{"name": a.name, "orcid": a.orcid} for a in options.authors],
        "citation": _citation(options.authors, title, date),
        "captures": options.captures,
        "runs": [_run_document(run) for run in runs],
        "modules": [
            {
                "distribution": module.distribution,
                "version": module.version,
                "folder": f"{layout.MODULES}/{module.folder}",
                "provides": [{"kind": kind, "name": name} for kind, name in module.provides],
                "requires": list(module.requires),
            }
            for module in modules
        ],
        "warnings": list(warnings),
    }


def _run_document(run: _Run) -> dict[str, Any]:
    manifest = run.run.manifest
    facts = ("run_id", "name", "description", "status", "started_at", "ended_at", "trials")
    return {
        **{name: manifest[name] for name in facts},
        "folder": run.folder,
        "incomplete": [*run.run.incomplete, *run.sources.missing],
        "workflow_files": [f"{run.base}/{name}" for name in run.sources.files],
        "left_out": [
            {"file": name, "bytes": packed.bytes, "sha256": packed.sha256}
            for name, packed in ((n, hash_file(p)) for n, p in run.run.left_out.items())
        ],
    }


def _date(runs: Sequence[_Run]) -> str:
    """Day of the package: SOURCE_DATE_EPOCH (reproducible-builds.org) or else of the last
    measurement; the clock would make each package another one."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given:
        if not (given.isascii() and given.isdigit() and len(given) < 12):
            raise EnvironmentLacks(f"SOURCE_DATE_EPOCH is {given!r}", hint="seconds since 1970")
        return datetime.fromtimestamp(int(given), UTC).date().isoformat()
    ends = (r.run.manifest["ended_at"] or r.run.manifest["started_at"] for r in runs)
    return max(str(end)[:10] for end in ends)


def _citation(authors: Sequence[Author], title: str, date: str) -> str:
    who = ", ".join(author.name for author in authors) or "Anonymous"
    return f"{who} ({date[:4]}): {title}. Reproducibility package, made with SFCPerf."


def _doubts(runs: Sequence[_Run]) -> list[str]:
    warnings = []
    for run in runs:
        name, manifest = run.run.store.run_id, run.run.manifest
        if run.run.incomplete or run.sources.missing:
            warnings.append(
                f"{name} is incomplete: {'; '.join([*run.run.incomplete, *run.sources.missing])}"
            )
        if manifest["sfcperf_version"] != sfcperf.__version__:
            warnings.append(
                f"{name} was made with SFCPerf {manifest['sfcperf_version']}, and packed with "
                f"{sfcperf.__version__}: environment/ says what is installed now"
            )
        if (manifest["versions"].get("revision") or {}).get("modified"):
            warnings.append(f"{name} was made with a changed working tree of SFCPerf")
        if run.run.foreign:
            warnings.append(
                f"{name} has files that SFCPerf did not write, packed as well: "
                + ", ".join(run.run.foreign)
            )
        if run.run.left_out:
            warnings.append(f"{name}: {len(run.run.left_out)} captures were left out")
    return warnings


def _folders_told(findings: Sequence[Finding]) -> list[str]:
    told = [finding for finding in findings if not finding.secret]
    if not told:
        return []
    folders = list(dict.fromkeys(name for f in told for name in f.what.split(", ")))
    where = ", ".join(finding.file for finding in told[:_NAMED])
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return [f"folders of this machine are named ({', '.join(folders[:_NAMED])}): {where}{more}"]
