"""Caller: an agent as the objects see it that stand for what it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from sfcperf.hosts.agent.output import SpawnedProcess

P = ParamSpec("P")
T = TypeVar("T")


class Caller(Protocol):
    """Calls functions on a machine; see Agent."""

    name: str
    """Of the machine."""

    def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function there."""

    def stream(self, spawned: SpawnedProcess, note: Callable[[Any], None]) -> object:
        """Have `note` called with what a spawned process prints, and with its end."""
