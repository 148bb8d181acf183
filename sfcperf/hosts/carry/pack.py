"""Packs programs and their libraries into one archive. Files are named by their content, so that
none is copied twice.

On the host, `WORKDIR/carried/objects/DIGEST-NAME` are the files. `WORKDIR/carried/trees/DIGEST/`
has links to the files of one program, with the names that its loader looks for. WORKDIR/bin has a
small script per program.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import shlex
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sfcperf.hosts.carry.closure import Closure

_FAST = 1
"""Level of compression. An emulated guest takes longer to unpack than the network takes to
transfer."""


@dataclass(frozen=True)
class ProgramTree:
    """The files of one program, and the links to them, as they will be on the host."""

    closure: Closure
    objects: dict[str, Path]
    """Name in `objects` -> file of this machine."""
    links: dict[str, str]
    """Name in the tree -> name in `objects`."""

    @property
    def digest(self) -> str:
        """Digest of the links, which lead to files that are named by their contents. It names the
        tree on the host."""
        text = "\n".join(f"{name} {self.links[name]}" for name in sorted(self.links))
        return hashlib.sha256(f"{self.closure.name}\n{text}".encode()).hexdigest()[:16]

    def script(self, carried: str) -> str:
        """Text of the script WORKDIR/bin/NAME, which starts the program; `carried` is
        WORKDIR/carried."""
        tree = f"{carried}/trees/{self.digest}"
        name, variable = self.closure.name, self.closure.variable
        setting = f"{variable}={shlex.quote(f'{tree}/companions')} " if variable else ""
        if self.closure.companions and not variable:
            name = f"{tree}/companions/{name}"  # it looks for them beside its argv[0]
        if self.closure.loader is None:
            return f'#!/bin/sh\n{setting}exec {shlex.quote(f"{tree}/program")} "$@"\n'
        words = [f"{tree}/run/{self.closure.name}", "--library-path", f"{tree}/lib"]
        words += ["--argv0", name, f"{tree}/program"]
        return f'#!/bin/sh\n{setting}exec {shlex.join(words)} "$@"\n'


def tree(closure: Closure) -> ProgramTree:
    """Make the tree of a program: name its files by their contents, and link to them."""
    loader = () if closure.loader is None else (closure.loader,)
    libraries = (path for _, path in closure.libraries)
    files = (closure.program, *loader, *libraries, *closure.companions)
    named = {path: f"{_digest(path, path.stat().st_mtime_ns)}-{path.name}" for path in files}
    links = {"program": named[closure.program]}
    if closure.loader is not None:
        # `ps` and `top` show the name by which the loader is executed: so it gets the program's.
        links[f"run/{closure.name}"] = named[closure.loader]
    links |= {f"lib/{soname}": named[path] for soname, path in closure.libraries}
    links |= {f"companions/{path.name}": named[path] for path in closure.companions}
    return ProgramTree(closure, {name: path for path, name in named.items()}, links)


def archive(trees: Iterable[ProgramTree], present: frozenset[str], carried: str) -> bytes:
    """Pack into a compressed tar archive: the objects except those in `present`, the trees, and the
    scripts for `bin`. `carried`: the path WORKDIR/carried on the host."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=_FAST, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        added = set(present)
        for each in trees:
            for name in sorted(each.objects.keys() - added):
                _add_file(tar, f"objects/{name}", each.objects[name].read_bytes())
                added.add(name)
            for name, target in sorted(each.links.items()):
                link = tarfile.TarInfo(f"trees/{each.digest}/{name}")
                link.type = tarfile.SYMTYPE
                # From trees/DIGEST/, and from folders in `name`, up to the folder of `objects`.
                up = "../" * (2 + name.count("/"))
                link.linkname = f"{up}objects/{target}"
                tar.addfile(link)
            _add_file(tar, f"bin/{each.closure.name}", each.script(carried).encode())
    return packed.getvalue()


def _add_file(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add an executable file."""
    info = tarfile.TarInfo(name)
    info.mode = 0o755
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


@cache
def _digest(path: Path, changed_ns: int) -> str:
    """Return a digest of the file's contents. `changed_ns` only makes the cache miss after the file
    has changed."""
    del changed_ns
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
