"""Findings: all errors of a workflow, collected so that the user can correct them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from sfcperf.errors import WorkflowError
from sfcperf.workflow import pointer

_MOST = 20
"""Errors that are shown at a time."""


@dataclass(frozen=True)
class Misfit:
    """A value that does not fit its schema."""

    path: pointer.Path
    """Relative to the validated value."""
    message: str
    allowed: str | None = None
    hint: str | None = None


class Findings:
    """Collects errors, each once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str | None, str], WorkflowError] = {}

    def add(
        self, where: str, message: str, *, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Add an error; `where` is a JSON pointer into the user's document."""
        error = WorkflowError(message, where=where, allowed=allowed, hint=hint)
        self._found.setdefault((where, message), error)

    def add_at(
        self, path: pointer.Path, message: str, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Add an error at a path of the user's document."""
        self.add(pointer.to_pointer(path), message, allowed=allowed, hint=hint)

    def add_misfits(self, found: Iterable[Misfit], at: pointer.Path = ()) -> None:
        """Add misfits of the value at a path of the user's document."""
        for misfit in found:
            self.add_at((*at, *misfit.path), misfit.message, misfit.allowed, misfit.hint)

    def add_error(self, error: WorkflowError) -> None:
        """Add an error with its others."""
        for finding in (error, *error.others):
            self._found.setdefault((finding.where, finding.message), finding)

    def __iter__(self) -> Iterator[WorkflowError]:
        """Errors in the order in which they were added."""
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raise WorkflowError if there is any: the first one, with the rest in `others`."""
        if not self._found:
            return
        first, *others = self._found.values()
        raise WorkflowError(
            first.message,
            where=first.where,
            allowed=first.allowed,
            hint=first.hint,
            others=tuple(others[: _MOST - 1]),
        )


def did_you_mean(given: object, known: Iterable[str]) -> str | None:
    """A hint if `given` looks like one of the known names."""
    close = get_close_matches(str(given), list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def listing(known: Iterable[object], *, most: int = 30) -> str:
    """Names as text, shortened if there are many."""
    names = [str(name) for name in known]
    shown = ", ".join(names[:most])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > most else shown or "none"
