"""What doctor says of a kernel for pptmon."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfcperf.passive.pptmon_check import kernel_requirement


@pytest.mark.skipif(os.geteuid() != 0, reason="pptmon is asked as root alone")
@pytest.mark.parametrize(
    ("output", "status", "met", "words"),
    [
        ('{"event": "check", "kernel": "6.1", "met": true, "lacks": [], "attach": "clsact"}', 0,
         True, "Linux 6.1, attaches by clsact"),
        ('{"event": "check", "kernel": "4.9", "met": false, "lacks": ["BTF", "tc"], "attach": ""}',
         3, False, "BTF; tc"),
        ("Segmentation fault", 139, False, "ended with 139: Segmentation fault"),
        ("", 0, False, "it says nothing"),
        ("[]", 3, False, "ended with 3: []"),
    ],
)  # fmt: skip
def test_words(tmp_path: Path, output: str, status: int, met: bool, words: str) -> None:
    tool = tmp_path / "pptmon"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    tool.chmod(0o755)
    found = kernel_requirement(tool)
    assert found.met is met
    assert words in found.detail


@pytest.mark.skipif(os.geteuid() != 0, reason="pptmon is asked as root alone")
def test_a_tool_that_does_not_run(tmp_path: Path) -> None:
    found = kernel_requirement(tmp_path / "none")
    assert not found.met
    assert "does not run" in found.detail
