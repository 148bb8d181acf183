"""Finds out whether this kernel accepts pptmon's BPF programs, by asking pptmon itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sfcperf.environment.variables import without_secrets
from sfcperf.plugins import Requirement

NAME = "kernel for pptmon"
_TIMEOUT_S = 20.0
_LACKS = 3
"""Exit status of `pptmon --check` on a kernel that lacks something."""


@cache
def kernel_requirement(binary: Path) -> Requirement:
    """Return the requirement of a kernel that accepts pptmon's programs. The answer is kept for
    this process, because the kernel has to verify all programs for it, which takes a while."""
    return replace(_checked(binary), of_this_kernel=True)


def _checked(binary: Path) -> Requirement:
    """Run `pptmon --check`. Without root, it cannot be run, and the requirement counts as met."""
    if os.geteuid() != 0:
        return Requirement(NAME, True, "not asked: that needs root")
    try:
        done = subprocess.run(
            [binary, "--check"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            env=without_secrets(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Requirement(NAME, False, f"`pptmon --check` does not run: {error}")
    answer = _said(done.stdout)
    if done.returncode == 0 and answer is not None:
        return Requirement(NAME, True, f"Linux {answer['kernel']}, attaches by {answer['attach']}")
    if done.returncode == _LACKS and answer is not None:
        lacks = "; ".join(map(str, answer["lacks"]))
        return Requirement(NAME, False, lacks, "a kernel that has it: Debian's since 12, e.g.")
    text = (done.stderr or done.stdout).decode(errors="replace").strip() or "it says nothing"
    return Requirement(NAME, False, f"`pptmon --check` ended with {done.returncode}: {text}")


def _said(output: bytes) -> Mapping[str, Any] | None:
    """Parse the line of JSON that `pptmon --check` printed; None for any other output."""
    try:
        answer = json.loads(output)
    except ValueError:
        return None
    known = isinstance(answer, dict) and {"kernel", "attach", "lacks"} <= answer.keys()
    return answer if known else None
