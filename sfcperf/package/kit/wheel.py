"""The wheel of the SFCPerf that runs here: built from its source tree, or put together again from
what an installer unpacked."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import PackagePath, PathDistribution
from pathlib import Path

import sfcperf
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks

_PACKAGE = Path(sfcperf.__file__).parent
_NAME = f"sfcperf-{sfcperf.__version__}"
_SOURCES = ("sfcperf", "pyproject.toml", "setup.py", "README.md", "LICENSE")
"""What a build reads of the tree. Other folders are linked from `sfcperf`."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_EPOCH_S = "315532800"
"""1980-01-01 for SOURCE_DATE_EPOCH: the same sources give the same wheel."""
_OF_INSTALLER = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json")
"""Files of the metadata folder that an installer adds."""


def wheel(folder: Path) -> Path:
    """Make the wheel in an empty folder; return its path. Raises EnvironmentLacks if the tree
    cannot be built here, or the installed files are not those that were installed."""
    tree = _PACKAGE.resolve().parent
    if (tree / "pyproject.toml").is_file():
        return _built(tree, folder)
    return _repacked(_PACKAGE.parent, folder)


def _built(tree: Path, folder: Path) -> Path:
    """Build it from the source tree, without network. A build writes beside its sources: so it gets
    a copy."""
    source = folder / "source"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for name in _SOURCES:
        if (tree / name).is_dir():
            shutil.copytree(tree / name, source / name, ignore=ignored)
        else:
            shutil.copy2(tree / name, source / name)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "wheel")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir")
    done = subprocess.run(
        [*pip, *options, str(folder), str(source)],
        env={**without_secrets(), "SOURCE_DATE_EPOCH": _EPOCH_S},
        capture_output=True,
        text=True,
        check=False,
    )
    made = list(folder.glob("*.whl"))
    if done.returncode or len(made) != 1:
        lines = done.stderr.strip().splitlines() or ["pip made no wheel"]
        raise EnvironmentLacks(
            f"no wheel can be built from the source tree: {lines[-1]}",
            where=str(tree),
            hint="building takes pip and setuptools: `make setup` installs them",
        )
    return made[0]


def _repacked(site: Path, folder: Path) -> Path:
    """Put it together from the files that an installer unpacked into the folder `site`, and from
    its record of them (PyPA specifications, "Recording installed projects")."""
    info = f"{_NAME}.dist-info"
    found = PathDistribution(site / info).files or ()
    target = folder / f"{_NAME}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(found, key=str):
            name = _in_wheel(file, info)
            if name is None:
                continue
            content = _unchanged(site, file)
            archive.writestr(_entry(name), content)
            record.append(f"{name},sha256={_digest(content)},{len(content)}\n")
        record.append(f"{info}/RECORD,,\n")
        archive.writestr(_entry(f"{info}/RECORD"), "".join(record))
    if len(record) == 1:
        raise EnvironmentLacks(
            "the installer kept no record of SFCPerf's files",
            where=str(site / info),
            hint="install SFCPerf with pip or uv",
        )
    return target


def _in_wheel(file: PackagePath, info: str) -> str | None:
    """Return the name that an installed file has in the wheel; None: the installer made it."""
    if file.suffix == ".pyc" or (file.parts[0] == info and file.name in _OF_INSTALLER):
        return None
    if file.parts[0] in ("sfcperf", info):
        return str(file)
    # Data are installed below the environment's root, and so are commands, from entry points.
    inside = [part for part in file.parts if part != ".."]
    return None if inside[0] != "share" else "/".join((f"{_NAME}.data", "data", *inside))


def _unchanged(site: Path, file: PackagePath) -> bytes:
    """Return the content of an installed file. Raises EnvironmentLacks if it is another one than
    was installed."""
    try:
        content = Path(os.path.normpath(site / file)).read_bytes()
    except OSError:
        content = None
    if content is None or file.hash is None or _digest(content) != file.hash.value:
        raise EnvironmentLacks(
            "a file of SFCPerf is not as it was installed",
            where=str(site / file),
            hint="install SFCPerf again; what would be packed is not what ran",
        )
    return content


def _digest(content: bytes) -> str:
    """SHA-256 as records of wheels have it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o100644 << 16
    return entry
