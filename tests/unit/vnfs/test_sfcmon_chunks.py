"""Which chunk a round simulates."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import pytest

from sfcperf.errors import InputError, MeasurementError
from sfcperf.vnfs.sfcmon.chunks import chunk_of_files, synthetic_chunk
from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("c.pcap", "a.pcap", "b.pcap", "other"):
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "aa.pcap").mkdir()
    return tmp_path


RATE = 60_000
"""Packets per minute."""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_files_in_the_order_of_their_names(folder: Path) -> None:
    for number, name in enumerate(("a", "b", "c"), 1):
        chunk = chunk_of_files(f"{folder}/*.pcap", number)
        path = folder / f"{name}.pcap"
        assert chunk.source == path
        assert chunk.facts["trace"] == str(path)
        assert chunk.facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_that_changes_and_looks_like_a_pattern(folder: Path) -> None:
    path = folder / "trace[1].pcap"
    path.write_text("x")
    before = chunk_of_files(str(path), 1)
    path.write_text("something longer than before")
    after = chunk_of_files(str(path), 1)
    assert before.source == after.source == path
    assert before.facts["sha256"] != after.facts["sha256"]


@pytest.mark.parametrize(
    ("pattern", "number"), [("*.pcapng", 1), ("aa.pcap", 1), ("x" * 300, 1), ("*.pcap", 4)]
)
def test_no_file_for_a_round(folder: Path, pattern: str, number: int) -> None:
    with pytest.raises(InputError) as caught:
        chunk_of_files(str(folder / pattern), number)
    assert caught.value.where == str(folder / pattern)


def test_a_synthetic_chunk_is_a_trace_of_generate_trace() -> None:
    chunk = synthetic_chunk(seed=5, duration_s=0.3, packets_per_minute=60_000, number=3)
    assert chunk.facts["synthetic_trace"]["seed"] == 7
    assert chunk.source.read_bytes() == b"".join(SyntheticTrace(7, 0.3, 60_000).pcap())


def test_one_synthetic_chunk_is_kept_and_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = synthetic_chunk(1, 0.1, RATE, 1).source.stat()
    opened = open_files()
    assert synthetic_chunk(1, 0.1, RATE, 1).source.stat() == kept
    synthetic_chunk(1, 0.1, RATE, 2)
    assert open_files() == opened
    assert not list(tmp_path.iterdir())


def test_no_room_for_a_synthetic_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even root can make a file in /proc."""
    monkeypatch.setattr(tempfile, "tempdir", "/proc")
    with pytest.raises(MeasurementError) as caught:
        synthetic_chunk(9, 0.1, RATE, 1)
    assert "the synthetic trace cannot be written" in caught.value.message
    assert caught.value.where == "/proc"
