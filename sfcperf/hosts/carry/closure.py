"""Finds what a program of this machine needs to run elsewhere: its shared libraries and its
loader."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sfcperf.environment.tools import find
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks

_ELF = b"\x7fELF"
_LDD_TIMEOUT_S = 10.0
_LIBRARY = re.compile(r"^\s*(\S+) => (\S+) \(0x[0-9a-f]+\)$")
_LOADER = re.compile(r"^\s*(/\S+) \(0x[0-9a-f]+\)$")


@dataclass(frozen=True)
class Companions:
    """Files that a program opens itself at run time, so that ldd does not list them."""

    patterns: tuple[str, ...]
    """Absolute paths with wildcards; all of them are in one folder."""
    variable: str
    """Environment variable that tells the program that folder; empty: it looks beside itself."""


_NO_COMPANIONS = Companions((), "")
_XTABLES = Companions(("/usr/lib/*/xtables/*.so", "/usr/lib/xtables/*.so"), "XTABLES_LIBDIR")
_COMPANIONS = {
    **{
        f"{family}{backend}{what}": _XTABLES
        for family in ("iptables", "ip6tables")
        for backend in ("", "-nft", "-legacy")
        for what in ("", "-save", "-restore")
    },
    "stdbuf": Companions(("/usr/libexec/coreutils/libstdbuf.so",), ""),
    "tc": Companions(("/usr/lib/tc/*.dist",), "TC_LIB_DIR"),
}


@dataclass(frozen=True)
class Closure:
    """A program and the files that it needs."""

    name: str
    program: Path
    loader: Path | None
    """Dynamic loader; None: the program is statically linked."""
    libraries: tuple[tuple[str, Path], ...]
    """Name by which the program looks for each library, and its file."""
    companions: tuple[Path, ...] = ()
    variable: str = ""
    """Environment variable that tells the program where the companions are; empty: there is
    none."""


def closure(name: str) -> Closure:
    """Find the tool `name` of this machine, and the files that it needs.

    Raises EnvironmentLacks when it is not installed here, is a script, or lacks a library.
    """
    found = find(name)
    if found is None:
        raise EnvironmentLacks(
            f"{name} is neither on the guest nor on this machine",
            hint="`make setup` installs what guests may need; or put it into the image",
        )
    path = Path(found).resolve()
    with path.open("rb") as file:
        if file.read(len(_ELF)) != _ELF:
            raise EnvironmentLacks(
                f"{name} is missing on the guest and cannot be copied there: it is a script here",
                where=str(path),
                hint="put it into the image",
            )
    loader, libraries = parse_ldd(name, _ldd(path, path.stat().st_mtime_ns))
    known = _COMPANIONS.get(name, _NO_COMPANIONS)
    files = sorted(each for pattern in known.patterns for each in Path("/").glob(pattern[1:]))
    return Closure(name, path, loader, libraries, tuple(files), known.variable)


def parse_ldd(name: str, text: str) -> tuple[Path | None, tuple[tuple[str, Path], ...]]:
    """Read loader and libraries from what `ldd` prints. Loader None: the program is statically
    linked. Raises EnvironmentLacks when a library is not found."""
    loader = None
    libraries = []
    for line in text.splitlines():
        if "=> not found" in line:
            raise EnvironmentLacks(f"{name} of this machine lacks a library: {line.strip()}")
        if match := _LIBRARY.match(line):
            libraries.append((match[1], Path(match[2]).resolve()))
        elif match := _LOADER.match(line):
            loader = Path(match[1]).resolve()
    return loader, tuple(sorted(libraries))


@cache
def _ldd(path: Path, changed_ns: int) -> str:
    """Return what ldd prints. `changed_ns` only makes the cache miss after the file has changed."""
    del changed_ns
    done = subprocess.run(
        ["ldd", str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LDD_TIMEOUT_S,
        check=False,
        env=without_secrets(),
    )
    # ldd exits with status 1 for a static program, which is no error here.
    return done.stdout
