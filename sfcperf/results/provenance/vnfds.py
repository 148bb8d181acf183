"""VNF descriptors in a run folder, with which the run can be repeated without the originals.

    vnfds/<first 12 digits of the SHA-256 of all files>/<descriptor and the files it imports>

Files keep their relative paths, so that imports resolve to the same content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.results.files import replacing
from sfcperf.workflow.vnfd import DescriptorFile, descriptor_files

_DIGITS = 12


def keep_descriptors(folder: Path, descriptors: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Copy descriptors into `folder`, the run's `vnfds`, which is created only if there are any.

    `descriptors`: path in the workflow -> file. Returns entries for `vnfds` of run.json: `path` in
    the workflow, `file` in the run folder, and `sha256` of the descriptor. Raises InputError if a
    file cannot be read.
    """
    return [_keep(folder, name, file) for name, file in descriptors.items()]


def check_descriptors(
    kept: Sequence[Mapping[str, Any]], descriptors: Mapping[str, Path], where: str
) -> None:
    """Raise InputError if a descriptor of a run, or a file that it imports, has changed since the
    run began. `kept`: what `keep_descriptors` returned then."""
    for entry in kept:
        file = descriptors.get(entry["path"])
        # The second part of `vnfds/DIGEST/...` is the digest of the files at that time.
        if file is not None and _digest(descriptor_files(file)) != Path(entry["file"]).parts[1]:
            raise InputError(
                f"the VNF descriptor {entry['path']}, or a file that it imports, has changed since "
                "the run began",
                where=where,
                hint=f"restore it from the copy in the run folder, {entry['file']}",
            )


def _digest(files: Sequence[DescriptorFile]) -> str:
    """Return the name of a folder for exactly these files: a hash of their paths and contents."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        digest.update(f"{file.path}\0{len(file.content)}\0".encode() + file.content)
    return digest.hexdigest()[:_DIGITS]


def _keep(folder: Path, name: str, descriptor: Path) -> dict[str, Any]:
    """Copy a descriptor and the files that it imports; return its entry in `vnfds` of run.json.
    `name`: its path in the workflow."""
    files = descriptor_files(descriptor)  # the descriptor itself is the first one
    copies = folder / _digest(files)
    for file in files:
        copy = copies / file.path
        copy.parent.mkdir(parents=True, exist_ok=True)
        with replacing(copy) as beside:
            beside.write_bytes(file.content)
    return {
        "path": name,
        "file": str((copies / files[0].path).relative_to(folder.parent)),
        "sha256": hashlib.sha256(files[0].content).hexdigest(),
    }
