"""Session: one process's work on a run, from the start of its drivers to its last report."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.control import publishing
from sfcperf.control.context import Manifest, RunContext
from sfcperf.control.drivers import Drivers
from sfcperf.control.events import Listener, Timeline
from sfcperf.control.faults import describe, keep_traceback
from sfcperf.control.interrupts import Interrupted, Interrupts
from sfcperf.control.noise import NoiseWatch
from sfcperf.control.progress_state import ProgressState
from sfcperf.control.services import OWNER, Services
from sfcperf.control.state import RunState
from sfcperf.control.trials import Rounds
from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError, InterruptedRun
from sfcperf.hosts.clock_watch import ClockWatch
from sfcperf.results.manifest import finish
from sfcperf.results.records import RunStatus, utc_now
from sfcperf.results.store import RunFile, RunStore
from sfcperf.results.tables import monitor_cpu_s
from sfcperf.workflow.model import Workflow


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its trials, its problems, and what could not be made of it."""

    store: RunStore
    trials: Mapping[str, int]
    """Number of trials by status."""
    problems: tuple[str, ...]
    """What else went wrong, a line each: `problems` of run.json."""
    not_made: tuple[str, ...] = ()
    """What could not be analysed or published, and why; trials are not affected."""

    @property
    def exit_code(self) -> ExitCode:
        """OK when every trial is valid, and the run is analysed and published."""
        if self.trials["valid"] != sum(self.trials.values()):
            return ExitCode.SOME_TRIALS_BAD
        return ExitCode.ENVIRONMENT if self.not_made else ExitCode.OK


@dataclass
class Session:
    """Does one process's share of a run. `run.start` and `run.resume` make it, and call `run` once.
    However it ends, it removes at its end all that it created. What it cannot remove stays in the
    journal, for `resume` and `clean`."""

    workflow: Workflow
    store: RunStore
    state: RunState
    tags: Sequence[str]
    """Tags of the drivers, in the order of the workflow's infrastructures."""
    manifest: Manifest
    listener: Listener
    interrupts: Interrupts
    timeline: Timeline
    earlier_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds that earlier sessions of this run spent in each phase."""

    def __post_init__(self) -> None:
        self._journal = self.state.journal()

    def run(self) -> Outcome:
        """Measure, analyse, publish. Raises InterruptedRun, or what made the run fail."""
        with self.timeline.part("run", {"sfcperf.run_id": self.store.run_id}):
            return self._run()

    def _run(self) -> Outcome:
        """Measure, analyse and publish, as `run` does. However that ends, note it in run.json, and
        release the run's state."""
        try:
            self._measure()
            not_made = [*self._analyse(), *self._publish()]
            # If something was not made, the run does not enter `done`: `resume` then analyses and
            # publishes again.
            if not_made:
                hint = f"`sfcperf resume {self.store.folder}` tries again what failed"
                self._note(hint)
                self.manifest.update({"phases": self._seconds(), "not_made": [*not_made, hint]})
            else:
                self._enter("done")
        except Interrupted as signal:
            self._stopped("interrupted")
            raise InterruptedRun(
                f"the run was interrupted by {signal}; {self._measured_text()}",
                hint=self._what_next(),
            ) from signal
        except BaseException as error:
            self._note(f"the run failed: {describe(error)}")
            with suppress(OSError, EnvironmentLacks):
                self.store.check_not_moved()
                keep_traceback(error, self.store.folder / publishing.ERROR_LOG)
            self._stopped("failed")
            raise
        finally:
            self._release_state()
        document = self.manifest.document
        problems = tuple(document["problems"])
        return Outcome(self.store, document["trials"], problems, tuple(not_made))

    def _measure(self) -> None:
        """Start services and drivers, run all rounds, and release what was started."""
        drivers, services = Drivers(self.workflow), Services(self.workflow.services)
        run = RunContext(
            drivers,
            services,
            self.store,
            self.manifest,
            self.listener,
            self.interrupts,
            self.timeline,
            NoiseWatch(
                self.store.trials(),
                self.store.run_id,
                gated=self.workflow.design.noise_gate is not None,
            ),
            ClockWatch(),
        )
        try:
            self._start_services(run)
            drivers.open(
                run_id=self.store.run_id,
                tags=self.tags,
                journal=self._journal,
                state_dir=self.state.state_dir,
                raw_dir=_session_folder(self.store.folder / "raw" / "driver"),
                log=self._log,
                services=services.addresses(),
            )
            self.manifest.update(drivers.facts())
            rounds = Rounds(run, self.workflow)
            self.listener.started(self.store.folder, *rounds.planned())
            rounds.run()
            self._check_recorded(rounds.measured())
        finally:
            run.enter("tearing down")
            with self.timeline.phase("teardown"):
                not_removed = [*drivers.release(), *services.release()]
            # A tear-down during the run may have failed to remove what `release` has removed now.
            # With nothing left, that is no problem any more.
            problems = [*run.problems, *not_removed] if not_removed else []
            if problems:
                problems.append("`sfcperf clean` removes what was left once the cause is gone")
            self._note(*problems)

    def _start_services(self, run: RunContext) -> None:
        """Start the services, unless all trials are recorded: analysing and publishing need no
        services."""
        specs = self.workflow.services
        if not specs or ProgressState(self.workflow, self.store.trials()).is_complete():
            return
        run.enter("starting services")
        with self.timeline.phase("starting services"), self.interrupts.allowed:
            run.services.start(
                run_id=self.store.run_id,
                tag=self.tags[0],
                address=run.drivers.service_address,
                journal=self._journal.of(OWNER),
                state_dir=self.state.state_dir / "services",
                outputs=_session_folder(self.store.folder / "raw" / "services"),
                log=self._log,
            )
        self.manifest.update({"services": run.services.facts()})

    def _check_recorded(self, measured: Collection[str]) -> None:
        """Raise EnvironmentLacks when trials that were measured are not on disk any more."""
        recorded = {record.trial_id for record in self.store.trials()}
        lost = sorted(set(measured) - recorded)
        if lost:
            raise EnvironmentLacks(
                f"{len(lost)} of {count_text(len(measured), 'trial')} that were measured are gone "
                f"from the record, the first is {lost[0]}",
                where=str(self.store.folder / RunFile.TRIALS),
                hint="find out what changed the file; `sfcperf resume` measures them again",
            )

    def _analyse(self) -> list[str]:
        """Analyse the run; return what failed, a line each."""
        self._drop_earlier_failures()
        self._enter("analysing")
        with self.timeline.phase("analysing"), self.interrupts.allowed_anywhere():
            # The summary shows stopping reasons and trial status, which are in run.json.
            self._finish("complete")
            not_made = publishing.analyse(self.store)
            self._note(*not_made)
            # The CPU time of monitors is known only from the merged telemetry.
            self._finish("complete", monitor_cpu_s(self.store.telemetry_path))
        return not_made

    def _publish(self) -> list[str]:
        """Publish the run; return what failed, a line each."""
        self._enter("publishing")
        with self.timeline.phase("publishing"), self.interrupts.allowed_anywhere():
            not_made = publishing.publish(self.store, self.workflow.publish)
            self._note(*not_made)
        return not_made

    def _finish(self, status: RunStatus, cost: Mapping[str, float] | None = None) -> None:
        """Write the status of the run to run.json, with the number of trials by status, and `cost`:
        monitor -> CPU time that it used, seconds (None: not known yet)."""
        self.manifest.update(
            finish(
                self.manifest.document,
                status=status,
                trials=self.store.trials(),
                stopping={},  # adds none: `Rounds` has written the reasons
                monitor_cpu_s=cost,
            )
        )

    def _enter(self, state: str) -> None:
        """Note the run's state in run.json, with the seconds per phase, and tell the display."""
        self.manifest.update({"state": state, "phases": self._seconds()})
        self.listener.phase(state)

    def _drop_earlier_failures(self) -> None:
        """Drop the problems of earlier sessions' analyses and publishers, which run again now."""
        document = self.manifest.document
        earlier = document.pop("not_made", ())
        document["problems"] = [text for text in document["problems"] if text not in earlier]

    def _note(self, *problems: str) -> None:
        """Note problems, and tell the user; the next change of run.json writes them."""
        self.manifest.document["problems"] = [*self.manifest.document["problems"], *problems]
        for text in problems:
            self.listener.message(text)
            self._log(text)

    def _log(self, text: str) -> None:
        """Add a line to run.log."""
        # An event that cannot be written must not become an error of the run.
        with suppress(OSError, EnvironmentLacks):
            self.store.check_not_moved()
            with (self.store.folder / "run.log").open("a", errors="backslashreplace") as log:
                log.write(f"{utc_now()} {text}\n")

    def _seconds(self) -> dict[str, float]:
        """Seconds in each phase, of this session and of those before it together."""
        seconds = dict(self.earlier_s)
        for name, value in self.timeline.seconds().items():
            seconds[name] = round(seconds.get(name, 0.0) + value, 6)
        return seconds

    def _stopped(self, status: RunStatus) -> None:
        """Record that the run ended early: `status` says how. An error in writing run.json (a full
        disk) is dropped: the one that stopped the run matters more."""
        with suppress(OSError, EnvironmentLacks):
            if self.manifest.document["status"] == "complete":
                # All trials are there; only the report is missing, and can be made again.
                self.manifest.update({"phases": self._seconds()})
            else:
                try:
                    self._finish(status)
                except InputError:  # the trials cannot be read, let alone counted
                    self.manifest.update({"status": status, "ended_at": utc_now()})
                self._enter(status)

    def _measured_text(self) -> str:
        """How much was measured, e.g. `7 of 24 trials measured: 6 valid, 1 untrusted`."""
        counts = self.manifest.document["trials"]
        measured, planned = sum(counts.values()), ProgressState(self.workflow, ()).planned()[0]
        # Sequential stopping adds rounds that were not planned.
        of_all = max(measured, planned)
        of_each = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
        return f"{measured} of {count_text(of_all, 'trial')} measured{of_each and f': {of_each}'}"

    def _what_next(self) -> str:
        """What the user of an interrupted run can do, as a hint."""
        if self.manifest.document["status"] == "complete":
            return f"all trials are done; `sfcperf report {self.store.folder}` makes the report"
        return f"`sfcperf resume {self.store.folder}` continues it"

    def _release_state(self) -> None:
        """Remove the run's state folder. Keep it for `resume` and `clean` if the journal still
        names resources."""
        if self._journal.outstanding():
            self.state.release()
        else:
            self.state.remove()


def _session_folder(folder: Path) -> Path:
    """Make a folder for this session: FOLDER, or FOLDER-2 and so on if earlier sessions of the run
    used that."""
    number, candidate = 1, folder
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}-{number}")
    candidate.mkdir(parents=True)
    return candidate
