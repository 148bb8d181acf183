"""Ends os-ken's parsing of messages that never end.

os-ken (4.2) believes what a message says of the lengths of its parts. A part of length 0 (in a
HELLO, 12 bytes) is read again and again: its thread uses a CPU and memory for ever. Each part is
read by `struct.unpack_from`, so the calls that a message takes are limited by its length.
"""

from __future__ import annotations

import struct
import sys
import threading
from types import ModuleType
from typing import Any

from os_ken.ofproto import ofproto_parser

_CALLS_PER_BYTE = 1
"""No message needs more calls: the shortest parts have 4 bytes, and take fewer calls than that."""
_LEAST_CALLS = 100


class EndlessMessage(Exception):
    """A message whose parts do not end."""


class _CallBudget(threading.local):
    """The calls that each thread may still make."""

    calls: float = float("inf")
    """Those for the message that the thread parses; infinite outside a message."""


_budget = _CallBudget()


def _unpack_from(*arguments: Any, **named: Any) -> tuple[Any, ...]:
    """Call struct.unpack_from. Raises EndlessMessage if the message has no calls left."""
    _budget.calls -= 1
    if _budget.calls < 0:
        raise EndlessMessage("it has more parts than bytes")
    return struct.unpack_from(*arguments, **named)


class _CountedStruct(ModuleType):
    """Stands in for the module `struct` in os-ken's parsers, and counts their calls of
    `unpack_from`."""

    def __getattr__(self, name: str) -> Any:
        return getattr(struct, name)


def bound() -> None:
    """Limit os-ken's parsing from now on. Harmless when called again."""
    counted = _CountedStruct("struct")
    counted.unpack_from = _unpack_from  # type: ignore[attr-defined]
    for name, module in list(sys.modules.items()):
        if name.startswith("os_ken.ofproto.") and getattr(module, "struct", None) is struct:
            module.struct = counted  # type: ignore[attr-defined]
    if ofproto_parser.msg is not _msg:
        ofproto_parser.msg = _msg


def _msg(datapath: Any, version: int, kind: int, size: int, xid: int, data: bytes) -> Any:
    """Parse a message within a budget of calls. Stands in for os-ken's own function."""
    _budget.calls = _CALLS_PER_BYTE * len(data) + _LEAST_CALLS
    try:
        return _parse(datapath, version, kind, size, xid, data)
    finally:
        del _budget.calls  # infinite again


_parse = ofproto_parser.msg
"""os-ken's own function."""
