"""Traces that were made before: a seed is played once on a machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sfcperf import strict_json
from sfcperf.environment.state_root import state_folder
from sfcperf.errors import InputError
from sfcperf.traffic.making import LABELS, MANIFEST, TRACE, VERSION, Trace, make, sha256


def kept(seed: int, duration_s: float, say: Callable[[str], None] = lambda text: None) -> Trace:
    """The trace of a seed: an earlier one whose files are as they were, or a new one. Errors as in
    `make`."""
    folder = state_folder("traffic") / f"v{VERSION}-seed{seed}-{duration_s:g}s"
    if not _whole(folder):
        shutil.rmtree(folder, ignore_errors=True)
        make(seed, duration_s, folder, say)
    return Trace(folder)


def _whole(folder: Path) -> bool:
    try:
        wanted = strict_json.loads((folder / MANIFEST).read_bytes())["sha256"]
        return all(sha256(folder / name) == wanted[name] for name in (TRACE, LABELS))
    except (InputError, OSError, ValueError, KeyError, TypeError):
        return False
