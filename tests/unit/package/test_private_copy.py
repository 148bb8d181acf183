"""A package is read once: what is checked is what is shown, whatever becomes of the file."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from support.command import spawn
from support.records.packages import contents

from sfcperf import retry
from sfcperf.control.clean import clean
from sfcperf.environment.private import dead_folders
from sfcperf.errors import InputError
from sfcperf.package.archive import hash_file
from sfcperf.package.signature import Keys
from sfcperf.package.unpack import private_copy, unpack
from sfcperf.package.verify import verify_copy


def test_a_package_that_is_swapped_meanwhile_changes_nothing(package: Path, tmp_path: Path) -> None:
    source = tmp_path / "p.zip"
    source.write_bytes(package.read_bytes())
    with private_copy(source) as copy:
        source.write_bytes(b"another")
        (tmp_path / "p.zip.sig").write_bytes(b"another")
        assert copy.sha256 == hash_file(package).sha256 == hash_file(copy.file).sha256
        unpack(copy.file, copy.folder)
        for name, content in contents(package).items():
            assert (copy.folder / name).read_bytes() == content


def test_the_copy_is_private_and_goes(package: Path, state_dir: Path) -> None:
    with private_copy(package) as copy:
        private = copy.folder.parent
        assert private.parent == state_dir
        assert private.stat().st_mode & 0o777 == 0o700
        clean(dry_run=False)
        assert dead_folders() == []
        assert copy.folder.is_dir()
    assert list(state_dir.iterdir()) == []


def test_a_larger_package_than_allowed_is_refused(package: Path) -> None:
    with (
        pytest.raises(InputError, match="more than 1000 bytes"),
        private_copy(package, max_bytes=1000),
    ):
        pass


def await_judging(state_dir: Path) -> None:
    retry.until(lambda: list(state_dir.glob("private-*/judging.json")), timeout_s=60, period_s=0.01)


def test_what_a_killed_process_leaves_is_cleaned(package: Path, state_dir: Path) -> None:
    with spawn("verify", package) as process:
        await_judging(state_dir)
        process.kill()
    (left,) = state_dir.glob("private-*")
    # The child that judges the package ends a moment later, and holds the folder until then.
    assert retry.until(lambda: dead_folders() == [left], timeout_s=10, period_s=0.01)
    assert [run.run_id for run in clean(dry_run=True)] == [left.name]
    assert left.exists()
    clean(dry_run=False)
    assert not left.exists()


def test_what_is_no_private_folder_does_not_stop_the_cleaning(
    state_dir: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (state_dir / "private-a").symlink_to(tmp_path / "elsewhere")
    (state_dir / "private-b").touch()
    os.mkfifo(state_dir / "private-c")
    (state_dir / "private-d").mkdir()
    assert dead_folders() == [state_dir / "private-d"]
    clean(dry_run=False)
    assert sorted(path.name for path in state_dir.iterdir()) == [
        "private-a",
        "private-b",
        "private-c",
    ]
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_verification_leaves_nothing(
    package: Path, state_dir: Path, tmp_path: Path, number: signal.Signals
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with spawn("verify", package, env=environment) as process:
        await_judging(state_dir)
        process.send_signal(number)
        assert process.wait() == 130
    assert [*state_dir.iterdir(), *temporary.iterdir()] == []


def test_a_package_that_needs_too_much_is_refused(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfcperf.package.verify.limited.DATA_MIB", 40)
    with private_copy(package) as copy, pytest.raises(InputError, match="MiB of memory"):
        verify_copy(copy, Keys(), max_bytes=1 << 30)
