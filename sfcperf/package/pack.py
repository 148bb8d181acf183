"""Pack: run folders, and all that is needed to judge and to rerun them, in one zip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfcperf.errors import InputError, errors_as
from sfcperf.package import layout
from sfcperf.package.archive import Archive, hash_file, hash_list
from sfcperf.package.crate import crate_text
from sfcperf.package.environment import python_packages, system_packages
from sfcperf.package.kit.citation import citation_text
from sfcperf.package.kit.software import software
from sfcperf.package.modules import Module, third_party, used_plugins
from sfcperf.package.pack_document import PackedRun, PackOptions, doubts, package_document
from sfcperf.package.readme import readme_text
from sfcperf.package.run_files import run_files
from sfcperf.package.scan import Finding, scan
from sfcperf.package.signature import signature_files
from sfcperf.package.sources import workflow_files
from sfcperf.package.zip_check import inspect
from sfcperf.results.files import replacing
from sfcperf.results.store import RunFile, RunStore

_NAMED = 3
"""Number of files that a message names; the others are only counted."""


@dataclass(frozen=True)
class PackResult:
    """A package that has been written."""

    path: Path
    files: int
    bytes: int
    """Size of all files, unpacked."""
    warnings: tuple[str, ...]
    """What a reader should know of it, as sentences; package.json has them, too."""
    document: Mapping[str, Any]
    """Content of its package.json."""


def pack(
    stores: Sequence[RunStore],
    target: Path,
    options: PackOptions | None = None,
    *,
    own_lock: bool = False,
) -> PackResult:
    """Write a package of runs; the same input gives the same bytes. `own_lock`: this process itself
    holds the lock of the run, which it publishes.

    Raises InputError when a run is alive, damaged, incomplete (unless allowed) or holds a secret
    (unless allowed), or when `target` exists (unless it may be replaced); EnvironmentLacks when a
    plug-in that a run used is not installed here; both as `software`.
    """
    options = options or PackOptions()
    check_target(target, options)
    runs = [_collect(store, options, own_lock=own_lock) for store in stores]
    _check_runs(runs, options)
    modules = third_party({plugin for run in runs for plugin in run.used})
    files = _files(runs, modules)
    findings = scan(files)
    _check_secrets(findings, options)
    warnings = [*doubts(runs), *_changed_modules(runs, modules), *_named_folders(findings)]
    with TemporaryDirectory() as folder, replacing(target) as beside:
        own = None
        if options.with_sfcperf:
            own = software(Path(folder), [run.run.manifest for run in runs])
            files |= own.files
            warnings += own.warnings
        with Archive(beside) as archive:
            about = own.document if own else None
            document = package_document(runs, modules, options, warnings, about)
            _write(archive, runs, files, document)
            added = dict(archive.files)
        # What this SFCPerf would refuse to open must not be written. Only the size is not limited:
        # whoever opens the package may allow more.
        refused = "this cannot be packed"
        with errors_as(InputError, InputError, context=refused, where=str(target)):
            inspect(beside, max_bytes=1 << 62)
    # Signatures of a package that was there before are not of this one.
    for stale in signature_files(target).values():
        stale.unlink(missing_ok=True)
    size = sum(file.bytes for file in added.values())
    return PackResult(target, len(added), size, tuple(warnings), document)


def check_target(target: Path, options: PackOptions) -> None:
    """Raise InputError if a file, the package or one beside it, cannot be written there."""
    if target.exists() and not (options.overwrite and target.is_file()):
        raise InputError(
            "this file exists already",
            where=str(target),
            hint="name another file, or add --overwrite",
        )
    if not target.parent.is_dir():
        raise InputError("there is no such folder", where=str(target.parent))


def _collect(store: RunStore, options: PackOptions, *, own_lock: bool) -> PackedRun:
    """Collect what of a run, its workflow and its plug-ins is packed. Raises as `pack`."""
    run = run_files(store, without=options.without, left_out=options.left_out, own_lock=own_lock)
    document, _ = store.workflow()
    used = frozenset(used_plugins(run.manifest, document, store.plan()))
    # Called for its error: loading the workflow says less clearly that a plug-in is missing.
    third_party(used)
    return PackedRun(run, workflow_files(store, large=options.large_files), used)


def _check_runs(runs: Sequence[PackedRun], options: PackOptions) -> None:
    """Raise InputError for a run that is named twice, or is incomplete and must not be."""
    names = [run.run.store.run_id for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"the run {name} is named twice")
    for run in runs:
        reasons = run.incomplete
        if reasons and not options.allow_incomplete:
            raise InputError(
                f"the run is not complete: {'; '.join(reasons)}",
                where=str(run.run.store.folder),
                hint="`sfcperf resume` continues it; --allow-incomplete packs it as it is",
            )


def _check_secrets(findings: Sequence[Finding], options: PackOptions) -> None:
    """Raise InputError if files have secrets, unless that is allowed."""
    secrets = [finding for finding in findings if finding.secret]
    if secrets and not options.allow_secrets:
        named = "; ".join(f"{f.file}: {f.what}" for f in secrets[:_NAMED])
        more = f"; and {len(secrets) - _NAMED} more" if len(secrets) > _NAMED else ""
        raise InputError(
            f"the package would contain what seems to be a secret: {named}{more}",
            hint="remove it, and change it where it is used; --allow-secrets packs it anyway",
        )


def _files(runs: Sequence[PackedRun], modules: Sequence[Module]) -> dict[str, Path]:
    """Return name in the package -> file, for all that is copied as it is."""
    files: dict[str, Path] = {}
    for run in runs:
        files |= {f"{run.folder}/{name}": path for name, path in run.run.files.items()}
        files |= {f"{run.base}/{name}": path for name, path in run.sources.files.items()}
        # Once is enough: a script is needed where the workflow says, and found there by its hash.
        for copy in set(run.run.files.values()) & set(run.sources.files.values()):
            if copy.parent == run.run.store.files:
                del files[f"{run.folder}/{copy.relative_to(run.run.store.folder)}"]
        # This file names a folder of this machine: `_write` makes one that leads into the package.
        files.pop(f"{run.folder}/{RunFile.WORKFLOW_BASE}", None)
    for module in modules:
        folder = f"{layout.MODULES}/{module.folder}"
        files |= {f"{folder}/{name}": path for name, path in module.files.items()}
    return files


def _write(
    archive: Archive,
    runs: Sequence[PackedRun],
    files: Mapping[str, Path],
    document: Mapping[str, Any],
) -> None:
    """Write all files, sorted by name. `document` is the content of package.json. The RO-Crate
    follows, which describes them, and then the list of hashes, which covers everything else."""
    texts = {
        layout.PYTHON_PACKAGES: python_packages(),
        layout.SYSTEM_PACKAGES: system_packages(),
        layout.MANIFEST: _json(document),
        layout.README: readme_text(document),
        **{f"{run.folder}/{RunFile.WORKFLOW_BASE}": _json({"folder": _base(run)}) for run in runs},
    }
    if (citation := citation_text(document)) is not None:
        texts[layout.CITATION] = citation
    for name in sorted({*files, *texts}):
        if name in texts:
            archive.add_text(name, texts[name])
        else:
            archive.add_file(name, files[name])
    archive.add_text(layout.CRATE, crate_text(document, archive.files))
    archive.add_text(layout.HASHES, hash_list(archive.files))


def _base(run: PackedRun) -> str:
    """Return the relative path from the run's folder in the package to the folder where its
    workflow's paths start; `.` if the workflow needs no files."""
    if not run.sources.files:
        return "."
    base = f"../../{run.base}"
    return base if run.sources.base == "." else f"{base}/{run.sources.base}"


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _changed_modules(runs: Sequence[PackedRun], modules: Sequence[Module]) -> list[str]:
    """Warn of files of plug-ins that are not what they were when a run began."""
    here = {name: path for module in modules for name, path in module.files.items()}
    changed = {
        file["path"]
        for run in runs
        for module in run.run.manifest["modules"]
        for file in module.get("files", ())
        if file["path"] in here and hash_file(here[file["path"]]).sha256 != file["sha256"]
    }
    return [f"{name} was changed after a run had used it" for name in sorted(changed)]


def _named_folders(findings: Sequence[Finding]) -> list[str]:
    """Warn, in one sentence, of files that name folders of this machine."""
    naming = [finding for finding in findings if not finding.secret]
    if not naming:
        return []
    folders = list(dict.fromkeys(name for f in naming for name in f.what.split(", ")))
    where = ", ".join(finding.file for finding in naming[:_NAMED])
    more = f" and {len(naming) - _NAMED} more" if len(naming) > _NAMED else ""
    return [f"folders of this machine are named ({', '.join(folders[:_NAMED])}): {where}{more}"]
