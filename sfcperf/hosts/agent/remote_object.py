"""RemoteObject: what stands here for an object that an agent keeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import getattr_static
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.agent import serving
from sfcperf.hosts.agent.caller import Caller

_PACKAGE = "sfcperf."


class RemoteObject:
    """Stands for an object that an agent keeps: its attributes are read there, and its methods
    called."""

    _agent: Caller
    _number: int

    def __getattr__(self, name: str) -> Any:
        """Read an attribute of the object."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._agent.call(getattr, self, name)


def remote_object(agent: Caller, number: int, module: str, name: str) -> Any:
    """Return what stands for the object of this number, an instance of a subclass of its class.
    Raises MeasurementError if its class is none of this package."""
    kind = getattr(import_module(module), name, None) if module.startswith(_PACKAGE) else None
    if not isinstance(kind, type):
        raise MeasurementError(f"{agent.name} refers to an object of {module}.{name}")
    kept: Any = object.__new__(_forwarding(kind))
    kept._agent, kept._number = agent, number
    return kept


@cache
def _forwarding(kind: type) -> type:
    """Return a subclass of `kind` whose public methods and properties are the agent's."""
    members: dict[str, Any] = {}
    for name in dir(kind):
        if name.startswith("_"):
            continue
        if isinstance(getattr_static(kind, name), property):
            members[name] = property(_reading(name))
        elif callable(getattr(kind, name)):
            members[name] = _calling(name)
    return type(kind.__name__, (RemoteObject, kind), members)


def _reading(name: str) -> Callable[[RemoteObject], Any]:
    return lambda self: self._agent.call(getattr, self, name)


def _calling(name: str) -> Callable[..., Any]:
    def method(self: RemoteObject, *arguments: Any, **keywords: Any) -> Any:
        return self._agent.call(serving.method, self, name, *arguments, **keywords)

    return method
