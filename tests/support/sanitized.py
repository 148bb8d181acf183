"""The C tools with AddressSanitizer and UndefinedBehaviorSanitizer: a finding ends a tool."""

from __future__ import annotations

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
    subprocess.run(argv, check=True, capture_output=True, timeout=_TIMEOUT_S, env=clean)
