"""package.json: what a package says of itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sfcperf
from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks
from sfcperf.package import layout
from sfcperf.package.archive import PackedFile
from sfcperf.package.kit.effort import effort
from sfcperf.package.kit.machine import machine
from sfcperf.package.modules import Module
from sfcperf.package.people import Author
from sfcperf.package.run_files import Part, RunFiles, left_out_text
from sfcperf.package.sources import WorkflowFiles
from sfcperf.presentation.claim_texts import published_text, range_text
from sfcperf.report.noise import noise_findings
from sfcperf.results.store import RunFile, RunStore

FACTS = (
    "run_id",
    "name",
    "description",
    "status",
    "started_at",
    "ended_at",
    "trials",
    "sfcperf_version",
)
"""Keys of run.json that package.json repeats."""


@dataclass(frozen=True)
class PackOptions:
    """What the user says about a package."""

    license: str | None = None
    """SPDX identifier; None: no licence is given."""
    authors: tuple[Author, ...] = ()
    without: frozenset[Part] = frozenset()
    """Parts of run folders that are not packed; package.json has names, sizes and SHA-256."""
    left_out: Mapping[str, PackedFile] = field(default_factory=dict)
    """Files that the run folder lacks because an earlier package left them out."""
    allow_incomplete: bool = False
    allow_secrets: bool = False
    large_files: bool = False
    """Whether large files that knobs name are packed."""
    with_sfcperf: bool = False
    """Whether SFCPerf itself is packed: its wheel, and what that needs, with hashes."""
    overwrite: bool = False
    """Whether an existing file may be replaced."""


@dataclass(frozen=True)
class PackedRun:
    """A run that is to be packed, with the workflow files and the plug-ins that it used."""

    run: RunFiles
    sources: WorkflowFiles
    used: frozenset[tuple[str, str]]
    """Kind and name of each plug-in that it used."""

    @property
    def incomplete(self) -> list[str]:
        """Why the run is not complete: what its folder lacks, and what its workflow would lack in a
        replay. Empty when all is well."""
        return [*self.run.incomplete, *(f"it lacks {what}" for what in self.sources.missing)]

    @property
    def folder(self) -> str:
        """Its run folder in the package."""
        return f"{layout.RUNS}/{self.run.store.run_id}"

    @property
    def base(self) -> str:
        """Folder of its workflow's files in the package."""
        return f"{layout.WORKFLOW_FILES}/{self.run.store.run_id}"


def package_document(
    runs: Sequence[PackedRun],
    modules: Sequence[Module],
    options: PackOptions,
    warnings: Sequence[str],
    software: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of package.json, as schemas/package.schema.json describes it. `software`:
    what it says of SFCPerf itself, if that is packed."""
    names = list(dict.fromkeys(run.run.manifest["name"] for run in runs))
    title = f"Measurements of service function chains: {', '.join(names)}"
    date = _date(runs)
    authors = ", ".join(author.name for author in options.authors) or "Anonymous"
    described = dict.fromkeys(run.run.manifest["description"] for run in runs)
    files = f"Workflow, trials, raw output and results of {len(runs)} SFCPerf run(s)."
    return {
        "schema_version": layout.FORMAT,
        "made_by": {"sfcperf": sfcperf.__version__},
        "title": title,
        "description": " ".join(described).strip() or files,
        "date": date,
        "license": options.license,
        "authors": [{"name": a.name, "orcid": a.orcid} for a in options.authors],
        "citation": f"{authors} ({date[:4]}): {title}. Reproducibility package, made with SFCPerf.",
        "captures": not options.without & {"captures", "raw"},
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
        **({"software": dict(software)} if software else {}),
        "warnings": list(warnings),
    }


def _run_document(run: PackedRun) -> dict[str, Any]:
    """A run as package.json lists it in `runs`."""
    manifest = run.run.manifest
    claims = stated_claims(run.run.store)
    return {
        **{name: manifest[name] for name in FACTS},
        "folder": run.folder,
        **({"claims": claims} if claims else {}),
        "machine": machine(manifest),
        "effort": effort(run.run.store),
        "incomplete": run.incomplete,
        "workflow_files": [f"{run.base}/{name}" for name in run.sources.files],
        "left_out": [
            {"file": name, "bytes": packed.bytes, "sha256": packed.sha256}
            for name, packed in run.run.left_out.items()
        ],
    }


def stated_claims(store: RunStore) -> list[dict[str, str]]:
    """Return what package.json says of the claims of a run; empty if it has none."""
    document = store.document(RunFile.CLAIMS) or {"claims": []}
    keys = ("id", "text", "source", "verdict", "reason")
    return [
        {
            **{key: row[key] for key in keys},
            "published": published_text(row),
            "holds_if": range_text(row),
        }
        for row in document["claims"]
    ]


def _date(runs: Sequence[PackedRun]) -> str:
    """Return the date of the package: that of SOURCE_DATE_EPOCH (reproducible-builds.org), or else
    of the last measurement. Today's date would make the same input give other bytes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch:
        if not (epoch.isascii() and epoch.isdigit() and len(epoch) < 12):
            raise EnvironmentLacks(f"SOURCE_DATE_EPOCH is {epoch!r}", hint="seconds since 1970")
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    ends = (r.run.manifest["ended_at"] or r.run.manifest["started_at"] for r in runs)
    return max(str(end)[:10] for end in ends)


def doubts(runs: Sequence[PackedRun]) -> list[str]:
    """Return what a reader of the package should know of its runs, as sentences."""
    warnings: list[str] = []
    for run in runs:
        warnings += doubts_of(
            run.run.manifest,
            incomplete=run.incomplete,
            foreign=run.run.foreign,
            left_out=tuple(run.run.left_out),
            lacking=run.sources.left_out,
            noise=noise_findings(run.run.manifest, run.run.store.trials()),
            packed_with=sfcperf.__version__,
        )
    return warnings


def doubts_of(
    manifest: Mapping[str, Any],
    *,
    incomplete: Sequence[str],
    foreign: Sequence[str],
    left_out: Sequence[str],
    lacking: Sequence[str],
    noise: Iterable[str],
    packed_with: str,
) -> list[str]:
    """Return what a reader of the package should know of one run, as sentences. Packing writes
    them, and verifying compares with them.

    `incomplete`: why the run is incomplete; `foreign`: files that SFCPerf did not write;
    `left_out`: files that were not packed; `lacking`: files in knobs that were not packed;
    `noise`: sentences about a machine that was not quiet; `packed_with`: version of the SFCPerf
    that packed the run.
    """
    name, warnings = manifest["run_id"], []
    if incomplete:
        warnings.append(f"{name} is incomplete: {'; '.join(incomplete)}")
    if manifest["sfcperf_version"] != packed_with:
        warnings.append(
            f"{name} was made with SFCPerf {manifest['sfcperf_version']}, and packed with "
            f"{packed_with}: environment/ says what is installed now"
        )
    if (manifest["versions"].get("revision") or {}).get("modified"):
        warnings.append(f"{name} was made with a changed working tree of SFCPerf")
    warnings += [f"{name}: {sentence}" for sentence in noise]
    if foreign:
        warnings.append(
            f"{name} has files that SFCPerf did not write, packed as well: {', '.join(foreign)}"
        )
    if left_out:
        warnings.append(f"{name}: not packed: {left_out_text(left_out)}")
    if lacking:
        named = {entry["path"]: entry for entry in manifest["files"]}
        files = ", ".join(f"{path} ({_identity(named[path])})" for path in lacking)
        warnings.append(
            f"{name} lacks files that its workflow names, without which it cannot be repeated: "
            f"{files}; `pack --large-files` packs large ones"
        )
    own = [entry for entry in manifest.get("programs", ()) if entry["package"] is None]
    if own:
        files = ", ".join(f"{entry['path']} ({_identity(entry)})" for entry in own)
        warnings.append(
            f"{name} ran programs that are of no Debian package, and are not packed: {files}"
        )
    return warnings


def _identity(entry: Mapping[str, Any]) -> str:
    """Size and SHA-256 of a file, of `files` or `programs` in run.json, in words."""
    return f"{count_text(entry['bytes'], 'byte')}, SHA-256 {entry['sha256']}"
