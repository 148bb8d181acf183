"""The agent's program: the Python sources of this SFCPerf, and of the packages in pure Python that
an agent needs. A machine gets them by SSH, once for each state of the sources."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import execnet
import pyroute2
import tenacity

import sfcperf

FOLDER = "/var/lib/sfcperf/agents"
"""Folder, on a machine, for programs."""
_PACKAGES = (sfcperf, pyroute2, tenacity, execnet)
_LEAST_PYTHON = (3, 11)

LOOK = """
import os, sys
if sys.version_info < {least}:
    sys.exit("its Python is %d.%d; %d.%d or newer is needed" % (*sys.version_info[:2], *{least}))
print("there" if os.path.isdir({folder!r}) else "missing")
"""
"""Program that says whether a machine has the agent's program."""
UNPACK = """
import io, os, shutil, sys, tempfile, zipfile
folder = {folder!r}
os.makedirs(os.path.dirname(folder), exist_ok=True)
part = tempfile.mkdtemp(dir=os.path.dirname(folder))
zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())).extractall(part)
os.chmod(part, 0o755)
try:
    os.rename(part, folder)
except OSError:  # another run was faster
    shutil.rmtree(part)
"""
"""Program that unpacks an archive from standard input."""


@cache
def folder() -> str:
    """Return the folder, on a machine, of this program. It is named after what is in it."""
    digest = hashlib.sha256()
    for name, path in _files():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{FOLDER}/{digest.hexdigest()[:16]}"


def archive() -> bytes:
    """Return this program as a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, path in _files():
            packed.write(path, name)
    return file.getvalue()


def look() -> str:
    """Return the text of LOOK for this program."""
    return LOOK.format(folder=folder(), least=_LEAST_PYTHON)


def unpack() -> str:
    """Return the text of UNPACK for this program."""
    return UNPACK.format(folder=folder())


def _files() -> Iterator[tuple[str, Path]]:
    """Yield the files of the program, each with its name in the archive."""
    for package in _PACKAGES:
        assert package.__file__ is not None
        root = Path(package.__file__).parent
        # In a source tree, some packages are links.
        for place, folders, names in os.walk(root, followlinks=True):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(names):
                if name.endswith(".py"):
                    path = Path(place, name)
                    yield str(Path(root.name) / path.relative_to(root)), path
