"""Hostile workflows."""

from __future__ import annotations

import os
from pathlib import Path

from support.attacks import Attack


def _fifo(folder: Path) -> list[str]:
    os.mkfifo(folder / "workflow.json")
    return ["validate", "workflow.json"]


ATTACKS = [
    Attack("workflow-is-a-fifo", _fifo, says="not a regular file"),
]
