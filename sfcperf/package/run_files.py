"""What of a run folder goes into a package, and whether the run is fit to be packed."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from sfcperf.control.lock import RunInProgress, is_held
from sfcperf.counts import count_text
from sfcperf.errors import InputError
from sfcperf.package.archive import PackedFile, hash_file
from sfcperf.package.layout import CAPTURES
from sfcperf.results.noise_gate import without_replaced
from sfcperf.results.store import RunFile, RunStore

PACKAGE = "package.zip"
"""Name of the package that the publisher `package` writes into the run folder. It is never packed
itself."""
_NOT_PACKED = frozenset({"lock", PACKAGE, f"{PACKAGE}.sig", f"{PACKAGE}.minisig"})
_IMAGES = (".png", ".pdf")

Part = Literal["captures", "raw", "report", "images", "telemetry"]
_SHOWN: Mapping[Part, str] = {
    "captures": "capture",
    "raw": "raw file",
    "report": "report",
    "images": "PNG or PDF file",
    "telemetry": "telemetry table",
}
"""Part of a run folder that need not be packed -> what one file of it is called."""


@dataclass(frozen=True)
class RunFiles:
    """The files of a run folder, sorted into those that are packed and those that are left out."""

    store: RunStore
    manifest: Mapping[str, Any]
    """Content of run.json."""
    files: Mapping[str, Path]
    """Path in the run folder -> the file."""
    left_out: Mapping[str, PackedFile]
    """Files that are not packed, because the user did not want them: path -> size and hash."""
    incomplete: tuple[str, ...]
    """Why the run is not complete; empty when it is."""
    foreign: tuple[str, ...]
    """Files and folders at its top that SFCPerf did not write; they are packed as well."""


def run_files(
    store: RunStore,
    *,
    without: Collection[Part] = (),
    left_out: Mapping[str, PackedFile] = MappingProxyType({}),
    own_lock: bool = False,
) -> RunFiles:
    """List what to pack.

    `without`: parts that are left out; captures are with the raw output. `left_out`: files that an
    earlier package left out, and that the folder may lack. `own_lock`: this process itself holds
    the run's lock, as it publishes.

    Raises RunInProgress when a process works on the run; InputError when the folder is damaged, or
    holds something that is neither a file nor a folder.
    """
    if is_held(store.folder) and not own_lock:
        raise RunInProgress(
            f"the run {store.run_id} is being executed",
            where=str(store.folder),
            hint="wait for its end",
        )
    manifest = store.manifest()
    files: dict[str, Path] = {}
    without_now: dict[str, PackedFile] = {}
    parts = {*without, "captures"} if "raw" in without else {*without}
    for name, path in _walk(store.folder):
        if _part(name) in parts:
            without_now[name] = hash_file(path)
        else:
            files[name] = path
    at_top = {name.partition("/")[0] for name in files}
    return RunFiles(
        store=store,
        manifest=manifest,
        files=files,
        left_out={**without_now, **left_out},
        incomplete=tuple(why_incomplete(store, manifest)),
        foreign=tuple(sorted(at_top - set(RunFile))),
    )


def left_out_text(names: Iterable[str]) -> str:
    """Say how many files of which part were left out: `2 captures, 1 report`. `names`: their paths
    in the run folder."""
    counts = Counter(map(_part, names))
    return ", ".join(
        count_text(counts[part], noun) for part, noun in _SHOWN.items() if counts[part]
    )


def _part(name: str) -> Part | None:
    """Return the part that a file of a run folder belongs to; None: it is always packed."""
    if name.endswith(CAPTURES):
        return "captures"
    if name.startswith(f"{RunFile.RAW}/"):
        return "raw"
    if name.startswith(f"{RunFile.FIGURES}/") and name.endswith(_IMAGES):
        return "images"
    if name == RunFile.REPORT:
        return "report"
    return "telemetry" if name == RunFile.TELEMETRY else None


def foreign_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the files and folders at the top of a run folder that SFCPerf did not
    write."""
    return tuple(sorted({path.name for path in folder.iterdir()} - set(RunFile)))


def _walk(folder: Path) -> list[tuple[str, Path]]:
    """List the files of a run folder as (path in the folder, file), sorted, without its lock, its
    own package and unfinished files. Raises InputError for what is neither a file nor a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        unfinished = path.name.startswith(".") and path.name.endswith(".new")
        if name in _NOT_PACKED or unfinished:
            continue
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            found.append((name, path))
        elif not stat.S_ISDIR(mode):
            raise InputError(
                "a package contains only files, but this is a link or a device",
                where=str(path),
                hint="remove it, or replace it with a copy",
            )
    return found


def why_incomplete(store: RunStore, manifest: Mapping[str, Any]) -> list[str]:
    """Return the reasons why a run is not complete; empty when it is."""
    reasons = []
    if manifest["status"] != "complete":
        reasons.append(f"its status is {manifest['status']}")
    trials = store.trials()
    recorded = sum(manifest["trials"].values())
    counted = len(without_replaced(trials))
    if manifest["status"] == "complete" and recorded != counted:
        reasons.append(
            f"run.json counts {count_text(recorded, 'trial')}, trials.jsonl has {counted}"
        )
    if not store.summaries():
        reasons.append("it has no summaries")
    return reasons
