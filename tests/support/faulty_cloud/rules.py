"""Rules: which requests meet which fault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from support.faulty_cloud.faults import Fault


@dataclass(frozen=True)
class Request:
    """What a client asked for."""

    service: str
    """Type in the catalogue: `identity`, `compute`, `network`, `image`, ..."""
    method: str
    path: str
    """Without the query."""


@dataclass(frozen=True)
class Rule:
    """A fault, and the requests that meet it: by default the first one of its sort."""

    fault: Fault
    service: str
    method: str
    path: str
    """Regular expression that is searched for in the path."""
    nth: int = 1
    """The first that meets it, counted from 1 over the requests of this sort."""
    times: int | None = 1
    """How many of them in a row; None: all from there on."""

    def concerns(self, request: Request) -> bool:
        """Whether the request is of this sort."""
        return (self.service, self.method) == (request.service, request.method) and re.search(
            self.path, request.path
        ) is not None


@dataclass
class Script:
    """The rules in force. One thread asks; others may read."""

    rules: Sequence[Rule] = ()
    _met: dict[int, int] = field(default_factory=dict)
    _fired: dict[int, int] = field(default_factory=dict)

    def fault_of(self, request: Request) -> Fault | None:
        """Of the first rule whose turn it is. The request counts for every rule that it concerns,
        so that several rules for one call fire one after another."""
        fault = None
        for index, rule in enumerate(self.rules):
            if not rule.concerns(request):
                continue
            count = self._met[index] = self._met.get(index, 0) + 1
            due = rule.nth <= count and (rule.times is None or count < rule.nth + rule.times)
            if due and fault is None:
                fault = rule.fault
                self._fired[index] = self._fired.get(index, 0) + 1
        return fault

    @property
    def silent(self) -> list[Rule]:
        """Rules that have not fired as often as they should."""
        return [
            rule
            for index, rule in enumerate(self.rules)
            if self._fired.get(index, 0) < (rule.times or 1)
        ]
