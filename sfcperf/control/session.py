"""Session: one process's work on a run, from the driver's start to the last byte of its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.control import publishing
from sfcperf.control.context import Manifest, RunContext
from sfcperf.control.drivers import Drivers
from sfcperf.control.events import Listener
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.control.interrupts import Interrupted, Interrupts
from sfcperf.control.noise import NoiseWatch
from sfcperf.control.phases import Phases
from sfcperf.control.rounds import Rounds
from sfcperf.control.state import RunState
from sfcperf.drivers.journal import FileJournal
from sfcperf.errors import ExitCode, InputError, InterruptedRun
from sfcperf.results.manifest import finish
from sfcperf.results.records import RunStatus
from sfcperf.results.store import RunStore
from sfcperf.results.telemetry import monitor_cpu_s
from sfcperf.results.timestamps import utc_now
from sfcperf.workflow.model import Workflow


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    store: RunStore
    trials: Mapping[str, int]
    """Number of trials by status."""
    problems: tuple[str, ...]
    not_made: tuple[str, ...] = ()
    """What could not be analysed or published, and why; no trial is lost by it."""

    @property
    def exit_code(self) -> ExitCode:
        """OK when every trial is valid and all that was asked for was made of them."""
        if self.trials["valid"] != sum(self.trials.values()):
            return ExitCode.SOME_TRIALS_BAD
        return ExitCode.ENVIRONMENT if self.not_made else ExitCode.OK


@dataclass
class Session:
    """Everything is removed at its end, however it ends; what could not be stays journaled."""

    workflow: Workflow
    store: RunStore
    state: RunState
    journal: FileJournal
    tags: Sequence[str]
    """Of the drivers, in the order of the workflow's infrastructures."""
    manifest: Manifest
    listener: Listener
    interrupts: Interrupts
    phases: Phases
    earlier_s: Mapping[str, float]
    """Phases of earlier sessions of this run, seconds."""

    def run(self) -> Outcome:
        """Measure, analyse, publish. Raises InterruptedRun, or what made the run fail."""
        try:
            self._measure()
            not_made = [*self._analyse(), *self._publish()]
            # A run that is not done can be resumed: that analyses and publishes again.
            if not_made:
                hint = f"`sfcperf resume {self.store.folder}` tries again what was not made"
                self._problem(hint)
                self.manifest.update({"phases": self._seconds(), "not_made": [*not_made, hint]})
            else:
                self._enter("done")
        except Interrupted as signal:
            self._stopped("interrupted")
            raise InterruptedRun(
                f"the run was interrupted by {signal}", hint=self._what_next()
            ) from signal
        except BaseException as error:
            self._problem(f"the run failed: {describe(error)}")
            with suppress(OSError):
                keep_traceback(error, self.store.folder / publishing.ERROR_LOG)
            self._stopped("failed")
            raise
        finally:
            self._give_up_state()
        document = self.manifest.document
        problems = tuple(document["problems"])
        return Outcome(self.store, document["trials"], problems, tuple(not_made))

    def _measure(self) -> None:
        drivers = Drivers(self.workflow)
        run = RunContext(
            drivers,
            self.store,
            self.manifest,
            self.listener,
            self.interrupts,
            self.phases,
            NoiseWatch(self.store.trials(), self.store.run_id),
        )
        try:
            drivers.open(
                run_id=self.store.run_id,
                tags=self.tags,
                journal=self.journal,
                state_dir=self.state.state_dir,
                raw_dir=_session_folder(self.store.folder / "raw" / "driver"),
                log=self._log,
            )
            self.manifest.update(drivers.facts())
            rounds = Rounds(run, self.workflow)
            self.listener.started(self.store.folder, *rounds.planned())
            rounds.run()
        finally:
            run.enter("tearing down")
            with self.phases("teardown"):
                left = drivers.release()
            # What a tear-down could not remove and the journal could is no problem any more.
            problems = [*run.problems, *left] if left else []
            if problems:
                problems.append("`sfcperf clean` removes what was left once the cause is gone")
            for problem in problems:
                self._problem(problem)

    def _analyse(self) -> list[str]:
        """Gives what could not be made."""
        self._forget_what_was_not_made()
        self._enter("analysing")
        with self.phases("analysing"), self.interrupts.allowed:
            # Reasons of stopping and the trials' status are part of the summary: run.json first.
            self._finish("complete")
            not_made = publishing.analyse(self.store)
            for problem in not_made:
                self._problem(problem)
            self._finish("complete", monitor_cpu_s(self.store.telemetry_path))
        return not_made

    def _publish(self) -> list[str]:
        """Gives what could not be published."""
        self._enter("publishing")
        with self.phases("publishing"), self.interrupts.allowed:
            not_made = publishing.publish(self.store, self.workflow.publish)
            for problem in not_made:
                self._problem(problem)
        return not_made

    def _finish(self, status: RunStatus, cost: Mapping[str, float] | None = None) -> None:
        self.manifest.update(
            finish(
                self.manifest.document,
                status=status,
                trials=self.store.trials(),
                stopping={},
                monitor_cpu_s=cost,
            )
        )

    def _enter(self, state: str) -> None:
        self.manifest.update({"state": state, "phases": self._seconds()})
        self.listener.phase(state)

    def _forget_what_was_not_made(self) -> None:
        """Problems of earlier sessions' analyses and publishers: these are about to be tried
        again, and tell anew when something is still wrong."""
        document = self.manifest.document
        earlier = document.pop("not_made", ())
        document["problems"] = [text for text in document["problems"] if text not in earlier]

    def _problem(self, text: str) -> None:
        """Written with the next change of run.json."""
        self.manifest.document["problems"] = [*self.manifest.document["problems"], text]
        self.listener.message(text)
        self._log(text)

    def _log(self, text: str) -> None:
        with (self.store.folder / "run.log").open("a") as log:
            log.write(f"{utc_now()} {text}\n")

    def _seconds(self) -> dict[str, float]:
        """Phases of this session and of those before it."""
        seconds = dict(self.earlier_s)
        for name, value in self.phases.seconds().items():
            seconds[name] = round(seconds.get(name, 0.0) + value, 6)
        return seconds

    def _stopped(self, status: RunStatus) -> None:
        """The last words of a run that does not complete. When even run.json cannot be written
        (a full disk), what stopped the run matters more."""
        with suppress(OSError, InputError):
            if self.manifest.document["status"] == "complete":
                # Every trial is there; only the report is missing, and it can be made anew.
                self.manifest.update({"phases": self._seconds()})
            else:
                self._finish(status)
                self._enter(status)

    def _what_next(self) -> str:
        if self.manifest.document["status"] == "complete":
            return f"all trials are done; `sfcperf report {self.store.folder}` makes the report"
        return f"`sfcperf resume {self.store.folder}` goes on with it"

    def _give_up_state(self) -> None:
        if self.journal.outstanding():
            self.state.release()
        else:
            self.state.remove()


def _session_folder(folder: Path) -> Path:
    """`FOLDER`, or `FOLDER-2`, ... when earlier sessions of the run have left theirs."""
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    candidate.mkdir(parents=True)
    return candidate
