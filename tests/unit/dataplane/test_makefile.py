"""The Makefile of the data planes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_archive_keeps_no_object_whose_source_is_gone(tmp_path: Path) -> None:
    archive, gone = tmp_path / "dataplane" / "common.a", tmp_path / "gone.o"
    archive.parent.mkdir()
    gone.write_bytes(b"of an earlier version")
    subprocess.run(["ar", "rcS", archive, gone], check=True, capture_output=True)
    os.utime(archive, (0, 0))  # older than the sources
    make = ["make", "-C", ROOT, "-f", "dataplane/Makefile", f"OUT={tmp_path}", archive]
    subprocess.run(make, check=True, capture_output=True)
    listing = subprocess.run(["ar", "t", archive], check=True, capture_output=True, text=True)
    names = listing.stdout.split()
    assert "options.o" in names
    assert "gone.o" not in names
