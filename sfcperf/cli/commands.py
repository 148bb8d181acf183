"""The commands of the program, for what describes them: manual pages, the reference, tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfcperf.cli.app import click_command
from sfcperf.errors import ExitCode

EXIT_CODES = {
    ExitCode.OK: "Success; of a run: all trials are valid.",
    ExitCode.SOME_TRIALS_BAD: "Some trials failed or are untrusted; of `compare --fail-on`, "
    "`claims --fail-on`, `verify` and `replay`: a check failed.",
    ExitCode.BAD_INPUT: "Bad input; nothing was created.",
    ExitCode.ENVIRONMENT: "The environment lacks something; the message says what to install.",
    ExitCode.INTERNAL: "Internal error.",
    ExitCode.CANNOT_DECIDE: "Too few trials for a verdict of `compare --fail-on` or `claims "
    "--fail-on`, whatever was measured.",
    ExitCode.INTERRUPTED: "Interrupted; continue with `sfcperf resume`.",
}
"""What each exit code of the program means."""


def contexts() -> Iterator[Any]:
    """Yield the context (of click) of `sfcperf` and of each verb, in the order of `--help`; a group
    comes before its own verbs."""
    group = click_command()
    waiting = [group.context_class(group, info_name="sfcperf", **group.context_settings)]
    while waiting:
        context = waiting.pop(0)
        yield context
        waiting[:0] = [
            command.context_class(
                command, info_name=name, parent=context, **command.context_settings
            )
            for name, command in getattr(context.command, "commands", {}).items()
        ]
