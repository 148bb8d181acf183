"""The run folder: what was written is read, whatever was cut or damaged is said."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.records.trials import run_folder, trial

from sfcperf.errors import InputError, MeasurementError
from sfcperf.results.documents import parse, trial_document, trial_record
from sfcperf.results.files import replace_file, replacing
from sfcperf.results.records import FailedAttempt
from sfcperf.results.store import RunStore
from sfcperf.results.tables import monitor_cpu_cores, monitor_cpu_s
from sfcperf.results.values import Loss, Observation


def test_trials_come_back_as_they_were(tmp_path: Path) -> None:
    crash = FailedAttempt(1, "crash", "fwd-1: it has ended", ("fwd-1", "fwd-2"), "d0001")
    loss = Loss(8, 100, "echo requests got no reply", "the others count", 0.01)
    records = [
        trial(1, values=[1.5, 2.5], attempts=2, failed_attempts=(crash,), loss=loss),
        trial(2, values=[], status="failed", reasons=("ping: exit status 1", "ü\n\u2028")),
        trial(1, "s001", scenario={"topology": "T1", "on": True, "x": None, "r": 0.1}),
    ]
    store = run_folder(tmp_path / "run", records)
    assert store.trials() == records
    assert RunStore.open(store.folder).trials() == records
    read_only = MappingProxyType({"a": MappingProxyType({})})
    store.append_trial(replace(trial(3), notes=read_only))
    assert store.trials()[-1].notes == {"a": {}}


def test_warm_up_trials_are_kept_apart(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    store.append_trial(trial(2), warmup=True)
    assert [record.round for record in store.trials()] == [1]
    assert (store.folder / "warmup.jsonl").read_text().count("\n") == 1


def test_a_file_cut_at_any_byte_loses_no_finished_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [trial(number) for number in (1, 2, 3)]
    path = run_folder(tmp_path / "run", records).folder / "trials.jsonl"
    content = path.read_bytes()
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        finished = content[:cut].count(b"\n")
        store = RunStore(path.parent)
        assert store.trials() == records[:finished]
        store.append_trial(trial(9))
        store.append_trial(trial(10))
        assert store.trials() == [*records[:finished], trial(9), trial(10)]


def test_a_tail_of_zeros_is_a_torn_line(tmp_path: Path) -> None:
    """File systems leave this behind when the power goes."""
    folder = run_folder(tmp_path / "run", [trial(1)]).folder
    with (folder / "trials.jsonl").open("ab") as file:
        file.write(bytes(512))
    store = RunStore.open(folder)
    assert store.trials() == [trial(1)]
    store.append_trial(trial(2))
    assert store.trials() == [trial(1), trial(2)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"schema_version": 1, "trial', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"round": NaN}', "NaN is not a JSON number"),
        (b"[]", "not a JSON object"),
        (b"{}", "schema_version is None"),
        (b'{"schema_version": 1}', "trial_id is missing"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    store = run_folder(tmp_path / "run", [trial(1), trial(2)])
    path = store.folder / "trials.jsonl"
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([first, line, second, b""]))
    with pytest.raises(InputError, match=message) as caught:
        store.trials()
    assert caught.value.where == f"{path}:2"


ATTEMPT = {**asdict(FailedAttempt(1, "crash", "it has ended", (), "d0001")), "functions": ["fwd-1"]}
LOSS = asdict(Loss(8, 100, "echo requests got no reply", "the others count", 0.01))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "fine"}, "status is 'fine'"),
        ({"round": "1"}, "round is '1'"),
        ({"round": True}, "round is True"),
        ({"samples": {}}, "samples is {}"),
        ({"samples": [1]}, "sample 0 is not an object"),
        ({"samples": [{"metric": "m", "unit": "s"}]}, "sample 0 has no value"),
        ({"samples": [{"metric": "m", "unit": "s", "value": True}]}, "sample 0 has no value"),
        ({"samples": [{"metric": "m", "value": 1}]}, "sample 0 has no unit"),
        ({"samples": [{"metric": "m", "unit": "s", "value": 10**400}]}, "no finite value"),
        ({"trial_id": "../../etc"}, "trial_id is '../../etc'"),
        ({"schema_version": True}, "schema_version is True"),
        ({"schema_version": 0}, "schema_version is 0"),
        ({"failed_attempts": [ATTEMPT | {"kind": "mood"}]}, "mood"),
        ({"failed_attempts": ["a crash"]}, "failed_attempts"),
        ({"failed_attempts": [ATTEMPT | {"attempt": "1"}]}, "attempt"),
        ({"loss": LOSS | {"lost": 101}}, "lost"),
        ({"loss": [1, 2]}, "loss"),
    ],
)
def test_a_line_of_another_shape_is_refused(change: dict[str, Any], message: str) -> None:
    row = json.loads(trial_document(trial(1))) | change
    with pytest.raises(InputError, match="the run folder is damaged") as caught:
        trial_record(row, "here")
    assert message in caught.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(trial_document(trial(1))))), JSON)
def test_any_value_at_any_key_is_a_trial_or_an_error_in_words(key: str, value: Any) -> None:
    line = json.dumps(json.loads(trial_document(trial(1))) | {key: value})
    try:
        record = trial_record(parse(line.encode(), "here"), "here")
    except InputError as error:
        assert error.where is not None
        assert error.where.startswith("here")
    else:
        assert json.loads(trial_document(record))[key] == value


@given(
    st.lists(st.floats(-1e100, 1e100), max_size=5),
    st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none(), max_size=4),
    st.lists(st.text(), min_size=1, max_size=3).map(tuple),
)
def test_any_record_survives_the_file(
    values: list[float], scenario: dict[str, Any], reasons: tuple[str, ...]
) -> None:
    record = trial(1, values=values, status="untrusted", scenario=scenario, reasons=reasons)
    line = trial_document(record)
    assert "\n" not in line
    assert trial_record(json.loads(line), "") == record


def test_keys_of_a_later_release_are_passed_over() -> None:
    row = json.loads(trial_document(trial(1))) | {"colour": "green"}
    assert trial_record(row, "") == trial(1)


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    path = store.folder / "trials.jsonl"
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(InputError, match="written by a newer SFCPerf: schema_version 2") as caught:
        store.trials()
    assert caught.value.hint is not None
    manifest = store.folder / "run.json"
    manifest.write_text('{"schema_version": 7}')
    with pytest.raises(InputError, match="schema_version 7"):
        store.manifest()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e200])
def test_what_is_no_measurement_is_not_recorded(tmp_path: Path, value: float) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    with pytest.raises(MeasurementError, match="rtt_us"):
        store.append_trial(trial(2, values=[1.0, value]))
    assert store.trials() == [trial(1)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("run.json", text) for text in ("", "{", "[]", "\xff", "null", '{"run_id": 1}')),
        ("plan.json", "{"),
        *(
            ("summary.json", f'{{"schema_version": 1, "summaries": {rows}}}')
            for rows in ("3", "[3]")
        ),
        ("summary.json", '{"schema_version": 1, "summaries": [{"n": 1}]}'),
    ],
)
def test_damaged_documents_are_named(tmp_path: Path, name: str, content: str) -> None:
    store = run_folder(tmp_path / "run")
    (store.folder / name).write_bytes(content.encode("latin-1"))
    read = {"run.json": store.manifest, "plan.json": store.plan, "summary.json": store.summaries}
    with pytest.raises(InputError, match="damaged") as caught:
        read[name]()
    assert str(caught.value.where).startswith(str(store.folder / name))


@pytest.mark.parametrize(
    "change",
    [
        {"host": 5},
        {"problems": 5},
        {"resumed_at": 5},
        {"sessions": []},
        {"phases": "x"},
        {"monitors": [{}]},
        {"run_id": 5},
        {"run_id": "../.."},
        {"run_id": "run\n"},
        {"probes": 5},
        {"design": 5},
        {"state": 5},
    ],
)
def test_a_manifest_of_another_shape_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    store = run_folder(tmp_path / "run")
    document = store.manifest() | change
    (store.folder / "run.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="the run folder is damaged") as caught:
        store.manifest()
    assert str(caught.value.where).startswith(str(store.folder / "run.json"))


def test_only_files_are_replaced(tmp_path: Path) -> None:
    """A named pipe stands for /dev/null and /dev/stdout."""
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"), replacing(pipe):
        pass
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    replace_file(pipe, "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_two_writers_of_one_document_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "document"
    with replacing(path) as first, replacing(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert [file.name for file in tmp_path.iterdir()] == ["document"]


def test_a_damaged_workflow_base_is_named(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run")
    (store.folder / "workflow-base.json").write_text("{}")
    with pytest.raises(InputError, match="there is no folder"):
        store.workflow()


def test_documents_are_replaced_as_a_whole(tmp_path: Path) -> None:
    """What cannot be written leaves the old document and no other file."""
    store = run_folder(tmp_path / "run")
    before = store.manifest()
    files = sorted(path.name for path in store.folder.iterdir())
    with pytest.raises(TypeError):
        store.write_manifest({"status": object()})
    assert store.manifest() == before
    assert sorted(path.name for path in store.folder.iterdir()) == files


def test_the_run_keeps_its_id_in_a_renamed_folder(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "20260131-120000-small-abc123")
    moved = store.folder.rename(tmp_path / "elsewhere")
    assert RunStore.open(moved).run_id == "20260131-120000-small-abc123"
    assert RunStore(tmp_path / "new").run_id == "new"


def test_what_is_no_run_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run.json"):
        RunStore.open(tmp_path)
    with pytest.raises(InputError, match="cannot be created"):
        RunStore.create(tmp_path)


def test_telemetry_is_merged_in_the_order_of_trials(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(2), trial(1)])
    store.write_trial_telemetry(trial(1), [])
    assert store.merge_telemetry() is None
    for record in (trial(1), trial(2), trial(3)):
        observed = [Observation(record.round, "fwd-1", "cpu_ratio", "1", 0.5)] * 2
        store.write_trial_telemetry(record, observed)
    assert store.merge_telemetry() == store.telemetry_path
    rows = pyarrow.parquet.read_table(store.telemetry_path).to_pylist()
    # Round 3 is not in trials.jsonl: its trial was not finished.
    assert [row["time_ns"] for row in rows] == [2, 2, 1, 1]


def test_telemetry_of_many_trials_is_in_few_groups(tmp_path: Path) -> None:
    """A group per trial makes every reader of a large run slow; the order of trials stays."""
    records = [trial(number) for number in range(1, 41)]
    store = run_folder(tmp_path / "run", records)
    for record in records:
        many = range(40_000 if record.round == 20 else 2)
        observed = [Observation(i, "fwd-1", "cpu_ratio", "1", record.round) for i in many]
        store.write_trial_telemetry(record, observed)
    store.merge_telemetry()
    metadata = pyarrow.parquet.read_metadata(store.telemetry_path)
    assert metadata.num_rows == 39 * 2 + 40_000
    assert metadata.num_row_groups == 1
    rounds = pyarrow.parquet.read_table(store.telemetry_path)["value"].to_pylist()
    assert rounds == sorted(rounds)


def test_what_monitors_used_is_summed_and_their_cpus_averaged(tmp_path: Path) -> None:
    """Also when a trial has two monitors of one kind."""
    store = run_folder(tmp_path / "run", [trial(1), trial(2)])
    for record, cores in ((trial(1), 0.01), (trial(2), 0.03)):
        own = [Observation(1, name, "monitor_cpu_s", "s", 0.25) for name in ("cpu", "cpu", "top")]
        own.append(Observation(1, "top", "monitor_cpu_cores", "1", cores))
        store.write_trial_telemetry(record, [*own, Observation(1, "cpu", "other", "s", 9.0)])
    store.merge_telemetry()
    assert monitor_cpu_s(store.telemetry_path) == {"cpu": 1.0, "top": 0.5}
    assert monitor_cpu_cores(store.telemetry_path) == {"top": pytest.approx(0.02)}
    assert monitor_cpu_s(tmp_path / "missing") == monitor_cpu_cores(tmp_path / "missing") == {}


def test_a_damaged_part_of_the_telemetry_is_named(tmp_path: Path) -> None:
    store = run_folder(tmp_path / "run", [trial(1)])
    part = store.raw("r001-s000-ping") / "telemetry.parquet"
    part.write_bytes(b"PAR1 torn")
    with pytest.raises(InputError, match="not readable as Parquet") as caught:
        store.merge_telemetry()
    assert caught.value.where == str(part)
    assert not store.telemetry_path.exists()
