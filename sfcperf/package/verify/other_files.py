"""Do README.md and CITATION.cff follow from package.json, and which files of a package were only
compared with its list of hashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import sfcperf
from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.package import layout
from sfcperf.package.checks import KEPT, Check
from sfcperf.package.kit.citation import citation_text
from sfcperf.package.opened import Package
from sfcperf.package.readme import readme_text
from sfcperf.package.verify.document_check import CHECKED
from sfcperf.results.store import RunFile

NAME = "other files"
_REMADE = (RunFile.SUMMARY, RunFile.SUMMARY_CSV)
_MAX_TEXT_BYTES = 1 << 22


def check_other_files(package: Package, names: Sequence[str]) -> Check:
    """Check README.md and CITATION.cff, and name the files that no check makes again. `names`: all
    files of the package. The two are made again if this release packed them. A forger who changes
    one of the other files and the list of hashes changes what a reader sees: so they are named."""
    texts: dict[str, str] = {}
    if package.document["made_by"]["sfcperf"] == sfcperf.__version__:
        texts[layout.README] = readme_text(package.document)
        if (citation := citation_text(package.document)) is not None:
            texts[layout.CITATION] = citation
    for name, text in texts.items():
        try:
            content = read_input(package.folder / name, name, max_bytes=_MAX_TEXT_BYTES)
        except InputError as error:
            return Check(NAME, "failed", error.message)
        if content != text.encode():
            return Check(NAME, "failed", f"{name} does not follow from {layout.MANIFEST}")
    checked = {layout.MANIFEST, layout.CRATE, layout.HASHES, *texts}
    rest = Counter(
        _shown(name) for name in names if name not in checked and not _is_checked(package, name)
    )
    if not rest:
        return Check(NAME, "ok", "there are none")
    lines = [name if count == 1 else f"{name} ({count} files)" for name, count in rest.items()]
    return Check(NAME, "not checked", "only hashed, not made again", tuple(lines[:KEPT]))


def _is_checked(package: Package, name: str) -> bool:
    """Whether another check is about the file: it is a document of a run, a summary or a figure."""
    for run in package.document["runs"]:
        inside = name.removeprefix(f"{run['folder']}/")
        if inside != name:
            return inside in (*CHECKED, *_REMADE) or inside.startswith(f"{RunFile.FIGURES}/")
    return False


def _shown(name: str) -> str:
    """Return what the list shows for a file: its own name, or its folder if it is deeper in a run
    or is in another folder of the package."""
    parts = name.split("/")
    if parts[0] == layout.RUNS and len(parts) > 3:
        return "/".join(parts[:3]) + "/"
    return name if parts[0] == layout.RUNS or len(parts) == 1 else f"{parts[0]}/"
