"""The process that runs a replay: `python -m sfcperf.package.child SPEC`.

A process of its own, so that plug-ins from a package are on the module search path of the replay
and never of the `sfcperf` that was asked for it. It ends when that one does, however that comes:
nobody would stop it otherwise.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Spec:
    """What to run. Written by `sfcperf.package.replay`, never by a package."""

    document: dict[str, Any]
    """The workflow."""
    base: str
    """Folder where its relative paths start."""
    overrides: list[str]
    driver: str | None
    profile: dict[str, Any] | None
    """Fields of a `workflow.profile.Profile`."""
    results: str
    resume: str | None
    """Run folder to go on with; None: a new run."""
    command: list[str]
    """To be recorded."""
    quiet: bool
    answer: str
    """File to write the run folder's path to."""
    parent: int
    """Process that waits for this one."""


def run(spec: Spec) -> int:
    """Run or resume; gives the exit code of `sfcperf run`."""
    from sfcperf.cli.outcome import counts_text, warnings
    from sfcperf.cli.progress import progress, say
    from sfcperf.control import run as control
    from sfcperf.workflow.load import load_document
    from sfcperf.workflow.profile import Profile

    answer = Path(spec.answer)

    with progress(quiet=spec.quiet) as listener:
        # Whatever is shown, the parent learns the folder at once.
        told = listener.started

        def started(folder: Path, trials: int, done: int) -> None:
            answer.write_text(str(folder))
            told(folder, trials, done)

        listener.started = started  # type: ignore[method-assign]
        if spec.resume is not None:
            outcome = control.resume(Path(spec.resume), command=spec.command, listener=listener)
        else:
            workflow = load_document(
                spec.document,
                Path(spec.base),
                overrides=spec.overrides,
                driver=spec.driver,
                profile=None if spec.profile is None else Profile(**spec.profile),
            )
            outcome = control.start(
                workflow,
                Path(spec.results),
                command=spec.command,
                listener=listener,
                given=spec.document,
            )
    answer.write_text(str(outcome.store.folder))
    for line in warnings(outcome.store.trials()):
        say(line)
    if not spec.quiet:
        say(counts_text(outcome.trials))
    return int(outcome.exit_code)


def main() -> None:
    """Read the specification, run it, exit as the `sfcperf` command does."""
    from sfcperf.cli.failures import exit_code_of, ignore_signals, signals_interrupt

    signals_interrupt()
    try:
        spec = Spec(**json.loads(Path(sys.argv[1]).read_text()))
        _end_with(spec.parent)
        code = run(spec)
    except BaseException as error:
        ignore_signals()
        code = exit_code_of(error)
    sys.exit(code)


def _end_with(parent: int) -> None:
    """SIGTERM, and so an orderly end, as soon as the parent is gone, also by SIGKILL: prctl(2),
    PR_SET_PDEATHSIG. Raises Interrupted when it is gone already."""
    from sfcperf.control.interrupts import Interrupted

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        raise Interrupted("the process that asked for the replay is gone")


if __name__ == "__main__":
    main()
