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
from sfcperf.environment.private import dead_folders, private_folder
from sfcperf.errors import InputError
from sfcperf.package.archive import hash_file
from sfcperf.package.signature import Keys
from sfcperf.package.unpack import private_copy, unpack
from sfcperf.package.verify import verify_copy


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


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


def test_the_copy_is_private_and_goes(package: Path, state: Path) -> None:
    with private_copy(package) as copy:
        private = copy.folder.parent
        assert private.parent == state
        assert private.stat().st_mode & 0o777 == 0o700
        assert dead_folders() == []
    assert list(state.iterdir()) == []


def test_a_larger_package_than_allowed_is_refused(package: Path) -> None:
    with (
        pytest.raises(InputError, match="more than 1000 bytes"),
        private_copy(package, max_bytes=1000),
    ):
        pass


def await_judging(state: Path) -> None:
    retry.until(lambda: list(state.glob("private-*/judging.json")), timeout_s=60, period_s=0.01)


def test_what_a_killed_process_leaves_is_cleaned(package: Path, state: Path) -> None:
    with spawn("verify", package) as process:
        await_judging(state)
        process.kill()
    (left,) = state.glob("private-*")
    # The child that judges the package ends a moment later, and holds the folder until then.
    assert retry.until(lambda: dead_folders() == [left], timeout_s=10, period_s=0.01)
    assert [run.run_id for run in clean(dry_run=True)] == [left.name]
    assert left.exists()
    clean(dry_run=False)
    assert not left.exists()


def test_what_is_no_private_folder_does_not_stop_the_cleaning(state: Path, tmp_path: Path) -> None:
    state.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (state / "private-a").symlink_to(tmp_path / "elsewhere")
    (state / "private-b").touch()
    os.mkfifo(state / "private-c")
    (state / "private-d").mkdir()
    assert dead_folders() == [state / "private-d"]
    clean(dry_run=False)
    assert sorted(path.name for path in state.iterdir()) == ["private-a", "private-b", "private-c"]
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_verification_leaves_nothing(
    package: Path, state: Path, tmp_path: Path, number: signal.Signals
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with spawn("verify", package, env=environment) as process:
        await_judging(state)
        process.send_signal(number)
        assert process.wait() == 130
    assert [*state.iterdir(), *temporary.iterdir()] == []


def test_a_living_folder_is_not_cleaned(state: Path) -> None:
    with private_folder() as folder:
        clean(dry_run=False)
        assert folder.is_dir()


def test_a_package_that_needs_too_much_is_refused(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfcperf.package.verify.limited.DATA_MIB", 40)
    with private_copy(package) as copy, pytest.raises(InputError, match="MiB of memory"):
        verify_copy(copy, Keys(), max_bytes=1 << 30)
