"""Resume: from the run folder alone, exactly the trials that are missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from support import fakes
from support.engine import Bench, Observer, die, in_child
from support.records.manifests import VERSIONS

from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.control.state import RunInProgress, StateDir
from sfcperf.errors import ExitCode, InputError, InterruptedRun
from sfcperf.results.store import RunStore
from sfcperf.workflow.plan import TrialGroup

DESIGN = {"rounds": 2, "warmup_rounds": 0, "centre": "mean", "rarest_mode": 0.8}
"""Two rounds are enough for an interval."""


def test_only_what_is_missing_is_measured_and_what_a_killed_run_left_goes(bench: Bench) -> None:
    def warmups() -> int:
        return len((bench.folder() / "warmup.jsonl").read_text().splitlines())

    bench.kill_after(4 + 3)
    before = bench.trials()
    assert (len(before), warmups()) == (3, 4)
    unfinished = bench.planned()[3]
    attempt = bench.folder() / "raw" / unfinished / "attempt-2"
    attempt.mkdir(parents=True)
    writer = bench.folder() / ".run.json.0123abcd.new"
    writer.touch()
    bench.resume()
    after = bench.trials()
    assert after[:3] == before
    assert [record.trial_id for record in after] == bench.planned()
    assert bench.leftovers() == []
    assert not attempt.exists() and not writer.exists()
    # Something is measured after it.
    assert warmups() == 8


def test_results_may_have_been_moved(bench: Bench, tmp_path: Path) -> None:
    bench.kill_after(4 + 3)
    target = tmp_path / "elsewhere" / "renamed"
    target.parent.mkdir()
    shutil.move(bench.folder(), target)
    engine.resume(target, command=["test"], listener=Listener())
    store = RunStore(target)
    assert [record.trial_id for record in store.trials()] == bench.planned()
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


@pytest.mark.parametrize(
    ("relative_half_width", "killed_after", "rounds"),
    # The second is killed one trial before the end of the round that decides.
    [(0.04, 9, 3), (0.03, 15, 4)],
    ids=["at once", "later trials do not count when earlier ones are judged"],
)
def test_the_kept_workflow_decides_and_sequential_stopping_goes_on(
    bench: Bench, relative_half_width: float, killed_after: int, rounds: int
) -> None:
    stop = {"relative_half_width": relative_half_width, "max_rounds": 9}
    bench.kill_after(killed_after, design={**DESIGN, "stop_when": stop})
    bench.resume()
    assert {record.round for record in bench.trials()} == set(range(1, rounds + 1))
    assert len(bench.trials()) == 4 * rounds
    stopping = bench.manifest()["stopping"].values()
    assert all(f"after {rounds} rounds" in reason for reason in stopping)


def test_a_run_that_is_alive_is_refused(bench: Bench) -> None:
    bench.kill_after(5)
    state = StateDir().claim(bench.folder().name)
    assert state is not None
    with pytest.raises(RunInProgress, match="another process"):
        bench.resume()
    state.release()
    bench.resume()
    assert bench.leftovers() == []


def test_each_session_has_a_tag_of_its_own_that_the_manifest_tells(bench: Bench) -> None:
    """What the dead session left may be known to another machine's or user's state only."""
    bench.kill_after(5)
    shutil.rmtree(bench.state / "runs")
    left = list(bench.resources.iterdir())
    assert left
    bench.resume()
    first, second = (session["tag"] for session in bench.manifest()["sessions"])
    assert first == bench.folder().name.rpartition("-")[2]
    assert second != first
    assert all(path.name.startswith(first) for path in left)
    assert list(bench.resources.iterdir()) == left


def test_a_damaged_run_folder_is_bad_input(bench: Bench) -> None:
    bench.kill_after(4 + 3)
    for name in ("run.json", "workflow.applied.json", "plan.json", "trials.jsonl"):
        path = bench.folder() / name
        content = path.read_text()
        path.write_text("{broken\n" + content)
        with pytest.raises(InputError):
            bench.resume()
        path.write_text(content)


def test_damaged_state_is_said_and_kept(bench: Bench) -> None:
    bench.kill_after(4 + 3)
    (state,) = (bench.state / "runs").iterdir()
    (state / "run.json").write_text("{")
    (bench.resources / "other").touch()
    journal = state / "journal.jsonl"
    entry = {"op": "intend", "kind": "file", "name": str(bench.resources / "other")}
    with journal.open("a") as file:
        file.write(json.dumps({**entry, "detail": None}) + "\n")
    with pytest.raises(InputError, match="damaged"):
        bench.resume()
    assert state.is_dir()
    assert (bench.resources / "other").exists()


def test_an_interrupted_run_is_resumed(bench: Bench) -> None:
    terminated = Observer(lambda trials: die(signal.SIGTERM) if trials == 6 else None)
    with pytest.raises(InterruptedRun, match="SIGTERM"):
        bench.start(terminated)
    assert bench.manifest()["status"] == "interrupted"
    assert bench.manifest()["trials"]["valid"] == 2
    assert bench.leftovers() == []
    bench.resume()
    assert [record.trial_id for record in bench.trials()] == bench.planned()
    assert len(bench.manifest()["resumed_at"]) == 1


@pytest.mark.parametrize("state", ["analysing", "publishing"])
def test_a_run_that_was_killed_before_its_report_gets_it(bench: Bench, state: str) -> None:
    observer = Observer(entered=lambda phase: die() if phase == state else None)
    publish = [{"to": "fake"}]
    assert in_child(lambda: bench.start(observer, publish=publish)) == -signal.SIGKILL
    bench.resume()
    assert (bench.folder() / "published.txt").read_text() == "complete"
    assert bench.manifest()["state"] == "done"
    assert RunStore(bench.folder()).summaries()
    assert len((bench.folder() / "warmup.jsonl").read_text().splitlines()) == 4, "not repeated"
    assert [record.trial_id for record in bench.trials()] == bench.planned()


def test_a_run_that_another_state_folder_knows_to_be_alive_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """sudo drops SFCPERF_STATE_DIR: the run folder itself says that somebody works on it."""

    class Second(Listener):
        def __init__(self) -> None:
            self.statuses: list[int] = []

        def trial_group_started(self, group: TrialGroup) -> None:
            def resume_elsewhere() -> None:
                os.environ["SFCPERF_STATE_DIR"] = str(tmp_path / "elsewhere")
                with pytest.raises(RunInProgress, match="another process"):
                    bench.resume()

            if not self.statuses:
                self.statuses.append(in_child(resume_elsewhere))

    listener = Second()
    bench.start(listener)
    assert listener.statuses == [0]
    assert bench.manifest()["status"] == "complete"


def test_a_run_id_leads_nowhere_else(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Deep enough that not even a mistake in what is tested here reaches beyond this test's folder.
    bench.state = tmp_path / "a" / "b" / "state"
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(bench.state))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").touch()
    bench.kill_after(5)
    path = bench.folder() / "run.json"
    document = json.loads(path.read_text())
    for run_id in (str(victim), "..", "../..", "", ".", "a\0b", "a/b", "a\n", "x" * 300):
        path.write_text(json.dumps({**document, "run_id": run_id}))
        with pytest.raises(InputError, match="damaged"):
            bench.resume()
        for use in (StateDir().claim, StateDir().recreate):
            with pytest.raises(InputError, match="not the id of a run"):
                use(run_id)
    assert (victim / "precious").exists()
    assert (bench.state / "runs").is_dir()


def descriptor(vcpus: int) -> str:
    text = (fakes.ROOT / "vnfs" / "forwarder" / "vnfd.yaml").read_text()
    assert "num_cpus: 1" in text
    return text.replace("num_cpus: 1", f"num_cpus: {vcpus}")


def test_a_vnfd_that_changed_since_is_not_mixed_in(bench: Bench) -> None:
    vnfd = bench.results.parent / "vnfd.yaml"
    vnfd.write_text(descriptor(1))
    bench.kill_after(4 + 3, vnfs={"sf": {"type": "fake", "vnfd": "vnfd.yaml"}})
    for change in (descriptor(2), descriptor(1) + "# other words\n"):
        vnfd.write_text(change)
        with pytest.raises(InputError, match=r"have changed since .*/s001/chain/functions/0/"):
            bench.resume()
    assert len(bench.trials()) == 3
    vnfd.write_text(descriptor(1))
    bench.resume()
    assert len(bench.trials()) == 8


def test_other_versions_are_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "versions", lambda: VERSIONS)
    bench.kill_after(4 + 3)
    newer = {**VERSIONS, "tools": {**VERSIONS["tools"], "iperf3": "iperf 3.99"}}
    monkeypatch.setattr(engine, "versions", lambda: newer)
    bench.resume()
    manifest = bench.manifest()
    assert manifest["problems"] == [
        "resumed with another version of iperf3: iperf 3.12 -> iperf 3.99"
    ]
    assert [s["versions"]["tools"]["iperf3"] for s in manifest["sessions"]] == [
        "iperf 3.12",
        "iperf 3.99",
    ]


def test_a_trial_that_was_lost_from_a_complete_run_is_measured_again(bench: Bench) -> None:
    bench.start()
    path = bench.folder() / "trials.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]))
    bench.resume()
    assert sorted(record.trial_id for record in bench.trials()) == sorted(bench.planned())
    assert any("missing from the record" in problem for problem in bench.manifest()["problems"])
    with pytest.raises(InputError, match="complete"):
        bench.resume()


def allow_publishing(bench: Bench) -> None:
    """The server is back."""
    applied = bench.folder() / "workflow.applied.json"
    document = json.loads(applied.read_text())
    document["publish"] = [{"to": "fake"}]
    applied.write_text(json.dumps(document))


def test_what_is_published_in_the_end_is_no_problem_any_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "versions", lambda: VERSIONS)
    bench.start(publish=[{"to": "fake", "fail": True}])
    first = bench.manifest()
    assert any("the server is down" in problem for problem in first["problems"])
    assert first["not_made"] == first["problems"]
    outcome = bench.resume()
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert bench.manifest()["problems"] == first["problems"]
    allow_publishing(bench)
    monkeypatch.setattr(engine, "versions", lambda: {**VERSIONS, "python": "0.9"})
    assert bench.resume().exit_code is ExitCode.OK
    (other,) = bench.manifest()["problems"]
    assert "another version of python" in other
    assert "not_made" not in bench.manifest()
    assert bench.manifest()["state"] == "done"
    # What was said at the time stays in the log.
    assert "the server is down" in (bench.folder() / "run.log").read_text()
