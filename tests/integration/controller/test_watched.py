"""The SFC controller ends when what writes to switches, or keeps connected to one, has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_FAILING = """
import sys
from pathlib import Path
from sfcperf.vnfs.sfcmon.controller import daemon, fleet

async def fail(self):
    raise ValueError("as bad code does")

fleet.Fleet.run = fail
folder = Path(sys.argv[1])
daemon.serve(
    daemon.Options(folder / "state", folder / "windows", folder / "token", "127.0.0.1:0"), print
)
"""


def test_what_writes_to_switches_ends(tmp_path: Path) -> None:
    pytest.importorskip("finsy")
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text("x" * 32)
    argv = [sys.executable, "-c", _FAILING, tmp_path]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "what writes to switches has ended: ValueError: as bad code does" in done.stderr
