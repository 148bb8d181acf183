"""The process that runs a replay: it shows a workflow, and executes the same object.

A process of its own, so that plug-ins from a package are imported there, and never by the `sfcperf`
that was asked for it. It ends when that one does, however that comes: nobody would stop it
otherwise.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.package.replay.spec import ReplaySpec

if TYPE_CHECKING:
    from sfcperf.control.events import Listener
    from sfcperf.control.session import Outcome
    from sfcperf.workflow.model import Workflow


def run(spec: ReplaySpec) -> int:
    """Start or resume the replay, and write the path of its run folder to the file `spec.answer`.
    Return the exit code that `sfcperf run` would have."""
    from sfcperf import plugins
    from sfcperf.cli.outcome import counts_text, failures, warnings
    from sfcperf.cli.terminal.lines import say
    from sfcperf.cli.terminal.progress import progress
    from sfcperf.package.replay.describe import module_lines
    from sfcperf.package.replay.finder import PackageFinder

    _check_unchanged(spec)
    modules = spec.packaged_modules()
    if not spec.quiet:
        say("\n".join(["executing", *module_lines(modules)]))
    sys.meta_path.insert(0, PackageFinder(modules, Path(spec.kept)))
    answer = Path(spec.answer)
    points = [point for module in modules for point in module.points()]
    with plugins.further(points), progress(quiet=spec.quiet) as listener:
        # The parent learns the run folder at once, whichever display there is.
        show_start = listener.started

        def started(folder: Path, trials: int, done: int, planned_s: float) -> None:
            answer.write_bytes(os.fsencode(folder))
            show_start(folder, trials, done, planned_s)

        listener.started = started  # type: ignore[method-assign]
        outcome = _resume(spec, listener) if spec.resume is not None else _start(spec, listener)
    answer.write_bytes(os.fsencode(outcome.store.folder))
    trials = outcome.store.trials()
    for line in (*failures(trials), *warnings(trials)):
        say(line)
    if not spec.quiet:
        say(counts_text(outcome.trials))
    return int(outcome.exit_code)


def _start(spec: ReplaySpec, listener: Listener) -> Outcome:
    """Start a new run of the packaged workflow, which may only use files in `spec.kept`."""
    from sfcperf.control import run as control
    from sfcperf.results.campaigns import Repeat
    from sfcperf.workflow.load import load_document

    kept = Path(spec.kept)
    document = json.loads(spec.document)
    workflow = load_document(document, kept / spec.base, within=kept)
    _show(spec, workflow)
    return control.start(
        workflow,
        Path(spec.results),
        command=spec.command,
        listener=listener,
        source=spec.source,
        repeat=None if spec.repeat is None else Repeat(**spec.repeat),
    )


def _resume(spec: ReplaySpec, listener: Listener) -> Outcome:
    """Continue the replay with the workflow in its run folder: the options were applied to it when
    the replay began."""
    from sfcperf.control import run as control

    return control.resume(
        Path(str(spec.resume)),
        command=spec.command,
        listener=listener,
        loaded=lambda workflow: _show(spec, workflow),
    )


def _show(spec: ReplaySpec, workflow: Workflow) -> None:
    """Show the workflow that is executed next, from the very object that is executed."""
    from sfcperf.cli.terminal.lines import say
    from sfcperf.package.replay.describe import workflow_lines

    if not spec.quiet:
        say("\n".join([f"workflow {workflow.name}", *workflow_lines(workflow)]))


def _check_unchanged(spec: ReplaySpec) -> None:
    """Raise InputError when the workflow or a file of the package is not what was shown."""
    from sfcperf.errors import InputError
    from sfcperf.package.archive import hash_file
    from sfcperf.package.replay.describe import digest

    if digest(spec.document) != spec.sha256:
        raise InputError("the workflow is not the one that was shown", where=spec.answer)
    for name, sha256 in spec.files.items():
        path = Path(spec.kept) / name
        if path.is_symlink() or not path.is_file() or hash_file(path).sha256 != sha256:
            raise InputError("this file is not as in the package", where=str(path))


def main() -> None:
    """Read the specification, run it, exit as the `sfcperf` command does."""
    from sfcperf.cli.failures import exit_code_after
    from sfcperf.cli.terminal.escaping import escaped_streams
    from sfcperf.cli.terminal.streams import tolerant_streams

    with tolerant_streams(), escaped_streams():
        code = exit_code_after(_run_given)
    sys.exit(code)


def _run_given() -> int:
    """Run the replay whose specification is in the file that the first argument names; return the
    exit code."""
    spec = ReplaySpec(**json.loads(Path(sys.argv[1]).read_text()))
    _end_with(spec.parent)
    return run(spec)


def _end_with(parent: int) -> None:
    """Let this process end in order as soon as the parent is gone. Raises Interrupted when it is
    gone already."""
    from sfcperf.control.interrupts import Interrupted
    from sfcperf.environment.parent import end_with

    if not end_with(parent, signal.SIGTERM):
        raise Interrupted("the process that asked for the replay is gone")
