"""The key of a run."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.hosts.ssh import make_key


def test_openssh_reads_it(tmp_path: Path) -> None:
    path, public = make_key(tmp_path / "state")
    assert path.stat().st_mode & 0o777 == 0o600
    said = subprocess.run(["ssh-keygen", "-y", "-f", path], check=True, capture_output=True)
    assert public.split()[:2] == said.stdout.decode().split()[:2]


def test_it_is_made_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(make_key, [tmp_path] * 16))
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ssh-key"]


def test_what_is_no_key_is_told(tmp_path: Path) -> None:
    (tmp_path / "ssh-key").write_text("half of a")
    with pytest.raises(MeasurementError, match="cannot be read") as caught:
        make_key(tmp_path)
    assert caught.value.where == str(tmp_path / "ssh-key")


def test_where_nothing_can_be_written() -> None:
    with pytest.raises(MeasurementError, match="cannot be created"):
        make_key(Path("/proc/nosuch"))
