"""Errors that people read, and the exit codes of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """Exit codes of the `sfcperf` command, which are part of its contract. After a run, 0 and 1 say
    how the trials went."""

    OK = 0
    SOME_TRIALS_BAD = 1
    BAD_INPUT = 2
    ENVIRONMENT = 3
    INTERNAL = 4
    CANNOT_DECIDE = 5
    """`compare --fail-on` or `claims --fail-on` has too few trials for the verdict that was asked
    for, whatever they measured."""
    INTERRUPTED = 130


class SfcperfError(Exception):
    """An error meant for the user.

    `message` says what was wrong, `where` the place (a JSON pointer such as
    `/chain/functions/0`, a file, a command), `allowed` what would be accepted, `hint` what to do.
    """

    exit_code = ExitCode.INTERNAL

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.allowed = allowed
        self.hint = hint

    def as_kind(
        self,
        kind: type[SfcperfError],
        context: str = "",
        *,
        where: str | None = None,
        hint: str | None = None,
    ) -> SfcperfError:
        """Return the same error as one of class `kind`, with `context: ` before the message.
        `where` and `hint` replace those of this error, if they are given."""
        message = f"{context}: {self.message}" if context else self.message
        place, advice = where or self.where, hint or self.hint
        return kind(message, where=place, allowed=self.allowed, hint=advice)

    def lines(self) -> list[str]:
        """The error as lines of text, the most important first."""
        # The empty JSON pointer names the document itself; as text it would be invisible.
        where = "the whole document" if self.where == "" else self.where
        # A function's host often has its name, with which the message begins already.
        known = where is None or self.message.startswith(f"{where}: ")
        head = self.message if known else f"{where}: {self.message}"
        lines = [head]
        if self.allowed:
            lines.append(f"allowed: {self.allowed}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return lines

    def __str__(self) -> str:
        return "; ".join(self.lines())


class InputError(SfcperfError):
    """The user's input (workflow, option, run folder) is wrong; nothing was created."""

    exit_code = ExitCode.BAD_INPUT


class WorkflowError(InputError):
    """A workflow is wrong; `where` is a JSON pointer (`""` is the document itself).

    Further findings are in `others`, so that a user mends the file once. `more` is the number of
    those that are not even there, because there are too many.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        allowed: str | None = None,
        hint: str | None = None,
        others: tuple[WorkflowError, ...] = (),
        more: int = 0,
    ) -> None:
        super().__init__(message, where=where, allowed=allowed, hint=hint)
        self.others = others
        self.more = more

    @property
    def all(self) -> tuple[WorkflowError, ...]:
        """This finding and those in `others`."""
        return (self, *self.others)


class EnvironmentLacks(SfcperfError):
    """The machine or the infrastructure lacks something; `hint` says what to install."""

    exit_code = ExitCode.ENVIRONMENT


class DeploymentError(SfcperfError):
    """A chain could not be built, or is not traversed as asked: its trials fail."""


class MeasurementError(SfcperfError):
    """A probe or a monitor could not do its work: the trial fails and is retried."""


class CannotBeMeasured(MeasurementError):
    """The chain does not allow this measurement: the trial fails, and is not retried, since that
    would fail as well."""


class InterruptedRun(SfcperfError):
    """The user or the system asked the run to stop."""

    exit_code = ExitCode.INTERRUPTED


@contextmanager
def errors_as(
    kind: type[SfcperfError],
    *kinds: type[SfcperfError],
    context: str = "",
    where: str | None = None,
) -> Iterator[None]:
    """Turn an error of one of `kinds` into one of `kind` while the block lasts; see
    SfcperfError.as_kind."""
    try:
        yield
    except kinds as error:
        raise error.as_kind(kind, context, where=where) from error


@contextmanager
def system_errors_as(
    kind: type[SfcperfError],
    message: str,
    *,
    where: str | Path | None,
    hint: str | None = None,
    prefer_filename: bool = False,
) -> Iterator[None]:
    """Turn an OSError into an error of this kind while the block lasts; its text is `message` and
    what the system says. With `prefer_filename`, its place is the file that the system names, if it
    names one."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        if prefer_filename and error.filename is not None:
            where = error.filename
        place = None if where is None else str(where)
        raise kind(f"{message}: {reason}", where=place, hint=hint) from error
