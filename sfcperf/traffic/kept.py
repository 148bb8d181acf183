"""Keeps the traces that were made on this machine, so that each seed is played once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sfcperf import strict_json
from sfcperf.environment.state_root import state_folder
from sfcperf.errors import InputError
from sfcperf.traffic.making import LABELS, MANIFEST, TRACE, VERSION, Trace, make, sha256


def kept(seed: int, duration_s: float, say: Callable[[str], None] = lambda text: None) -> Trace:
    """Return the trace of a seed and duration. It is made, unless there is one already whose files
    are unchanged. `say` is told what happens. Errors are those of `make`."""
    folder = state_folder("traffic") / f"v{VERSION}-seed{seed}-{duration_s:g}s"
    if not _whole(folder):
        shutil.rmtree(folder, ignore_errors=True)
        make(seed, duration_s, folder, say)
    return Trace(folder)


def _whole(folder: Path) -> bool:
    """Whether a folder has a trace whose files have the hash values in its manifest."""
    try:
        wanted = strict_json.loads((folder / MANIFEST).read_bytes())["sha256"]
        return all(sha256(folder / name) == wanted[name] for name in (TRACE, LABELS))
    except (InputError, OSError, ValueError, KeyError, TypeError):
        return False
