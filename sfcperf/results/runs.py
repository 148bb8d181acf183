"""The runs in a results folder, as `sfcperf runs` lists them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.campaigns import Repeat
from sfcperf.results.manifest import counts
from sfcperf.results.store import RunFile, RunStore

_ANOTHER = "`--results DIR` names another folder"


@dataclass(frozen=True)
class RunInfo:
    """Summary of a run folder."""

    folder: Path
    run_id: str
    name: str
    """Name of the workflow; empty for a damaged folder."""
    status: str
    """Status in run.json (`running` also for a killed run), or `damaged`."""
    started_at: str
    """ISO 8601, UTC; empty for a damaged folder."""
    valid: int
    """Number of valid trials in trials.jsonl; the next two fields count the others."""
    untrusted: int
    failed: int
    damage: str | None = None
    """Why the folder is damaged; None if it is not."""
    repeat: Repeat | None = None
    """Its place in a campaign; None if it belongs to none."""


def list_runs(results: Path) -> list[RunInfo]:
    """Return the run folders in `results`, oldest first, then damaged ones. Other folders and files
    are ignored. Raises InputError if `results` cannot be listed."""
    with system_errors_as(
        InputError,
        "the results folder cannot be read",
        where=results,
        hint=_ANOTHER,
    ):
        folders = sorted(path for path in results.iterdir() if _is_run(path))
    runs = [_info(folder) for folder in folders]
    return sorted(runs, key=lambda run: (run.damage is not None, run.started_at))


def latest_run(results: Path) -> Path:
    """Return the folder of the run that began last; damaged ones are passed over. Raises InputError
    if there is none, or if `results` cannot be listed."""
    begun: dict[str, Path] = {}
    with system_errors_as(InputError, "the results folder cannot be read", where=results):
        for folder in filter(_is_run, results.iterdir()):
            with suppress(InputError):
                begun[RunStore.open(folder).manifest()["started_at"]] = folder
    if not begun:
        raise InputError("there is no run here", where=str(results), hint=_ANOTHER)
    return begun[max(begun)]


def _is_run(path: Path) -> bool:
    """Whether a path is a run folder. One of these files is enough, as a run that was killed at its
    start lacks others."""
    return path.is_dir() and any(
        (path / name).exists()
        for name in (RunFile.MANIFEST, RunFile.WORKFLOW, RunFile.PLAN, RunFile.TRIALS)
    )


def _info(folder: Path) -> RunInfo:
    """Summarise a run folder; a damaged one as far as that is possible."""
    try:
        store = RunStore.open(folder)
        manifest = store.manifest()
        trials = counts(store.trials())
        return RunInfo(
            folder=folder,
            run_id=store.run_id,
            name=manifest["name"],
            status=manifest["status"],
            started_at=manifest["started_at"],
            valid=trials["valid"],
            untrusted=trials["untrusted"],
            failed=trials["failed"],
            repeat=Repeat.of_manifest(manifest),
        )
    except InputError as error:
        return RunInfo(folder, folder.name, "", "damaged", "", 0, 0, 0, damage=str(error))
