"""A campaign: several runs of one workflow, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf.cli.failures import exit_code_of
from sfcperf.cli.inputs import campaign_of
from sfcperf.cli.outcome import executed
from sfcperf.cli.terminal.lines import say
from sfcperf.control import run as control
from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks, InputError, InterruptedRun, SfcperfError
from sfcperf.presentation.attempts import attempts_text
from sfcperf.results.attempts import attempt_counts
from sfcperf.results.campaigns import Repeat, campaign_runs, campaigns_of, new_campaign
from sfcperf.results.store import RunStore
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.repeats import workflow_of_run


def start_campaign(
    workflow: Workflow, results: Path, *, source: Mapping[str, Any], quiet: bool
) -> int:
    """Measure all runs of a new campaign; return the worst exit code. Raises the error that stops
    the campaign."""
    repeat = Repeat(1, workflow.design.runs, new_campaign(workflow.name))
    todo = range(1, repeat.of + 1)
    with _telling_at_end(results, repeat.campaign, quiet=quiet):
        return max(_measure(workflow, results, repeat, todo, source=source, quiet=quiet))


def resume_campaign(name: str, results: Path, *, quiet: bool) -> int:
    """Continue the runs that did not end, and measure those that were not begun; return the worst
    exit code. Raises InputError if nothing is left to do, and the error that stops the campaign."""
    folder, stores = campaign_of(name, results)
    repeat = Repeat.of_manifest(stores[0].manifest())
    assert repeat is not None
    begun = {_repeat(store).index for store in stores}
    todo = [index for index in range(1, repeat.of + 1) if index not in begun]
    unfinished = [store for store in stores if not _is_done(store)]
    if not todo and not unfinished:
        raise InputError(
            "all runs of this campaign are complete; there is nothing to resume", where=name
        )
    first = stores[0]
    if todo and _repeat(first).index != 1:
        raise InputError(
            "the first run of the campaign is not there, whose workflow and seed the others need",
            where=name,
            hint="move it back into the results folder",
        )
    with _telling_at_end(folder, repeat.campaign, quiet=quiet):
        codes = [
            _measure_one(partial(control.resume, store.folder), quiet=quiet) for store in unfinished
        ]
        if todo:
            workflow, source = control.workflow_of(first), first.source_workflow()
            codes += _measure(
                workflow,
                folder,
                repeat,
                todo,
                source=source,
                quiet=quiet,
                command=first.manifest()["command"],
            )
    return max(codes)


def told_after(store: RunStore, *, quiet: bool) -> None:
    """After a single run was resumed, say how far its campaign is and what comes next; nothing if
    it belongs to none."""
    repeat = Repeat.of_manifest(store.manifest())
    if repeat is not None:
        _tell(store.folder.resolve().parent, repeat.campaign, quiet=quiet)


def _measure(
    workflow: Workflow,
    results: Path,
    repeat: Repeat,
    todo: Iterable[int],
    *,
    source: Mapping[str, Any],
    quiet: bool,
    command: Sequence[str] = (),
) -> list[int]:
    """Measure the runs with the numbers `todo`; return their exit codes. `command`: the command
    line that began the campaign; empty if that is this process."""
    codes = []
    for index in todo:
        if not quiet:
            say(f"run {index} of {repeat.of} of the campaign {repeat.campaign}")
        begin = partial(
            control.start,
            workflow_of_run(workflow, index),
            results,
            source=source,
            repeat=Repeat(index, repeat.of, repeat.campaign),
        )
        codes.append(_measure_one(begin, quiet=quiet, command=command))
    return codes


@contextmanager
def _telling_at_end(results: Path, campaign: str, *, quiet: bool) -> Iterator[None]:
    """At the end of the block, also after an error, say which runs of the campaign exist and what
    comes next."""
    try:
        yield
    except BaseException:
        _tell(results, campaign, quiet=quiet, stopped=True)
        raise
    _tell(results, campaign, quiet=quiet)


def _measure_one(begin: partial[Any], *, quiet: bool, command: Sequence[str] = ()) -> int:
    """Begin or continue one run, and return its exit code. A run that fails does not prevent the
    next one; an error that would stop all of them is raised."""
    try:
        return int(executed(begin, quiet=quiet, command=command))
    except (InputError, EnvironmentLacks, InterruptedRun):
        raise
    except SfcperfError as error:
        return int(exit_code_of(error))


def _tell(results: Path, campaign: str, *, quiet: bool, stopped: bool = False) -> None:
    """Say which runs of a campaign exist and what comes next, and keep the noise floor of complete
    ones. `stopped`: an error has stopped the campaign, so that this goes to stderr."""
    try:
        stores = campaign_runs(results, campaign)
    except InputError:
        # The results folder cannot be read, as it could not even be created: the error that stopped
        # the campaign says so.
        return
    if not stores:
        return
    repeat = _repeat(stores[0])
    done = [store for store in stores if _is_done(store)]
    if not stopped and len(done) >= 2:
        _keep_noise_floor(done, quiet=quiet)
    if quiet and not stopped:
        return
    out = say if stopped else print
    out(f"campaign {campaign}: {len(done)} of {count_text(repeat.of, 'run')} complete")
    for store in stores:
        failures = attempts_text(attempt_counts(store.trials()))
        state = f"{store.manifest()['status']}{failures and f'; {failures}'}"
        out(f"  run {_repeat(store).index}: {store.folder} ({state})")
    if len(done) < repeat.of:
        out(f"next: `sfcperf resume {_argument(results, campaign)}` continues it")
    else:
        out(f"next: {_comparison(results, campaign, stores[0])}")


def _keep_noise_floor(done: list[RunStore], *, quiet: bool) -> None:
    """Keep how much the runs differ as a noise floor of this machine, and say so. If that fails, it
    is only a warning: the runs are complete all the same."""
    from sfcperf.cli.noise_floor import keep

    try:
        path = keep(done)
    except SfcperfError as error:
        say(f"warning: {error}")
    else:
        if not quiet:
            print(f"noise floor of this machine: how the {len(done)} runs differ is kept in {path}")


def _comparison(results: Path, campaign: str, first: RunStore) -> str:
    """Return a command that compares the campaign: its variants; else the campaign with the one
    before, or with another one (`OTHER`) if it is the first. `first`: its first run."""
    manifest = first.manifest()
    where = "" if str(results) == "results" else f" --results {results}"
    if manifest.get("variants"):
        return f"`sfcperf compare {campaign}{where}` compares its variants"
    known = campaigns_of(results, manifest["name"])
    before = known[: known.index(campaign)]
    if before:
        return f"`sfcperf compare {before[-1]} {campaign}{where}`"
    return f"`sfcperf compare {campaign} OTHER{where}` compares it with the runs of a change"


def _argument(results: Path, campaign: str) -> str:
    """Return how a user names the campaign on the command line."""
    return campaign if str(results) == "results" else str(results / campaign)


def _is_done(store: RunStore) -> bool:
    """Whether all trials of a run were measured (`complete`) and its results published (`done`)."""
    manifest = store.manifest()
    return (manifest["status"], manifest["state"]) == ("complete", "done")


def _repeat(store: RunStore) -> Repeat:
    """Return the place of a run in its campaign. Call it only for runs of a campaign."""
    repeat = Repeat.of_manifest(store.manifest())
    assert repeat is not None
    return repeat
