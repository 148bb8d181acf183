"""Opens the workflow, profile, run folder or campaign that the user named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.cli.arguments import LATEST
from sfcperf.cli.shipped import shipped
from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.campaigns import PREFIX, campaign_runs
from sfcperf.results.runs import latest_run
from sfcperf.results.store import RunStore
from sfcperf.workflow.document import did_you_mean, read_document
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow
from sfcperf.workflow.profile import Profile, read_profile

if TYPE_CHECKING:
    from sfcperf.figures.run_data import RunData


def read_workflow(
    name: str,
    overrides: Sequence[str] | None,
    driver: str | None,
    profile: str | None,
    repeat: int | None = None,
) -> tuple[Workflow, dict[str, Any]]:
    """Return a loaded workflow, and its document as it was read: without preset, profile, driver
    and overrides. `name` and `profile` are files, or names of shipped ones. `repeat` replaces the
    number of runs; None keeps it. Raises InputError, WorkflowError, EnvironmentLacks."""
    path = _file(name, shipped(), "workflow")
    document = read_document(path)
    loaded = load_document(
        document,
        path.resolve().parent,
        overrides=[*(overrides or ()), *([] if repeat is None else [f"design.runs={repeat}"])],
        driver=driver,
        profile=open_profile(profile),
    )
    return loaded, document


def open_profile(name: str | None) -> Profile | None:
    """Read a profile: a file, or a shipped one by its name. None if the user named none. Raises
    InputError, WorkflowError, EnvironmentLacks."""
    if name is None:
        return None
    return read_profile(_file(name, shipped("profiles"), "profile"))


def _file(name: str, known: Mapping[str, Path], what: str) -> Path:
    """Return the file with this path, or else the shipped one with this name. A folder that has the
    name of a shipped file does not hide it. Raises InputError for a name that is neither; `what`
    names the kind of file in the message."""
    path = Path(name)
    if name in known and not (_exists(path) and path.is_file()):
        return known[name]
    # With a folder or a suffix, the user meant a path: whoever reads it says what is wrong.
    if not _exists(path) and path.name == name and not path.suffix:
        raise InputError(
            f"no file and no shipped {what} has this name",
            where=name,
            allowed=", ".join(known) or None,
            hint=did_you_mean(name, known),
        )
    return path


def is_workflow(name: str, results: Path) -> bool:
    """Whether a name that may be of a run, a package or a workflow is of a workflow: a file, or a
    shipped one unless a run has its name. Raises InputError for a name of nothing."""
    path = Path(name)
    if _exists(path):
        return path.is_file() and path.suffix != ".zip"
    if name == LATEST or _exists(results / name):
        return False
    if name in shipped():
        return True
    raise InputError(
        "no run, package or workflow has this name",
        where=name,
        hint=did_you_mean(name, shipped())
        or "`sfcperf runs` lists runs, `sfcperf list workflows` the shipped workflows",
    )


def read_runs(name: str, results: Path) -> list[RunStore]:
    """Open the run that the user named, or all runs of a package (.zip), for a verb that only reads
    them. Raises InputError, EnvironmentLacks."""
    path = _run_path(name, results)
    if path.suffix == ".zip" and path.is_file():
        from sfcperf.cli.packaged_runs import packaged_runs

        return list(packaged_runs(path))
    return [RunStore.open(path)]


def read_run(name: str, results: Path) -> RunStore:
    """Open the one run that the user named, for a verb that only reads it. Raises InputError also
    for a package with several runs."""
    stores = read_runs(name, results)
    if len(stores) > 1:
        from sfcperf.package.opened import UNPACKING

        raise InputError(
            f"there are {len(stores)} runs in this package",
            where=name,
            allowed="one",
            hint=UNPACKING,
        )
    return stores[0]


def open_run(name: str, results: Path) -> RunStore:
    """Open a run folder that may be changed: by its path, or by its name in the results folder;
    `latest` is the run there that began last. Raises InputError, also for a package."""
    path = _run_path(name, results)
    if path.suffix == ".zip" and path.is_file():
        from sfcperf.package.opened import UNPACKING

        raise InputError("a package is read, not changed", where=name, hint=UNPACKING)
    return RunStore.open(path)


def _run_path(name: str, results: Path) -> Path:
    """Return the run folder or package that the user named: by its path, by its name in the results
    folder, or as `latest`. Raises InputError if there is none."""
    path = Path(name)
    if not _exists(path) and path.name == name:
        path = results / name
        if name == LATEST and not _exists(path):
            path = latest_run(results)
    if not _exists(path):
        raise InputError(
            "no such run", where=name, hint="`sfcperf runs` lists the runs in --results"
        )
    return path


def is_campaign(name: str) -> bool:
    """Whether the user named a campaign, as `ID` or `RESULTS/ID`, and no folder."""
    path = Path(name)
    return path.name.startswith(PREFIX) and not path.exists()


def campaign_of(name: str, results: Path) -> tuple[Path, list[RunStore]]:
    """Return the results folder and the runs of a campaign. Raises InputError if there are none."""
    path = Path(name)
    folder = results if path.name == name else path.parent
    stores = campaign_runs(folder, path.name)
    if not stores:
        raise InputError(
            "no run of this campaign is in the results folder",
            where=name,
            hint="`sfcperf runs` lists the runs in --results",
        )
    return folder, stores


def _exists(path: Path) -> bool:
    """Whether a path exists. Raises InputError if that cannot be determined: the name is too long,
    or a parent folder is not readable."""
    with system_errors_as(InputError, "cannot be read", where=path):
        return path.exists()


def open_runs(names: Sequence[str], results: Path, labels: Sequence[str] | None) -> list[RunData]:
    """Open runs, each with the label under which it is shown (see `given_labels`). A package (.zip)
    stands for all its runs. Raises InputError."""
    from sfcperf.figures.run_data import label_runs

    stores = [store for name in names for store in read_runs(name, results)]
    return label_runs(stores, given_labels(labels or ()))


def given_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return the labels that a user gave, by what they label: a letter (A for the first run or
    side) or a name. `labels` are `A=text`, `NAME=text`, or just texts, in the order of the runs or
    sides. Raises InputError."""
    from sfcperf.figures.run_data import letter_of

    options = {}
    for number, entry in enumerate(labels):
        key, equals, text = entry.partition("=")
        if not equals:
            key, text = letter_of(number), entry
        if not key.strip() or not text.strip():
            raise InputError(
                f"{entry!r} is not a label", where="--label", allowed="text, A=text, RUN-ID=text"
            )
        options[key.strip()] = text.strip()
    return options
