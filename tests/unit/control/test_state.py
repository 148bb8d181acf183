"""Live state: who is alive, who is dead, and whose is what."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engine import Bench, in_child

from sfcperf.control.clean import clean
from sfcperf.control.lock import held, is_held
from sfcperf.control.state import TAG_ALPHABET, RunInfo, RunInProgress, RunState, StateDir
from sfcperf.drivers.base import Resource
from sfcperf.errors import EnvironmentLacks

NOBODY = 65534


def dead_run(resource: Path, driver: str = "fake") -> str:
    """A run that made one resource and died."""
    state, run_id, tag = StateDir().create("w")
    state.write_info(RunInfo(run_id, tag, driver, {}, "/nowhere", os.getpid()))
    state.journal().intend([Resource("file", str(resource))])
    resource.touch()
    state.release()
    return run_id


def test_run_ids_and_tags_are_unique(state_dir: Path) -> None:
    made = [StateDir().create("w") for _ in range(20)]
    tags = {tag for _, _, tag in made}
    assert len(tags) == 20
    assert all(len(tag) == 6 and set(tag) <= set(TAG_ALPHABET) for tag in tags)
    assert StateDir().run_ids() == sorted(run_id for _, run_id, _ in made)
    for state, _, _ in made:
        state.remove()
    assert StateDir().run_ids() == []


def test_a_run_is_alive_until_its_process_ends(state_dir: Path) -> None:
    states = StateDir()
    state, run_id, _ = states.create("w")
    assert is_held(states.root / "runs" / run_id)
    with pytest.raises(RunInProgress):
        states.claim(run_id)
    state.release()
    assert not is_held(states.root / "runs" / run_id)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("mode", [None, 0o644], ids=["new", "copied"])
def test_others_see_whether_a_run_lives_and_cannot_hold_its_lock(
    tmp_path: Path, mode: int | None
) -> None:
    if mode is not None:
        (tmp_path / "lock").touch(mode=mode)
    tmp_path.chmod(0o755)

    def stranger(alive: bool) -> None:
        os.chdir(tmp_path)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        assert is_held(Path()) is alive
        with pytest.raises(PermissionError):
            os.open("lock", os.O_RDONLY)

    with held(tmp_path, "run"):
        assert in_child(lambda: stranger(True)) == 0
    assert in_child(lambda: stranger(False)) == 0


def test_a_child_that_outlives_a_run_does_not_keep_it_alive(state_dir: Path) -> None:
    reader, writer = os.pipe()

    def run() -> None:
        _, run_id, _ = StateDir().create("w")
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.write(writer, f"{run_id} {child.pid}".encode())
        # The pipe's end goes with this process, and the child with it; a copy keeps it for now.
        os.kill(os.getpid(), 9)

    in_child(run)
    run_id, _ = os.read(reader, 1000).decode().split()
    os.close(reader)
    os.close(writer)
    assert not is_held(StateDir().root / "runs" / run_id)


def test_clean_undoes_dead_runs_and_names_living_ones(bench: Bench) -> None:
    dead = dead_run(bench.resources / "dead")
    state, alive, _ = StateDir().create("w")
    state.write_info(RunInfo(alive, "x", "fake", {}, "/nowhere", os.getpid()))
    state.journal().intend([Resource("file", str(bench.resources / "alive"))])
    for name in ("alive", "others"):
        (bench.resources / name).touch()
    found = {run.run_id: run for run in clean(dry_run=True)}
    assert found[dead].lines == (f"file {bench.resources / 'dead'}",)
    assert found[alive].status == "alive"
    assert (bench.resources / "dead").exists()
    found = {run.run_id: run for run in clean(dry_run=False)}
    assert {run_id: run.status for run_id, run in found.items()} == {
        dead: "removed",
        alive: "alive",
    }
    assert sorted(path.name for path in bench.resources.iterdir()) == ["alive", "others"]
    assert StateDir().run_ids() == [alive]
    state.remove()


def test_one_run_that_cannot_be_cleaned_does_not_stop_the_others(bench: Bench) -> None:
    unknown = dead_run(bench.resources / "a", driver="uninstalled")
    damaged = dead_run(bench.resources / "b")
    (bench.state / "runs" / damaged / "journal.jsonl").write_text("?\n")
    nameless = dead_run(bench.resources / "c")
    (bench.state / "runs" / nameless / "run.json").unlink()
    good = dead_run(bench.resources / "d")
    found = {run.run_id: run for run in clean(dry_run=False)}
    assert found[good].status == "removed"
    assert {run_id for run_id, run in found.items() if run.status == "failed"} == {
        unknown,
        damaged,
        nameless,
    }
    assert "no driver named 'uninstalled'" in found[unknown].lines[0]
    assert sorted(path.name for path in bench.resources.iterdir()) == ["a", "b", "c"]


def lock_is_a_link(entry: Path) -> None:
    (entry / "lock").unlink()
    (entry / "lock").symlink_to(entry.parent.parent / "elsewhere")


def journal_is_a_folder(entry: Path) -> None:
    (entry / "journal.jsonl").unlink()
    (entry / "journal.jsonl").mkdir()


def info_is_a_link(entry: Path) -> None:
    (entry / "run.json").rename(entry / "other.json")
    (entry / "run.json").symlink_to("other.json")


def of_another_user(entry: Path) -> None:
    os.chown(entry, NOBODY, NOBODY)


def open_to_others(entry: Path) -> None:
    entry.chmod(0o777)


def open_to_a_group(entry: Path) -> None:
    os.chown(entry, -1, NOBODY)
    entry.chmod(0o770)


def is_a_link(entry: Path) -> None:
    entry.rename(entry.parent.parent / "real")
    entry.symlink_to(entry.parent.parent / "real")


def wrong(name: str, content: str) -> Callable[[Path], object]:
    def write(entry: Path) -> None:
        (entry / name).write_text(content)

    return write


def line(**changes: object) -> Callable[[Path], object]:
    entry = {"op": "intend", "kind": "file", "name": "x", "detail": None, **changes}
    return wrong("journal.jsonl", json.dumps(entry) + "\n")


BAD_ENTRIES = {
    "name": line(name=[1]),
    "detail": line(detail="x"),
    "op": line(op=[]),
    "owner": line(owner=1e400),
    "info-list": wrong("run.json", "[1]"),
    "info-driver": wrong(
        "run.json",
        '{"run_id": "x", "tag": [], "driver": [1], "config": 1, "results": 1, "pid": "x"}',
    ),
    "info-further": wrong("run.json", '{"further": 5}'),
    "lock-link": lock_is_a_link,
    "journal-folder": journal_is_a_folder,
    "info-link": info_is_a_link,
    "journal-owner": lambda entry: os.chown(entry / "journal.jsonl", NOBODY, NOBODY),
    "group": open_to_a_group,
    "link": is_a_link,
}


@pytest.mark.root
@pytest.mark.parametrize("spoil", BAD_ENTRIES.values(), ids=BAD_ENTRIES)
def test_a_bad_entry_stops_neither_clean_nor_a_new_run(
    bench: Bench, spoil: Callable[[Path], object]
) -> None:
    """The bad one is first, the good one after it."""
    bad = dead_run(bench.resources / "bad")
    good = dead_run(bench.resources / "good")
    first, last = sorted([bad, good])
    spoil(bench.state / "runs" / first)
    found = {run.run_id: run for run in clean(dry_run=False)}
    assert (found[first].status, found[last].status) == ("failed", "removed")
    assert found[first].lines[0]
    assert len(list(bench.resources.iterdir())) == 1
    state, _, _ = StateDir().create("w")
    state.remove()
    assert [run.status for run in clean(dry_run=True, driver="fake")] in (["failed"], [])


@pytest.mark.root
@pytest.mark.parametrize("below", ["", "runs"])
@pytest.mark.parametrize("spoil", [of_another_user, open_to_others])
def test_a_state_folder_that_others_can_write_is_not_obeyed(
    bench: Bench, spoil: Callable[[Path], object], below: str
) -> None:
    """Root would remove what somebody else's journal names."""
    dead_run(bench.resources / "kept")
    spoil(bench.state / below)
    for use in (lambda: clean(dry_run=False), lambda: StateDir().create("w")):
        with pytest.raises(EnvironmentLacks, match="what it says is not done"):
            use()
    assert (bench.resources / "kept").exists()


def test_a_folder_that_the_users_own_group_can_write_is_the_users(bench: Bench) -> None:
    """With a umask of 002, where each user has a group, all folders are so."""
    run_id = dead_run(bench.resources / "left")
    for folder in (bench.state, bench.state / "runs", bench.state / "runs" / run_id):
        folder.chmod(0o770)
    assert [run.status for run in clean(dry_run=False)] == ["removed"]


def test_a_folder_without_a_journal_owns_nothing_and_what_is_no_run_is_left_alone(
    bench: Bench,
) -> None:
    for name in ("half-made", ".hidden", "not ours"):
        (bench.state / "runs" / name).mkdir(parents=True)
    assert [run.status for run in clean(dry_run=False)] == ["removed"]
    assert {path.name for path in (bench.state / "runs").iterdir()} == {".hidden", "not ours"}
    assert StateDir().run_ids() == []


def test_a_state_folder_that_cannot_be_used_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(tmp_path / "file"))
    with pytest.raises(EnvironmentLacks) as caught:
        StateDir().create("w")
    assert "SFCPERF_STATE_DIR" in (caught.value.hint or "")


def test_a_tag_is_free_when_no_session_has_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a resumed run that died both count: the tag in its id, and that of its last session."""
    states = StateDir()
    run = bench.state / "runs" / "20260101-000000-w-aaaaaa"
    run.mkdir(parents=True)
    RunState(run, -1).write_info(RunInfo(run.name, "bbbbbb", "fake", {}, "/nowhere", 1))
    (bench.state / "runs" / "damaged-cccccc").mkdir()
    letters = iter("aaaaaabbbbbbccccccdddddd")
    monkeypatch.setattr("secrets.choice", lambda alphabet: next(letters))
    state, _, tag = states.create("w")
    assert tag == "dddddd"
    state.remove()
