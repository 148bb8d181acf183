"""Versions of the software of a run: sfcperf, its sources, Python packages, tools."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import sfcperf
from sfcperf.environment.questions import ask
from sfcperf.environment.tools import find

TOOLS: Mapping[str, tuple[str, ...]] = {
    "ovs": ("ovs-vswitchd", "--version"),
    "iperf3": ("iperf3", "--version"),
    "httperf": ("httperf", "--version"),
    "nginx": ("nginx", "-v"),
    "ping": ("ping", "-V"),
    "tcpdump": ("tcpdump", "--version"),
    "iproute2": ("ip", "-V"),
    "bpftool": ("bpftool", "version"),
}
"""Name in the manifest -> command line that prints the version."""

_TIMEOUT_S = 5.0


def versions() -> dict[str, Any]:
    """Return the versions for run.json; None for software that is missing or does not respond.
    Tools run concurrently, so that this takes as long as the slowest of them (about 50 ms)."""
    return {
        **python_versions(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "tools": _tools(),
    }


def python_versions() -> dict[str, Any]:
    """Return the versions of SFCPerf and of the Python packages that it requires."""
    return {
        "sfcperf": sfcperf.__version__,
        "revision": _revision(Path(sfcperf.__file__)),
        "packages": _packages(),
    }


def _tools() -> dict[str, str | None]:
    """Ask all of TOOLS at the same time: name -> the line with its version, or None."""
    with ThreadPoolExecutor(max_workers=len(TOOLS)) as pool:
        return dict(zip(TOOLS, pool.map(_first_line, TOOLS.values()), strict=True))


@cache
def _packages() -> dict[str, str | None]:
    """Return the versions of the Python packages that sfcperf requires (without extras)."""
    try:
        requirements = metadata.requires("sfcperf") or []
    except metadata.PackageNotFoundError:
        return {}
    names = [re.split(r"[^A-Za-z0-9._-]", r)[0] for r in requirements if "extra ==" not in r]
    return {name: _package(name) for name in sorted(names)}


def _package(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _revision(source: Path) -> dict[str, Any] | None:
    """Return the commit of the working tree of `source`, and whether it was modified since. None
    for an installed package: a surrounding repository (a project with a venv) does not track it."""
    # Without optional locks, `git status` does not rewrite the index of the working tree.
    git = ("git", "--no-optional-locks", "-C", str(source.parent))
    if _output((*git, "ls-files", "--error-unmatch", source.name)) is None:
        return None
    commit = _first_line((*git, "rev-parse", "HEAD"))
    changes = _output((*git, "status", "--porcelain", "--untracked-files=no"))
    return {"commit": commit, "modified": None if changes is None else bool(changes)}


def _first_line(argv: Sequence[str]) -> str | None:
    """Return the first line of a command's output; None as `_output`, or if there is none."""
    output = _output(argv)
    return output.splitlines()[0].strip() if output else None


def _output(argv: Sequence[str]) -> str | None:
    """Return the output of a command, from stdout or else stderr; None if the command is missing or
    fails."""
    path = find(argv[0])
    if path is None:
        return None
    done = ask([path, *argv[1:]], timeout_s=_TIMEOUT_S)
    if done is None or done.returncode != 0:
        return None
    return (done.stdout or done.stderr).decode(errors="replace").strip()
