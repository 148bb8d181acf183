"""What a run's folder shows while the engine works on it."""

from __future__ import annotations

from pathlib import Path

from support.engine import SMALL, Bench

from sfcperf.control.events import Listener
from sfcperf.control.live import LiveRun, look_at, version_of
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.plan import PlannedTrial


class Looking(Listener):
    """Looks at the folder at each event, and knows what it must show."""

    def __init__(self) -> None:
        self.total = self.ended = 0
        self.began: PlannedTrial | None = None
        self.attempt = 0
        self.looks: list[LiveRun] = []
        self.versions: set[object] = set()

    def created(self, folder: Path) -> None:
        self.store = RunStore(folder)

    def started(self, folder: Path, trials: int, done: int, planned_s: float) -> None:
        self.total = trials

    def trial_started(self, trial: PlannedTrial, attempt: int) -> None:
        self.began, self.attempt = trial, attempt

    def phase(self, name: str) -> None:
        live = look_at(self.store)
        assert live.is_alive
        assert (live.status, live.manifest["state"]) == ("running", name)
        if name == "deploying":
            assert live.current is not None
            assert self.began is not None
            assert (live.current.trial_id, live.current.attempt, live.current.scenario) == (
                self.began.trial_id, self.attempt, self.began.scenario.levels
            )  # fmt: skip

    def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
        self.ended += 1
        self.versions.add(version_of(self.store))
        self.looks.append(look_at(self.store))
        assert (self.looks[-1].done, self.looks[-1].planned) == (self.ended, self.total)
        assert self.looks[-1].current is None


def test_the_folder_shows_what_the_engine_does(bench: Bench) -> None:
    looking = Looking()
    design = {"rounds": 2, "warmup_rounds": 1}
    bench.start(looking, **{**SMALL, "design": design})
    assert looking.ended == looking.total == len(looking.versions) == 6
    ended = look_at(looking.store)
    assert (ended.status, ended.is_alive) == ("complete", False)
