"""The workflow of a packaged run as a replay executes it: loaded, with all options applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf import plugins
from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.package import layout
from sfcperf.package.opened import Package
from sfcperf.package.read_json import MAX_WORKFLOW_BYTES
from sfcperf.package.replay.describe import workflow_lines
from sfcperf.package.replay.packaged import PackagedModule, listed_files, packaged_modules
from sfcperf.package.replay.prepared import PreparedReplay
from sfcperf.package.replay.spec import ReplayOptions
from sfcperf.package.replay.stand_ins import stand_ins
from sfcperf.results.provenance import plugins_of
from sfcperf.results.store import RunFile, RunStore
from sfcperf.workflow.document.reader import parse
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Workflow


def prepare(package: Package, packaged: RunStore, options: ReplayOptions) -> PreparedReplay:
    """Load a packaged run's workflow; executes nothing of the package, and opens no file outside
    it. Raises InputError or WorkflowError when it cannot be replayed, EnvironmentLacks when a
    plug-in that is installed here does not import."""
    document = _document(packaged)
    values = {key: value for key, value in document.items() if key != "analyses"}
    # Analyses may need files, and publishers servers, that only the author has.
    values["publish"] = [{"to": "report"}]
    listed = listed_files(package.folder)
    modules = packaged_modules(package, listed)
    folder = package.folder.resolve()
    own = f"{layout.WORKFLOW_FILES}/{packaged.folder.name}"
    files = {name: sha256 for name, sha256 in listed.items() if name.startswith(f"{own}/")}
    base = package.base(packaged)
    if not base.is_relative_to(folder / own):
        # The workflow came without files: this folder does not exist, so that no path finds any.
        base = folder / own
    with plugins.further(stand_ins(modules, package.folder, packaged.manifest())):  # type: ignore[arg-type]
        workflow = load_document(
            values,
            base,
            overrides=options.overrides,
            driver=options.driver,
            profile=options.profile,
            within=folder / own,
        )
        shown = tuple(workflow_lines(workflow))
        used = [module for module in modules if _provides(module, workflow)]
    for module in used:
        files |= module.files  # now: all files of the package that the replay reads
    unused = tuple(module for module in modules if module not in used)
    start = base.relative_to(folder).as_posix()
    return PreparedReplay(packaged, values, workflow, start, tuple(used), unused, files, shown)


def _document(packaged: RunStore) -> Mapping[str, Any]:
    """Read the workflow as the packaged run executed it. Raises InputError."""
    path = packaged.folder / RunFile.WORKFLOW_APPLIED
    content = read_input(path, "the packaged workflow", max_bytes=MAX_WORKFLOW_BYTES)
    try:
        document = parse(content.decode(), path.name)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: byte {error.start}", where=path.name) from None
    if not isinstance(document, dict):
        raise InputError("a workflow is a JSON object", where=path.name, allowed="{...}")
    return document


def _provides(module: PackagedModule, workflow: Workflow) -> bool:
    """Whether the workflow uses a plug-in of the module, and not one from elsewhere that has the
    same name. Call it while the module's plug-ins are available (`plugins.further`)."""
    provided = {(kind, name) for kind, name, _ in module.plugins}
    return any(
        plugins.package(kind, name) == (module.distribution, module.version)
        for kind, name in provided & set(plugins_of(workflow))
    )


def chosen_runs(package: Package, names: Sequence[str]) -> list[RunStore]:
    """Return the runs with these ids, or all runs of the package if there are no ids. Raises
    InputError for an unknown id."""
    known: Mapping[str, RunStore] = {
        run["run_id"]: store
        for run, store in zip(package.document["runs"], package.runs, strict=True)
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            f"the package has no run {unknown[0]!r}", where="--only", allowed=", ".join(known)
        )
    return [known[name] for name in names] or list(known.values())
