"""The spool: what waits is known by its folder and target, and survives."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.schemas import validator

from sfcperf.elasticsearch import delivery
from sfcperf.elasticsearch.connection import ServerAway
from sfcperf.elasticsearch.publication import send
from sfcperf.elasticsearch.spool import Spool
from sfcperf.elasticsearch.target import Target, target
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.results.store import RunStore

NOWHERE = target(["http://127.0.0.1:1"])


def deliver(store: RunStore, place: Target, **options: type[EnvironmentLacks]) -> None:
    delivery.deliver(store, place, spool=Spool(), progress=lambda *_: None, retry_s=0, **options)


def test_an_entry_is_as_its_schema_says(store: RunStore, state_dir: Path) -> None:
    Draft202012Validator.check_schema(validator("spool").schema)
    spool = Spool()
    waiting, is_new = spool.enter(store, NOWHERE)
    assert is_new
    validator("spool").validate(json.loads(waiting.file.read_text()))
    assert spool.waiting() == [waiting]
    assert waiting.file.parent == state_dir / "spool"
    spool.explain(waiting, "it rains")
    [again] = spool.waiting()
    validator("spool").validate(json.loads(waiting.file.read_text()))
    assert (again.problem, again.since) == ("it rains", waiting.since)
    second, is_new = spool.enter(store, NOWHERE)
    assert (second.file, second.since, is_new) == (waiting.file, waiting.since, False)
    other, is_new = spool.enter(store, target(["http://127.0.0.1:2"]))
    assert is_new
    for entry in (waiting, other):
        spool.done(entry)
    assert spool.waiting() == []


def test_one_process_at_a_time_sends_a_run(store: RunStore, tmp_path: Path) -> None:
    with Spool().alone(store.folder):
        with Spool().alone(tmp_path):
            pass
        with pytest.raises(EnvironmentLacks), Spool().alone(store.folder):
            pass
        locks = list(Spool().folder.glob("*.lock"))
        assert [path.stat().st_mode & 0o777 for path in locks] == [0o600]
    with Spool().alone(store.folder):
        pass
    assert not list(Spool().folder.iterdir())


def test_who_reads_a_run_folder_does_not_stop_its_delivery(store: RunStore) -> None:
    stranger = os.open(store.folder, os.O_RDONLY)
    try:
        fcntl.flock(stranger, fcntl.LOCK_EX)
        with pytest.raises(ServerAway):
            send(store, NOWHERE, retry_s=0)
    finally:
        os.close(stranger)


def test_a_server_that_is_away_makes_the_run_wait(store: RunStore) -> None:
    with pytest.raises(ServerAway) as away:
        deliver(store, NOWHERE)
    [waiting] = Spool().waiting()
    assert str(waiting.file) in str(away.value)
    assert "sfcperf index --pending" in str(away.value)
    assert waiting.problem
    with pytest.raises(ServerAway):
        delivery.deliver_waiting(waiting, spool=Spool(), progress=lambda *_: None, retry_s=0)
    assert [entry.since for entry in Spool().waiting()] == [waiting.since]


def test_what_waiting_does_not_mend_waits_only_when_it_waited_before(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise EnvironmentLacks("refused")

    monkeypatch.setattr(delivery, "send", refuse)
    with pytest.raises(EnvironmentLacks, match=r"^refused$"):
        deliver(store, NOWHERE, keep=ServerAway)
    assert Spool().waiting() == []
    Spool().enter(store, NOWHERE)
    with pytest.raises(EnvironmentLacks, match="waits in"):
        deliver(store, NOWHERE, keep=ServerAway)
    assert len(Spool().waiting()) == 1


def test_a_folder_that_is_gone_or_another_run_is_said(store: RunStore) -> None:
    waiting, _ = Spool().enter(store, NOWHERE)
    manifest = store.manifest()
    store.write_manifest({**manifest, "run_id": "20260131-120000-b-abc123"})
    with pytest.raises(InputError, match="holds the run"):
        delivery.deliver_waiting(waiting, spool=Spool(), progress=lambda *_: None)
    shutil.rmtree(store.folder)
    with pytest.raises(InputError, match="is gone"):
        delivery.deliver_waiting(waiting, spool=Spool(), progress=lambda *_: None)
    assert Spool().waiting() == [waiting]


@pytest.mark.parametrize("content", ["{}", "", '{"schema_version": 1}'])
def test_a_damaged_entry_does_not_hide_the_others(store: RunStore, content: str) -> None:
    bad, _ = Spool().enter(store, target(["http://127.0.0.1:2"]))
    good, _ = Spool().enter(store, NOWHERE)
    bad.file.write_text(content)
    assert Spool().waiting() == [good]
    [error] = Spool().damaged()
    assert str(bad.file) in str(error.where)
    assert "damaged" in error.message
    # Sending that run again writes the entry anew.
    Spool().enter(store, bad.target)
    assert (len(Spool().waiting()), Spool().damaged()) == (2, [])


@pytest.mark.root
@pytest.mark.parametrize("whose", ["root", "spool"])
def test_a_spool_of_another_user_is_not_obeyed(
    store: RunStore, state_dir: Path, whose: str
) -> None:
    """An entry says which files go where with this user's secrets."""
    Spool().enter(store, NOWHERE)
    os.chown(state_dir / ("spool" if whose == "spool" else ""), 65534, 65534)
    for use in (Spool().waiting, lambda: Spool().enter(store, NOWHERE)):
        with pytest.raises(EnvironmentLacks, match="another user"):
            use()


def test_a_state_folder_that_cannot_be_written(
    store: RunStore, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state_dir / "file").touch()
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(state_dir / "file"))
    with pytest.raises(EnvironmentLacks, match="cannot be written"):
        Spool().enter(store, NOWHERE)
