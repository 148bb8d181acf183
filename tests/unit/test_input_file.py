"""Files that somebody else wrote: whatever lies at a path, reading it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfcperf.errors import InputError
from sfcperf.input_file import read_input


def test_a_file_up_to_the_limit_is_read_also_by_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"12345678")
    link.symlink_to("file")
    assert read_input(link, "the file", max_bytes=8) == b"12345678"
    # The second one says that it has no size.
    for file in (path, Path("/proc/self/maps")):
        with pytest.raises(InputError, match=r"the file is too large.*7 bytes"):
            read_input(file, "the file", max_bytes=7)


def test_a_fifo_and_a_terminal_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    ours, theirs = os.openpty()
    try:
        for path in (tmp_path / "fifo", Path(os.ttyname(theirs))):
            with pytest.raises(InputError, match=r"not a regular file"):
                read_input(path, "the file", max_bytes=8)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/proc/kmsg", "/proc/kcore"])
def test_a_device_or_an_endless_file_is_refused(path: str) -> None:
    if not Path(path).exists():
        pytest.skip(f"this machine has no {path}")
    # /proc/kmsg may be empty, or may not be read by everybody; it must only not block.
    with pytest.raises(InputError, match=r"cannot be read|too large"):
        read_input(Path(path), "the file", max_bytes=8)


@pytest.mark.parametrize(
    ("path", "says"),
    [("missing", "No such file"), ("", "a folder, not the file"), ("a\0b", "null byte")],
)
def test_what_cannot_be_opened(tmp_path: Path, path: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_input(tmp_path / path, "the file", max_bytes=8)
