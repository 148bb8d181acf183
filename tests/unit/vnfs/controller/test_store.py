"""The controller's files: each change is in them as a whole, and a killed writer harms nothing."""

from __future__ import annotations

import asyncio
import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sfcmon.controller_states import two_switches

from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.vnfs.sfcmon.controller import store as module
from sfcperf.vnfs.sfcmon.controller.model import State
from sfcperf.vnfs.sfcmon.controller.store import ChangeRefused, Store
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog, WindowPosition

STATE = State.model_validate(two_switches())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "state.json")
    yield made
    made.close()


def _reopened(path: Path) -> State:
    again = Store(path)
    again.close()
    return again.state


def test_a_new_file_is_an_empty_state_that_nobody_else_reads(store: Store, tmp_path: Path):
    assert store.state == State()
    asyncio.run(store.replace(STATE))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"state.json": 0o600, ".state.json.lock": 0o600}


def test_changes_are_in_the_file(tmp_path: Path):
    path = tmp_path / "state.json"
    store = Store(path)
    asyncio.run(store.replace(STATE))
    endpoint = STATE.endpoints["client"].model_copy(update={"mac": "02:00:00:00:00:77"})
    assert asyncio.run(store.put("endpoints", "client", endpoint)) is False
    asyncio.run(store.delete("rules", "there"))
    assert asyncio.run(store.put("rules", "new", STATE.rules["there"])) is True
    store.close()
    assert _reopened(path) == store.state
    assert sorted(store.state.rules) == ["back", "new"]
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_a_change_with_problems_is_not_made(store: Store, tmp_path: Path):
    asyncio.run(store.replace(STATE))
    before = (tmp_path / "state.json").read_text()
    with pytest.raises(ChangeRefused) as caught:
        asyncio.run(store.delete("functions", "fwd-1"))
    assert [each.where for each in caught.value.problems] == ["/paths/10/hops/0"]
    with pytest.raises(KeyError):
        asyncio.run(store.delete("functions", "none"))
    assert store.state == STATE
    assert (tmp_path / "state.json").read_text() == before


def test_a_change_that_cannot_be_written_is_not_made(store: Store, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "replace_file", full)
    with pytest.raises(EnvironmentLacks, match="No space left on device"):
        asyncio.run(store.replace(STATE))
    assert store.state == State()


def test_a_state_has_one_controller(store: Store, tmp_path: Path):
    with pytest.raises(InputError, match="another controller uses this state"):
        Store(tmp_path / "state.json")


def test_a_controller_that_comes_while_another_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has opened the lock's file, which the other one then removes."""
    path = tmp_path / "state.json"
    ending = Store(path)
    flock = fcntl.flock

    def end_other(descriptor: int, operation: int) -> None:
        monkeypatch.undo()
        ending.close()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", end_other)
    coming = Store(path)
    with pytest.raises(InputError, match="another controller uses this state"):
        Store(path)
    coming.close()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", ""),
        ("[]", ""),
        ("{}", ""),
        ('{"version": 2}', ""),
        ('{"version": 1, "routers": {}}', "/routers"),
        ('{"version": 1, "chains": {"a/b": {"types": ["x"]}}}', "/chains/a~1b"),
        ('{"version": 1, "monitoring": {"s1": {}}}', "/monitoring/s1"),
    ],
)
def test_a_file_that_is_no_state(tmp_path: Path, text: str, place: str):
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Store(path)
    assert str(path) in str(caught.value)
    assert f"state.json{place}" in str(caught.value)
    assert path.read_text() == text


# --- windows ---


def _window(switch: str, number: int, bank: int) -> dict[str, Any]:
    return {
        "event": "window",
        "switch": switch,
        "number": number,
        "bank": bank,
        "end_ns": 1000 + number,
    }


def test_the_last_window_of_each_switch_is_found_again(tmp_path: Path):
    path = tmp_path / "windows.jsonl"
    log = WindowLog(path)
    assert (log.last("s1"), log.next_number("s1")) == (None, 0)
    for number in range(3):
        log.append(_window("s1", number, number % 2))
    log.append(_window("s2", 0, 1))
    for each in (log, WindowLog(path)):
        assert each.last("s1") == WindowPosition(number=2, idle_bank=0, end_ns=1002)
        assert each.last("s2") == WindowPosition(number=0, idle_bank=1, end_ns=1000)
        assert each.next_number("s1") == 3


def test_windows_that_begin_anew(tmp_path: Path):
    log = WindowLog(tmp_path / "windows.jsonl")
    log.append({"event": "opening", "switch": "s1", "number": 4})
    assert log.last("s1") == WindowPosition(number=3, idle_bank=None, end_ns=0)
    log.append({"event": "opened", "switch": "s1", "number": 4, "bank": 0, "start_ns": 7})
    assert log.last("s1") == WindowPosition(number=3, idle_bank=1, end_ns=7)
    assert log.next_number("s1") == 4


def test_a_line_that_was_not_finished_is_removed(tmp_path: Path):
    path = tmp_path / "windows.jsonl"
    log = WindowLog(path)
    log.append(_window("s1", 0, 0))
    whole = path.read_bytes()
    for torn in (b'{"event": "window", "switch": "s1", "number": 1', b"x"):
        path.write_bytes(whole + torn)
        assert WindowLog(path).last("s1") == WindowPosition(number=0, idle_bank=0, end_ns=1000)
        assert path.read_bytes() == whole


def test_lines_of_others_are_left_alone(tmp_path: Path):
    path = tmp_path / "windows.jsonl"
    strange = b'\xff\n{}\n[]\n{"event": "window"}\nno JSON\n'
    path.write_bytes(strange + json.dumps(_window("s1", 5, 1)).encode() + b"\n")
    assert WindowLog(path).last("s1") == WindowPosition(number=5, idle_bank=1, end_ns=1005)
    assert path.read_bytes().startswith(strange)


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path):
    path = tmp_path / "windows.jsonl"
    with path.open("wb") as file:
        file.write(json.dumps(_window("s1", 0, 0)).encode() + b"\n")
        file.truncate(1 << 30)
        file.seek(0, 2)
        file.write(b"\n" + json.dumps(_window("s2", 3, 1)).encode() + b"\n")
    log = WindowLog(path)
    assert log.last("s1") is None
    assert log.last("s2") == WindowPosition(number=3, idle_bank=1, end_ns=1003)


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path):
    path = tmp_path / "windows.jsonl"
    log = WindowLog(path)
    log.append(_window("s1", 0, 0))
    path.rename(tmp_path / "old")
    log.append(_window("s1", 1, 1))
    assert json.loads(path.read_text())["number"] == 1


def test_windows_go_into_a_regular_file(tmp_path: Path):
    with pytest.raises(InputError, match="not a regular file"):
        WindowLog(tmp_path)
    with pytest.raises(InputError, match="windows cannot be written"):
        WindowLog(tmp_path / "none" / "windows.jsonl")
