"""tosca-parser without two of its imports, which no descriptor needs.

- Its reader of archives (CSAR) imports requests, and that urllib3, which opens a network socket to
  see whether this machine has IPv6. It takes as long as the parser itself.
- stevedore, by which it finds its own profiles, keeps a cache in the user's home.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any


@cache
def template_class() -> Any:
    """Import toscaparser.tosca_template.ToscaTemplate. Use it for documents, not for files: its
    reader of archives is left out."""
    with (
        _instead("toscaparser.prereq.csar", CSAR=None),
        _instead("stevedore", extension=_Stevedore),
    ):
        from toscaparser.tosca_template import ToscaTemplate
    return ToscaTemplate


@contextmanager
def _instead(name: str, **contents: Any) -> Iterator[None]:
    """Put a module with these contents in place of the one called `name` while the block lasts, so
    that imports inside get it."""
    known = sys.modules.get(name)
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(contents)
    try:
        yield
    finally:
        del sys.modules[name]
        if known is not None:
            sys.modules[name] = known


@dataclass(frozen=True)
class _Extension:
    """An entry point's name and what it loads, as stevedore gives them."""

    name: str
    plugin: type


class _Stevedore:
    """Stands in for stevedore.extension: it has the one class that tosca-parser uses."""

    class ExtensionManager:
        """Finds the extensions without stevedore's cache. `invoke_on_load` is accepted because
        tosca-parser passes it; nothing is invoked."""

        def __init__(self, namespace: str, invoke_on_load: bool) -> None:
            self.extensions = _extensions(namespace)


@cache
def _extensions(group: str) -> list[_Extension]:
    """Load all installed entry points of a group."""
    return [_Extension(point.name, point.load()) for point in entry_points(group=group)]
