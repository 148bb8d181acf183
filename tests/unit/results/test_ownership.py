"""Where is written: not through links in a run folder, and as root not in folders of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.records.packages import PLAIN, finished_run
from support.records.plans import made_up_plan

from sfcperf.errors import InputError
from sfcperf.results.files import replace_file
from sfcperf.results.ownership import check_place
from sfcperf.results.store import RunFile, RunStore

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "run-1", PLAIN).folder


@pytest.mark.parametrize("name", ["figures", "trials.jsonl", "lock"])
def test_nothing_is_written_through_a_link_in_a_run_folder(
    run: Path, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run / name).rename(tmp_path / "moved") if (run / name).exists() else None
    (run / name).symlink_to(elsewhere)
    for write in (
        lambda: RunStore.open(run).write_document(RunFile.TAGS, {}),
        lambda: replace_file(run / name / "x.csv", ""),
    ):
        with pytest.raises(InputError, match="contains a link"):
            write()
    assert not list(elsewhere.iterdir())


def test_a_link_of_the_users_own_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk")
    RunStore.create(tmp_path / "results" / "run").write_plan(made_up_plan())
    assert (tmp_path / "disk" / "run" / "plan.json").is_file()


def test_a_fifo_in_a_run_folder(run: Path) -> None:
    os.mkfifo(run / "errors.log")
    with pytest.raises(InputError, match="a FIFO"):
        RunStore.open(run).write_plan(made_up_plan())


@as_root
@pytest.mark.parametrize("sudo_uid", [None, str(NOBODY), "1234"])
def test_root_writes_where_he_or_the_one_who_called_sudo_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sudo_uid: str | None
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    if sudo_uid is not None:
        monkeypatch.setenv("SUDO_UID", sudo_uid)
    results = tmp_path / "results"
    results.mkdir()
    os.chown(results, NOBODY, NOBODY)
    if sudo_uid == str(NOBODY):
        RunStore.create(results / "run")
        return
    with pytest.raises(InputError, match="the user 65534 could exchange"):
        RunStore.create(results / "run")
    assert not list(results.iterdir())


@as_root
def test_a_folder_on_the_way_counts_too(tmp_path: Path) -> None:
    (tmp_path / "theirs" / "results").mkdir(parents=True)
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    with pytest.raises(InputError, match="could exchange"):
        check_place(tmp_path / "theirs" / "results")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(InputError, match="all users"):
        check_place(tmp_path / "open" / "results")
    (tmp_path / "open").chmod(0o1777)
    check_place(tmp_path / "open" / "results")


@as_root
def test_a_file_of_a_stranger_in_a_run_folder(run: Path) -> None:
    os.chown(run / "raw", NOBODY, NOBODY)
    with pytest.raises(InputError, match="could exchange"):
        RunStore.open(run).write_plan(made_up_plan())
