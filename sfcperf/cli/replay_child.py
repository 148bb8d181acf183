"""The process that runs a replay: `python -m sfcperf.cli.replay_child SPEC`.

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
from pathlib import Path

from sfcperf.package.replay_spec import ReplaySpec

_PR_SET_PDEATHSIG = 1


def run(spec: ReplaySpec) -> int:
    """Run or resume; gives the exit code of `sfcperf run`."""
    from sfcperf.cli.outcome import counts_text, warnings
    from sfcperf.cli.progress import progress, say
    from sfcperf.control import run as control
    from sfcperf.results.campaigns import Repeat
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
                repeat=None if spec.repeat is None else Repeat(**spec.repeat),
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
        spec = ReplaySpec(**json.loads(Path(sys.argv[1]).read_text()))
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
