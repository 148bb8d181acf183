"""Measures the papers' experiments, one after the other, and keeps each as it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sfcperf.cli.failures import exit_code_of
from sfcperf.cli.outcome import executed
from sfcperf.cli.shipped import shipped
from sfcperf.cli.terminal.lines import say
from sfcperf.control import run as control
from sfcperf.errors import ExitCode, InterruptedRun
from sfcperf.package.verify import verify
from sfcperf.playbooks.papers.experiments import Experiment
from sfcperf.playbooks.papers.kept import MAX_BYTES, Kept
from sfcperf.presentation.wording import duration_text
from sfcperf.results.runs import list_runs
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.plan import workflow_s


@dataclass
class Measuring:
    """One call of `make papers`."""

    work: Path
    """Folder of run folders, each below the name of its workflow."""
    kept: Path
    """Folder of the packages."""
    after_each: Callable[[], object]
    """Called after each package that was written."""
    overrides: Sequence[str] = ()
    """Options for all workflows, as those of `sfcperf run --set`."""
    force: bool = False
    """Whether what is kept is measured again."""
    limit_s: float | None = None
    """Time in which no workflow is begun that would end later, seconds; None: no limit."""
    _began: float = field(default_factory=time.monotonic)
    _ends: dict[str, list[str]] = field(
        default_factory=lambda: {"kept": [], "skipped": [], "not run": []}
    )
    """What became of the workflows so far -> their names, with the reason of those not run."""
    _failed: bool = False

    def all(self, chosen: Sequence[Experiment]) -> int:
        """Measure the experiments; return the exit code: 1 if one could not be measured or kept.
        Raises InterruptedRun after a signal."""
        for experiment in chosen:
            begun = time.monotonic()
            try:
                end, text = self._one(experiment)
            except InterruptedRun:
                self._ends["not run"].append(f"{experiment.name} (interrupted)")
                self._tell()
                raise
            except Exception as error:  # whatever it is, the others are measured
                self._failed = True
                end, text = "not run", f"exit code {exit_code_of(error)}"
            took = duration_text(time.monotonic() - begun)
            say(f"papers: {experiment.name}: {end}: {text} ({took})")
            self._ends[end].append(
                f"{experiment.name} ({text})" if end == "not run" else experiment.name
            )
        self._tell()
        return ExitCode.SOME_TRIALS_BAD if self._failed else ExitCode.OK

    def _one(self, experiment: Experiment) -> tuple[str, str]:
        """Measure and keep one experiment; return what became of it, and a text about that."""
        kept = Kept(experiment, self.kept)
        if not self.force and kept.is_current(self.overrides):
            return "skipped", f"{kept.path} is of this workflow"
        workflow = experiment.loaded(self.overrides)
        folder = self.work / experiment.name
        found = _latest(folder, workflow.document)
        if found is not None and _is_done(found) and self.force:
            found = None
        left_s = self._left_s()
        needed_s = workflow_s(workflow) * (1 - _share_done(found))
        if left_s is not None and needed_s > left_s:
            needed, left = duration_text(needed_s), duration_text(max(0, left_s))
            return "not run", f"takes {needed}, and {left} are left"
        if found is None or not _is_done(found):
            code, found = self._measured(experiment, workflow, folder, found)
            if code not in (ExitCode.OK, ExitCode.SOME_TRIALS_BAD):
                self._failed = True
                return "not run", f"exit code {code}"
        planned = duration_text(workflow_s(workflow))
        return "kept", f"{self._keep(kept, found)}, planned {planned}"

    def _measured(
        self, experiment: Experiment, workflow: Workflow, folder: Path, found: RunStore | None
    ) -> tuple[int, RunStore]:
        """Begin a run, or resume `found`; return the exit code and the run. Raises SfcperfError."""
        if found is not None:
            say(f"papers: {experiment.name}: resuming {found.folder}")
            command = ["sfcperf", "resume", found.folder.name]
            resume = partial(control.resume, found.folder)
            return int(executed(resume, quiet=False, command=command)), found
        is_shipped = experiment.file.resolve() in {file.resolve() for file in shipped().values()}
        name = experiment.name if is_shipped else str(experiment.file)
        options = [word for option in self.overrides for word in ("--set", option)]
        begin = partial(control.start, workflow, folder, source=experiment.document)
        say(f"papers: {experiment.name}: planned {duration_text(workflow_s(workflow))}")
        code = executed(begin, quiet=False, command=["sfcperf", "run", name, *options])
        store = _latest(folder, workflow.document)
        assert store is not None
        return int(code), store

    def _keep(self, kept: Kept, store: RunStore) -> str:
        """Pack a run, and check the package; return a text about it. Raises SfcperfError."""
        size = kept.write(store)
        self.after_each()
        text = f"{kept.path}, {size / 1024:.0f} KiB"
        if size > MAX_BYTES:
            self._failed = True
            text += f", more than {MAX_BYTES / 1024:.0f} KiB: do not commit it"
        if not verify(kept.path).holds:
            self._failed = True
            text += f", but `sfcperf verify {kept.path}` fails"
        return text

    def _left_s(self) -> float | None:
        """Return the seconds that are left; None without a limit."""
        if self.limit_s is None:
            return None
        return self.limit_s - (time.monotonic() - self._began)

    def _tell(self) -> None:
        """Say what became of all workflows."""
        for end, names in self._ends.items():
            say(f"papers: {end}: {', '.join(names) or 'none'}")


def _latest(folder: Path, document: Mapping[str, object]) -> RunStore | None:
    """Return the run of this workflow (with its options) that began last; None without one."""
    runs = list_runs(folder) if folder.is_dir() else []
    stores = [RunStore.open(run.folder) for run in reversed(runs) if run.damage is None]
    return next((store for store in stores if store.workflow()[0] == document), None)


def _is_done(store: RunStore) -> bool:
    manifest = store.manifest()
    return (manifest["status"], manifest["state"]) == ("complete", "done")


def _share_done(store: RunStore | None) -> float:
    """Return which share of its trials a run has, at most 1; 0 without a run."""
    if store is None:
        return 0
    planned = int(store.plan()["trials"])
    return min(1.0, len(store.trials()) / max(1, planned))
