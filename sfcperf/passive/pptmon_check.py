"""Whether this kernel takes pptmon's programs, as pptmon itself says."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from sfcperf.plugins import Requirement

NAME = "kernel for pptmon"
_TIMEOUT_S = 20.0
_LACKS = 3
"""Exit status of `pptmon --check`."""


@cache
def kernel_requirement(binary: Path) -> Requirement:
    """Asked once per process: the verifier looks at all programs."""
    if os.geteuid() != 0:
        return Requirement(NAME, True, "not asked: that needs root")
    try:
        done = subprocess.run(
            [binary, "--check"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Requirement(NAME, False, f"`pptmon --check` does not run: {error}")
    said = (done.stdout + done.stderr).decode(errors="replace").strip()
    lines = "; ".join(said.splitlines()) or "it says nothing"
    if done.returncode == 0:
        return Requirement(NAME, True, "BPF programs are accepted")
    if done.returncode == _LACKS:
        return Requirement(NAME, False, lines, "a kernel with BPF, BTF and tc (Linux 5.15, say)")
    return Requirement(NAME, False, f"`pptmon --check` ended with {done.returncode}: {lines}")
