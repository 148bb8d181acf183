"""Messages between an agent and the process that calls it: pickles of plain values. Other objects
stay where they are, and messages refer to them.

Everything but numbers, text, bytes and containers of them is a persistent id of the pickle: a tuple
whose first element says what it is. So the reader decides what is made of it.
"""

from __future__ import annotations

import builtins
import io
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any

from sfcperf.errors import MeasurementError, SfcperfError

_CONTAINERS = (
    *(type(None), bool, int, float, str, bytes, bytearray, tuple, list, dict, set, frozenset),
)
_CALLABLE = (type, FunctionType, BuiltinFunctionType)
_PACKAGE = "sfcperf."
_PATH, _VALUE, _ENUM, _ERROR, _OBJECT = "path", "value", "enum", "error", "object"


def dumps(value: Any, refer: Callable[[Any], Any]) -> bytes:
    """Return a message. `refer` makes, of an object that is no plain value, a plain value that
    refers to it."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol=pickle.HIGHEST_PROTOCOL)
    pickler.refer = refer
    pickler.dump(value)
    return file.getvalue()


def loads(message: bytes, find: Callable[[Any], Any]) -> Any:
    """Read a message of somebody who may call any function here: the agent's caller. `find` returns
    the object to which a value of `refer` refers."""
    unpickler = _Unpickler(io.BytesIO(message))
    unpickler.find = find
    return unpickler.load()


def loads_values(message: bytes, find: Callable[[Any], Any]) -> Any:
    """Read a message of somebody who may call nothing here: the agent. It makes values, and
    instances of dataclasses, enums and errors of this package. Raises MeasurementError for anything
    else."""
    unpickler = _ValuesUnpickler(io.BytesIO(message))
    unpickler.find = find
    try:
        return unpickler.load()
    except Exception as error:
        raise MeasurementError(f"an agent's answer cannot be read: {error}") from error


class _Pickler(pickle.Pickler):
    refer: Callable[[Any], Any]

    def persistent_id(self, value: Any) -> Any:
        """Return what stands for a value; None if it is pickled as it is."""
        if type(value) in _CONTAINERS or isinstance(value, _CALLABLE):
            return None
        kind = type(value)
        name = (kind.__module__, kind.__qualname__)
        if isinstance(value, Path):
            return _PATH, str(value)
        if isinstance(value, Enum):
            return _ENUM, *name, value.name
        if isinstance(value, OSError):
            return _ERROR, *name, (value.errno, value.strerror, value.filename), {}
        if isinstance(value, BaseException):
            return _ERROR, *name, value.args, dict(value.__dict__)
        if is_dataclass(value):
            known = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
            return _VALUE, *name, known
        return _OBJECT, self.refer(value)


class _Unpickler(pickle.Unpickler):
    find: Callable[[Any], Any]

    def persistent_load(self, pid: Any) -> Any:
        """Return the value that a persistent id stands for. Raises pickle.UnpicklingError."""
        what, *rest = pid
        if what == _PATH:
            return Path(rest[0])
        if what == _OBJECT:
            return self.find(rest[0])
        kind = _class(rest[0], rest[1])
        if what == _ENUM and issubclass(kind, Enum):
            return kind[rest[2]]
        if what == _VALUE and is_dataclass(kind):
            return kind(**rest[2])
        if what == _ERROR and issubclass(kind, OSError):
            return kind(*rest[2])
        if what == _ERROR and issubclass(kind, SfcperfError):
            error = kind.__new__(kind)
            error.args = rest[2]
            error.__dict__.update(rest[3])
            return error
        raise pickle.UnpicklingError(f"{rest[0]}.{rest[1]} is no class of values")


class _ValuesUnpickler(_Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Refuse everything: a pickle could call it, or change it."""
        raise pickle.UnpicklingError(f"{module}.{name} is no value")


def _class(module: str, name: str) -> type:
    """Return a class of this package, or an error of the system. Raises pickle.UnpicklingError."""
    if module == "builtins":
        found = getattr(builtins, name, None)
    elif module.startswith(_PACKAGE):
        found = getattr(import_module(module), name, None)
    else:
        found = None
    # What a module only imported is not its own.
    if not isinstance(found, type) or found.__module__ != module:
        raise pickle.UnpicklingError(f"there is no class {module}.{name}")
    return found
