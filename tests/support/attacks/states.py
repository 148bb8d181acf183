"""Hostile state folders: journals of dead runs, and entries of the spool."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from support.attacks import Attack

NOBODY = 65534
_RUN = "20260131-120000-w-aaaaaa"


def _state(inputs: Path) -> Path:
    """The state folder that `judge.behaviour` names, as `clean` itself leaves it."""
    state = inputs.parent / "state"
    (state / "runs").mkdir(mode=0o700)
    (state / "lock").touch()
    return state


def _dead(spoil: Callable[[Path], object]) -> Callable[[Path], list[str]]:
    """A dead run whose entry is spoilt; `clean` would remove a file of its journal."""

    def make(inputs: Path) -> list[str]:
        entry = _state(inputs) / "runs" / _RUN
        entry.mkdir(mode=0o700)
        (entry / "lock").touch()
        info = {"run_id": _RUN, "tag": "aaaaaa", "driver": "local", "config": {}}
        (entry / "run.json").write_text(json.dumps({**info, "results": "/nowhere", "pid": 1}))
        resource = {"op": "intend", "kind": "folder", "name": str(inputs), "detail": None}
        (entry / "journal.jsonl").write_text(json.dumps(resource) + "\n")
        spoil(entry)
        return ["clean"]

    return make


def _in_place_of(name: str, make: Callable[[Path], object]) -> Callable[[Path], object]:
    def spoil(entry: Path) -> None:
        (entry / name).unlink()
        make(entry / name)

    return spoil


def _journal(content: str) -> Callable[[Path], object]:
    return _in_place_of("journal.jsonl", lambda path: path.write_text(content))


def _large(path: Path) -> None:
    """Sparse: it takes no room."""
    with path.open("wb") as file:
        file.truncate(1 << 34)


def _whose(entry: Path) -> None:
    os.chown(entry.parent.parent, NOBODY, NOBODY)


def _spooled(make: Callable[[Path], object]) -> Callable[[Path], list[str]]:
    """An entry of the spool."""

    def attack(inputs: Path) -> list[str]:
        spool = _state(inputs) / "spool"
        spool.mkdir(mode=0o700)
        make(spool / f"{'0' * 32}.json")
        return ["index", "--pending", "--patience", "0"]

    return attack


_ENTRY = {
    "schema_version": 1,
    "run_id": "x",
    "folder": "/nowhere",
    "target": {
        "urls": ["http://127.0.0.1:1"],
        "prefix": "x",
        "ca": None,
        "fingerprint": None,
        "insecure": False,
    },
    "since": "\x1b[31m",
    "problem": "\x07",
}

ATTACKS = [
    Attack(name, make, says=says, exit_codes=(3,))
    for name, make, says in (
        (
            "journal-names-a-list",
            _dead(_journal('{"op": "intend", "kind": "x", "name": [1], "detail": null}\n')),
            "is damaged",
        ),
        ("journal-is-a-list", _dead(_journal("[1]\n")), "is damaged"),
        ("journal-is-deep", _dead(_journal("[" * 1_000_000 + "\n")), "is damaged"),
        ("journal-is-large", _dead(_in_place_of("journal.jsonl", _large)), "too large"),
        ("journal-is-a-fifo", _dead(_in_place_of("journal.jsonl", os.mkfifo)), "regular file"),
        ("state-lock-is-a-folder", _dead(_in_place_of("lock", Path.mkdir)), "regular file"),
        ("state-is-large", _dead(_in_place_of("run.json", _large)), "too large"),
        ("state-is-another-users", _dead(_whose), "another user"),
        ("state-is-open-to-all", _dead(lambda entry: entry.chmod(0o777)), "other users can write"),
        ("spooled-fifo", _spooled(os.mkfifo), "not a regular file"),
        ("spooled-large", _spooled(_large), "too large"),
        ("spooled-deep", _spooled(lambda path: path.write_text("[" * 900_000)), "is damaged"),
        ("spooled-list", _spooled(lambda path: path.write_text("[1]")), "is damaged"),
        (
            "spooled-control-characters",
            _spooled(lambda path: path.write_text(json.dumps(_ENTRY))),
            "its folder is gone",
        ),
    )
]
