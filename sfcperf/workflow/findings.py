"""Findings: everything that is wrong with a workflow, told at once, so that it is mended once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from sfcperf.errors import WorkflowError

_MOST = 20
"""No one reads more at a time."""


class Findings:
    """Collects what is wrong; the same thing is kept once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str | None, str], WorkflowError] = {}

    def add(
        self, where: str, message: str, *, allowed: str | None = None, hint: str | None = None
    ) -> None:
        """Note a finding; `where` is a JSON pointer into the user's document."""
        error = WorkflowError(message, where=where, allowed=allowed, hint=hint)
        self._found.setdefault((where, message), error)

    def take(self, error: WorkflowError) -> None:
        """Note what an error says, with its others."""
        for finding in (error, *error.others):
            self._found.setdefault((finding.where, finding.message), finding)

    def __iter__(self) -> Iterator[WorkflowError]:
        """Findings in the order in which they were made."""
        return iter(self._found.values())

    def __bool__(self) -> bool:
        return bool(self._found)

    def raise_any(self) -> None:
        """Raise WorkflowError when there is a finding: the first one, the rest in `others`."""
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
    """A hint when `given` looks like one of the known names."""
    close = get_close_matches(str(given), list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else None


def listing(known: Iterable[object], *, most: int = 30) -> str:
    """Names as text, shortened when there are many."""
    names = [str(name) for name in known]
    shown = ", ".join(names[:most])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > most else shown or "none"
