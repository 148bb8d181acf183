"""Resume: from the run folder alone, exactly the trials that are missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from support.engine import Bench, in_child

from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.control.state import RunAlive, StateDir
from sfcperf.errors import InputError, InterruptedRun
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.plan import PlannedTrial


class DieAfter(Listener):
    """Kills the process after so many recorded trials, warm-up included."""

    def __init__(self, trials: int, number: int = signal.SIGKILL) -> None:
        self.left = trials
        self.number = number

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)


def kill_after(bench: Bench, trials: int, **changes: object) -> None:
    status = in_child(lambda: bench.start(DieAfter(trials), **changes))
    assert status == -signal.SIGKILL


def test_trials_that_were_recorded_are_not_run_again(bench: Bench) -> None:
    kill_after(bench, 4 + 3)
    before = bench.trials()
    assert len(before) == 3
    bench.resume()
    after = bench.trials()
    assert after[:3] == before
    assert [record.trial_id for record in after] == bench.planned()
    assert bench.leftovers() == []


def test_the_warm_up_is_repeated_only_when_something_is_measured_after_it(bench: Bench) -> None:
    def warmups() -> int:
        return len((bench.folder() / "warmup.jsonl").read_text().splitlines())

    kill_after(bench, 4 + 3)
    assert warmups() == 4
    bench.resume()
    assert warmups() == 8


def test_only_the_analysis_is_missing(bench: Bench) -> None:
    kill_after(bench, 4 + 8)
    bench.resume()
    assert len((bench.folder() / "warmup.jsonl").read_text().splitlines()) == 4
    assert RunStore(bench.folder()).summaries()


def test_results_may_have_been_moved(bench: Bench, tmp_path: Path) -> None:
    kill_after(bench, 4 + 3)
    target = tmp_path / "elsewhere" / "renamed"
    target.parent.mkdir()
    shutil.move(bench.folder(), target)
    engine.resume(target, command=["test"], listener=Listener())
    store = RunStore(target)
    assert [record.trial_id for record in store.trials()] == bench.planned()
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_the_kept_workflow_decides_and_sequential_stopping_goes_on(bench: Bench) -> None:
    stop = {"relative_half_width": 0.03, "max_rounds": 9}
    design = {"rounds": 2, "warmup_rounds": 0, "stop_when": stop}
    kill_after(bench, 9, design=design)
    bench.resume()
    assert {record.round for record in bench.trials()} == {1, 2, 3}
    assert len(bench.trials()) == 12
    assert all("after 3 rounds" in reason for reason in bench.manifest()["stopping"].values())


def test_trials_of_later_rounds_do_not_count_when_earlier_ones_are_judged(bench: Bench) -> None:
    # Known to 2.2 % only after round 4; killed one trial before its end.
    stop = {"relative_half_width": 0.022, "max_rounds": 9}
    design = {"rounds": 2, "warmup_rounds": 0, "stop_when": stop}
    kill_after(bench, 15, design=design)
    bench.resume()
    assert len(bench.trials()) == 16
    assert all("after 4 rounds" in reason for reason in bench.manifest()["stopping"].values())


def test_raw_output_of_the_attempt_that_was_killed_goes(bench: Bench) -> None:
    kill_after(bench, 4 + 3)
    unfinished = bench.planned()[3]
    stale = bench.folder() / "raw" / unfinished / "attempt-2"
    stale.mkdir(parents=True)
    bench.resume()
    assert not stale.exists()


def test_a_complete_run_is_refused(bench: Bench) -> None:
    bench.start()
    with pytest.raises(InputError, match="complete"):
        bench.resume()


def test_a_run_that_is_alive_is_refused(bench: Bench) -> None:
    kill_after(bench, 5)
    state = StateDir().claim(bench.folder().name)
    assert state is not None
    with pytest.raises(RunAlive, match="another process"):
        bench.resume()
    state.release()
    bench.resume()
    assert bench.leftovers() == []


def test_a_run_whose_tag_was_taken_gets_another_one(bench: Bench) -> None:
    kill_after(bench, 5)
    bench.clean()
    run_id = bench.folder().name
    tag = run_id.rpartition("-")[2]
    other = bench.state / "runs" / f"other-{tag}"
    other.mkdir(parents=True)
    state, new_tag = StateDir().recreate(run_id)
    assert new_tag != tag
    state.remove()


@pytest.mark.parametrize("name", ["run.json", "workflow.json", "trials.jsonl"])
def test_a_damaged_run_folder_is_bad_input(bench: Bench, name: str) -> None:
    kill_after(bench, 4 + 3)
    path = bench.folder() / name
    path.write_text("{broken\n" + path.read_text())
    with pytest.raises(InputError):
        bench.resume()


def test_damaged_state_is_said_and_kept(bench: Bench) -> None:
    kill_after(bench, 4 + 3)
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
    listener = DieAfter(6, signal.SIGTERM)
    with pytest.raises(InterruptedRun, match="SIGTERM"):
        bench.start(listener)
    assert bench.manifest()["status"] == "interrupted"
    assert bench.manifest()["trials"]["valid"] == 2
    assert bench.leftovers() == []
    bench.resume()
    assert [record.trial_id for record in bench.trials()] == bench.planned()
    assert len(bench.manifest()["resumed_at"]) == 1


class DieIn(Listener):
    """Kills the process as it enters a state."""

    def __init__(self, state: str) -> None:
        self.state = state

    def phase(self, name: str) -> None:
        if name == self.state:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("state", ["analysing", "publishing"])
def test_a_run_that_was_killed_before_its_report_gets_it(bench: Bench, state: str) -> None:
    publish = [{"to": "fake"}]
    status = in_child(lambda: bench.start(DieIn(state), publish=publish))
    assert status == -signal.SIGKILL
    bench.resume()
    assert (bench.folder() / "published.txt").read_text() == "complete"
    assert bench.manifest()["state"] == "done"
    assert [record.trial_id for record in bench.trials()] == bench.planned()
