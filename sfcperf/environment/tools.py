"""Requirements that plug-ins express: a tool on the path, root, a file that a build makes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec

from sfcperf.environment.questions import ask
from sfcperf.plugins import Requirement

_ADMIN_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_VERSION_TIMEOUT_S = 5.0
_ask_versions: ContextVar[bool] = ContextVar("ask_versions", default=False)


@contextmanager
def versions() -> Iterator[None]:
    """Let `tool` also ask each tool for its version while the block lasts."""
    token = _ask_versions.set(True)
    try:
        yield
    finally:
        _ask_versions.reset(token)


def search_path() -> str:
    """PATH, followed by the sbin folders. On Debian, the PATH of an ordinary user, and of root
    after `su`, lacks them."""
    return os.pathsep.join([*os.get_exec_path(), *_ADMIN_FOLDERS])


def find(name: str) -> str | None:
    """Path of a command, which may also be in an sbin folder; None if it is not found."""
    return shutil.which(name, path=search_path())


def tool(
    name: str, package: str, version_argv: Sequence[str] = (), remedy: str = ""
) -> Requirement:
    """Require the command `name`, which the Debian package `package` provides. `remedy` replaces
    the advice to install that package.

    Only the path is searched, and no process is started, except inside `versions()`. There
    `version_argv` is run, a whole command line that prints the version, e.g. `["iperf3",
    "--version"]`; the first line of stdout, or else of stderr, is shown. Empty: the command has no
    version worth showing.
    """
    path = find(name)
    if path is None:
        return Requirement(
            name,
            met=False,
            detail="not found on this machine",
            remedy=remedy
            or f"install the package {package}; `sfcperf setup` installs those of most runs",
            command=True,
        )
    version = _version(path, version_argv) if version_argv and _ask_versions.get() else ""
    detail = f"{version} ({path})" if version else path
    return Requirement(name, met=True, detail=detail, command=True)


def python_packages(libraries: Sequence[str], extra: str) -> Requirement:
    """Require the Python packages of an extra; none of them is imported to find out."""
    name = f"sfcperf[{extra}]"
    missing = [library for library in libraries if find_spec(library) is None]
    if missing:
        detail, remedy = f"not installed: {', '.join(missing)}", f"pip install '{name}'"
        return Requirement(name, False, detail, remedy, of_extra=True)
    return Requirement(name, True, "installed", of_extra=True)


def root(purpose: str) -> Requirement:
    """Require to be root; `purpose` says what for, e.g. `makes network namespaces`."""
    met = os.geteuid() == 0
    return Requirement(
        "root",
        met,
        "running as root" if met else f"running as user {os.geteuid()}: {purpose}",
        "" if met else "run it with sudo: `sudo .venv/bin/sfcperf ...`",
    )


def _version(path: str, argv: Sequence[str]) -> str:
    """Run the command at `path` with the arguments of `argv`; return the first line that it prints,
    or an empty text."""
    done = ask([path, *argv[1:]], timeout_s=_VERSION_TIMEOUT_S)
    if done is None:
        return ""
    lines = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()
    return lines[0].strip() if lines else ""
