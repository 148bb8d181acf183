"""The run folder changes under a run, which is never complete without what was measured."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engine import SMALL, Bench, Observer

from sfcperf.errors import EnvironmentLacks, ExitCode, InputError
from sfcperf.results.store import RunStore


def after(trials: int, action: Callable[[], object]) -> Observer:
    return Observer(lambda recorded: action() if recorded == trials else None)


def cut(bench: Bench, bytes_off_the_end: int | None) -> None:
    path = bench.folder() / "trials.jsonl"
    content = path.read_bytes()
    path.write_bytes(b"" if bytes_off_the_end is None else content[:-bytes_off_the_end])


@pytest.mark.parametrize("number", [1, 4])
def test_trials_that_are_cut_off_are_missed(bench: Bench, number: int) -> None:
    with pytest.raises(EnvironmentLacks, match="of 4 trials that were measured are gone") as said:
        bench.start(after(number, lambda: cut(bench, None)), **SMALL)
    assert str(said.value.where).endswith("trials.jsonl")
    manifest = bench.manifest()
    assert (manifest["status"], manifest["state"]) == ("failed", "failed")
    assert any("are gone" in problem for problem in manifest["problems"])
    assert bench.leftovers() == []
    assert bench.resume().exit_code is ExitCode.OK
    assert len(bench.trials()) == 4


def test_half_a_line_is_not_taken_for_one(bench: Bench) -> None:
    with pytest.raises((EnvironmentLacks, InputError)):
        bench.start(after(2, lambda: cut(bench, 20)), **SMALL)
    assert bench.manifest()["status"] == "failed"
    assert bench.leftovers() == []


def renamed(folder: Path) -> None:
    folder.rename(folder.parent.parent / "renamed")


def replaced(folder: Path) -> None:
    renamed(folder)
    folder.mkdir()


@pytest.mark.parametrize(("change", "number"), [(shutil.rmtree, 4), (renamed, 1), (replaced, 4)])
def test_a_folder_that_is_not_there_any_more_is_said(
    bench: Bench, tmp_path: Path, change: Callable[[Path], object], number: int
) -> None:
    with pytest.raises(EnvironmentLacks, match="was removed, renamed or replaced"):
        bench.start(after(number, lambda: change(bench.folder())), **SMALL)
    assert bench.leftovers() == []
    # Nothing is made anew in its place.
    assert [path for folder in bench.results.iterdir() for path in folder.rglob("*")] == []
    if change is not shutil.rmtree:
        moved = RunStore(bench.results.parent / "renamed")
        assert len(moved.trials()) == number


@pytest.mark.parametrize("name", ["lock", "run.log"])
def test_a_folder_in_place_of_a_file_is_a_message(bench: Bench, name: str) -> None:
    def put() -> None:
        (bench.folder() / name).unlink(missing_ok=True)
        (bench.folder() / name).mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.start(after(1, put), **SMALL)
    if name == "lock":
        with pytest.raises(EnvironmentLacks, match="lock of a run cannot be used: Is a directory"):
            bench.resume()
    else:
        assert bench.resume().exit_code is ExitCode.OK
    assert bench.leftovers() == []
