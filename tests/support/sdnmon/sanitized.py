"""sfc-sdnmon-agent with AddressSanitizer and UndefinedBehaviorSanitizer."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support.sdnmon.agent import TOOL

_ROOT = Path(__file__).resolve().parents[3]
_OUT = _ROOT / "build" / "sanitized"
_SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=all"
_TIMEOUT_S = 300


def sanitized() -> list[str]:
    """The command; compiled if a source has changed since. A finding ends the process."""
    program = _OUT / "bin" / TOOL
    subprocess.run(
        ["make", "--silent", "-C", str(_ROOT / "vnfs"), f"OUT={_OUT}", f"LDFLAGS={_SANITIZERS}",
         f"CFLAGS=-O1 -g {_SANITIZERS}", str(program)],
        check=True, capture_output=True, timeout=_TIMEOUT_S,
        env={name: value for name, value in os.environ.items() if name != "MAKEFLAGS"},
    )  # fmt: skip
    # What is freed is kept for a while: a little of it, so that memory can be judged.
    return ["env", "ASAN_OPTIONS=quarantine_size_mb=1", str(program)]
