"""Findings: collects all errors of a workflow, so that the user can correct them together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypedDict

from sfcperf.errors import WorkflowError
from sfcperf.workflow.document import pointer

MOST = 50
"""Most errors that are kept and shown; further ones are only counted."""
_MOST_NAMES = 30


@dataclass(frozen=True)
class SchemaViolation:
    """A value that does not fit its schema."""

    path: pointer.Path
    """Path of the value, relative to the validated value."""
    message: str
    allowed: str | None = None
    hint: str | None = None


class Findings:
    """Collects errors; one that is added twice is kept once. A step of loading adds what it finds;
    `raise_any` ends the loading where the next step needs what is missing."""

    def __init__(self) -> None:
        self._found: dict[tuple[str | None, str], WorkflowError] = {}
        """Place and message -> error."""
        self._more = 0
        """Number of errors beyond `MOST`, which are only counted."""

    def add(
        self,
        where: str | pointer.Path,
        message: str,
        allowed: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Add an error. `where` is a path in the user's document, or a JSON pointer into it."""
        where = where if isinstance(where, str) else pointer.to_pointer(where)
        self.add_error(WorkflowError(message, where=where, allowed=allowed, hint=hint))

    def add_misfits(self, found: Iterable[SchemaViolation], at: pointer.Path = ()) -> None:
        """Add misfits (`Validator.misfits`) of the value that is at path `at` of the user's
        document."""
        for misfit in found:
            self.add((*at, *misfit.path), misfit.message, misfit.allowed, misfit.hint)

    def add_error(self, error: WorkflowError) -> None:
        """Add an error together with its `others`."""
        for finding in error.all:
            key = (finding.where, finding.message)
            if key not in self._found and self.are_many:
                self._more += 1
            else:
                self._found.setdefault(key, finding)
        self._more += error.more

    @property
    def are_many(self) -> bool:
        """Whether so many errors were found that it makes no sense to look for more."""
        return len(self._found) >= MOST

    def __iter__(self) -> Iterator[WorkflowError]:
        """Errors in the order in which they were added."""
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def error(self) -> WorkflowError:
        """The first error, with the rest in `others`; there must be one."""
        first, *others = self._found.values()
        return WorkflowError(
            first.message,
            where=first.where,
            allowed=first.allowed,
            hint=first.hint,
            others=tuple(others),
            more=self._more,
        )

    def raise_any(self) -> None:
        """Raise all errors as one WorkflowError, if there are any."""
        if self._found:
            raise self.error()


class Choices(TypedDict):
    """Arguments of an error about an unknown name: the known names, and a hint."""

    allowed: str
    hint: str | None


def choices(value: object, known: Collection[str]) -> Choices:
    """Name the known names, and the one that `value` is most like."""
    return Choices(allowed=listing(known), hint=did_you_mean(value, known))


def did_you_mean(value: object, known: Iterable[str]) -> str | None:
    """Hint at the known name that `value` is like; None if it is like none."""
    close = get_close_matches(str(value), list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def listing(known: Iterable[object]) -> str:
    """Join names to a text; if there are many, only the first ones and their number."""
    names = [str(name) for name in known]
    shown = ", ".join(names[:_MOST_NAMES])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > _MOST_NAMES else shown or "none"
