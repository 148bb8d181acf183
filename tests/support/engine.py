"""Running the engine on the fakes: in this process, or in one that is killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.control import run as engine
from sfcperf.control.clean import clean
from sfcperf.control.events import Listener
from sfcperf.control.session import Outcome
from sfcperf.results.records import TrialRecord
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import trial_groups
from support import fakes

SMALL = {"probes": [{"probe": "fake", "name": "a"}], "design": {"rounds": 2, "warmup_rounds": 0}}
"""What makes a run of four trials of the document."""


def faulty(trial: str = "r001-s001", **attempts: str) -> dict[str, Any]:
    """Probe `a` with faults in a trial: `attempt1="fail"`."""
    script = {f"{trial}-a/attempt-{key[-1]}": fault for key, fault in attempts.items()}
    return {"probe": "fake", "name": "a", "script": script}


class Observer(Listener):
    """Keeps phases and messages. `ended` is called with the number of trials that were recorded so
    far, warm-up included, `entered` with each phase."""

    def __init__(
        self,
        ended: Callable[[int], object] = lambda trials: None,
        entered: Callable[[str], object] = lambda phase: None,
    ) -> None:
        self._ended, self._entered = ended, entered
        self._trials = 0
        self.phases: list[str] = []
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)

    def phase(self, name: str) -> None:
        self.phases.append(name)
        self._entered(name)

    def trial_ended(self, trial: object, record: object) -> None:
        self._trials += 1
        self._ended(self._trials)


def die(number: int = signal.SIGKILL) -> None:
    """This process gets a signal."""
    os.kill(os.getpid(), number)


@dataclass
class Bench:
    """Folders of one test: the fake infrastructure, results, and live state."""

    resources: Path
    results: Path
    state: Path

    def document(self, **changes: Any) -> dict[str, Any]:
        return fakes.document(self.resources, **changes)

    def write(self, **changes: Any) -> Path:
        """The workflow as a file."""
        path = self.results.parent / "workflow.json"
        path.write_text(json.dumps(self.document(**changes)))
        return path

    def start(self, listener: Listener | None = None, **changes: Any) -> Outcome:
        workflow = load_document(self.document(**changes), self.results.parent)
        return engine.start(
            workflow, self.results, command=["test"], listener=listener or Listener()
        )

    def kill_after(self, trials: int, **changes: Any) -> None:
        """Start a run in a process that dies when so many trials are recorded."""
        observer = Observer(lambda recorded: die() if recorded == trials else None)
        assert in_child(lambda: self.start(observer, **changes)) == -signal.SIGKILL

    def resume(self) -> Outcome:
        return engine.resume(self.folder(), command=["test"], listener=Listener())

    def folder(self) -> Path:
        (folder,) = self.results.iterdir()
        return folder

    def trials(self) -> list[TrialRecord]:
        return RunStore(self.folder()).trials()

    def by_id(self) -> dict[str, TrialRecord]:
        return {record.trial_id: record for record in self.trials()}

    def manifest(self) -> dict[str, Any]:
        return RunStore(self.folder()).manifest()

    def planned(self, **changes: Any) -> list[str]:
        """Ids of the trials that the workflow plans, in order."""
        workflow = load_document(self.document(**changes), self.results.parent)
        rounds = range(1, workflow.design.rounds + 1)
        return [t.trial_id for n in rounds for v in trial_groups(workflow, n) for t in v.trials]

    def leftovers(self) -> list[str]:
        """What a run left: fake resources, and folders of live runs."""
        runs = self.state / "runs"
        live = list(runs.iterdir()) if runs.is_dir() else []
        return [str(path) for path in [*self.resources.iterdir(), *live]]

    def clean(self) -> list[str]:
        return [run.status for run in clean(dry_run=False)]


def in_child(action: Callable[[], object]) -> int:
    """Run in a forked process; gives its exit status, negative for a signal.

    A fork and not a new interpreter: what is imported is there already, so that a test can afford
    hundreds of deaths.
    """
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            action()
            code = 0
        finally:
            # Neither pytest's own exit nor its output belongs to the child.
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
