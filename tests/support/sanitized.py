"""The C tools with AddressSanitizer and UndefinedBehaviorSanitizer: a finding ends a tool."""

from __future__ import annotations

import fcntl
import os
import subprocess
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_OUT = _ROOT / "build" / "sanitized" / "bin"
_TIMEOUT_S = 1200


def built(*tools: str) -> Path:
    """The folder of these tools, or of all; compiled if a source has changed since."""
    make_tools("SANITIZE=1", *(str(_OUT / tool) for tool in tools))
    return _OUT


def make_tools(*arguments: str) -> None:
    """Run make for the C tools. Raises CalledProcessError."""
    argv = ["make", "--silent", "-C", str(_ROOT), "-f", "dataplane/Makefile", *arguments]
    clean = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    _ROOT.joinpath("build").mkdir(exist_ok=True)
    with (_ROOT / "build" / ".tools.lock").open("w") as lock:
        # Of workers that run at the same time, one compiles.
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(argv, check=True, capture_output=True, timeout=_TIMEOUT_S, env=clean)
