"""The journal: what is outstanding survives whatever happens to its last line."""

from __future__ import annotations

from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, setrlimit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.control.clean import undo_dead
from sfcperf.control.state import RunInfo, StateDir
from sfcperf.drivers.base import Resource
from sfcperf.drivers.journal import FileJournal
from sfcperf.errors import InputError

names = st.text(min_size=1, max_size=8)
steps = st.lists(st.tuples(st.sampled_from(["intend", "removed"]), names), max_size=20)


def resource(name: str) -> Resource:
    return Resource("file", name, {"path": f"/{name}"})


def apply(journal: FileJournal, history: list[tuple[str, str]]) -> None:
    for op, name in history:
        getattr(journal, op)([resource(name)])


def outstanding(history: list[tuple[str, str]]) -> list[str]:
    """The same by a list: newest intention first."""
    left: list[str] = []
    for op, name in history:
        left = [other for other in left if other != name]
        if op == "intend":
            left.append(name)
    return left[::-1]


@given(history=steps)
def test_a_journal_read_again_knows_the_same(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = FileJournal(path)
    apply(journal, history)
    expected = [resource(name) for name in outstanding(history)]
    assert journal.outstanding() == expected
    assert FileJournal(path).outstanding() == expected


@given(history=steps, cut=st.integers(min_value=0), more=steps)
def test_a_torn_journal_is_read_up_to_its_last_whole_line(
    tmp_path_factory: pytest.TempPathFactory,
    history: list[tuple[str, str]],
    cut: int,
    more: list[tuple[str, str]],
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    apply(FileJournal(path), history)
    content = path.read_bytes() if path.exists() else b""
    cut %= len(content) + 1
    path.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    journal = FileJournal(path)
    apply(journal, more)
    expected = [resource(name) for name in outstanding(history[:whole] + more)]
    assert FileJournal(path).outstanding() == expected


def test_damage_in_the_middle_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    apply(FileJournal(path), [("intend", "a"), ("intend", "b")])
    path.write_bytes(b"{]\n" + path.read_bytes())
    with pytest.raises(InputError, match="line 1 of the journal is damaged"):
        FileJournal(path)


def test_a_line_that_cannot_be_written_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = FileJournal(path)
    journal.intend([resource("a")])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            journal.intend([resource("b")])
    journal.intend([resource("c")])
    assert [r.name for r in FileJournal(path).outstanding()] == ["c", "a"]


def test_a_file_that_cannot_be_created_is_said_with_its_reason(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "journal.jsonl")
    limits = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            journal.intend([resource("a")])
    finally:
        setrlimit(RLIMIT_NOFILE, limits)
    assert journal.outstanding() == []


shared = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["intend", "removed"]), names), max_size=20
)


@given(history=shared)
def test_each_owner_has_its_own_resources(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[int, str, str]]
) -> None:
    """One journal for three drivers is to each of them as a journal of its own, also when they
    give their resources the same names."""
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    journal = FileJournal(path)
    for owner, op, name in history:
        getattr(journal.of(owner), op)([resource(name)])
    alone = {
        owner: outstanding([(op, name) for mine, op, name in history if mine == owner])
        for owner in range(3)
    }
    for known in (journal, FileJournal(path)):
        for owner, expected in alone.items():
            assert [found.name for found in known.of(owner).outstanding()] == expected
        assert known.owners() == [owner for owner in (2, 1, 0) if alone[owner]]
        assert len(known.outstanding()) == sum(map(len, alone.values()))


@pytest.mark.parametrize("owner", ["1", "-1", "null", "1e999"])
def test_an_owner_that_the_run_does_not_have_is_damage(
    tmp_path: Path, state_dir: Path, owner: str
) -> None:
    state, run_id, tag = StateDir().create("w")
    state.write_info(RunInfo(run_id, tag, "fake", {}, "/nowhere", 1))
    line = f'{{"op": "intend", "kind": "file", "name": "x", "detail": null, "owner": {owner}}}\n'
    (state.folder / "journal.jsonl").write_text(line)
    with pytest.raises(InputError, match="damaged"):
        undo_dead(state, dry_run=False)
    assert state.folder.is_dir()
    state.release()
