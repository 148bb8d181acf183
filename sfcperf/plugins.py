"""Plug-ins by entry point: drivers, VNF types, probes, monitors, analyses, publishers, services.

A third party adds one by declaring an entry point in its own package; this tree is not touched.
Each plug-in class derives from the one base class of its kind, which is the whole contract, and
declares the JSON Schema of its own parameters (`parameters`) beside its code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from pkgutil import resolve_name
from typing import Any, ClassVar

from sfcperf.errors import EnvironmentLacks, InputError, SfcperfError

GROUPS: Mapping[str, str] = {
    "driver": "sfcperf.drivers",
    "vnf": "sfcperf.vnfs",
    "probe": "sfcperf.probes",
    "monitor": "sfcperf.monitors",
    "analysis": "sfcperf.analyses",
    "publisher": "sfcperf.publishers",
    "service": "sfcperf.services",
}
"""Kind of plug-in -> entry-point group."""

_BASES: Mapping[str, str] = {
    "driver": "sfcperf.drivers.base:Driver",
    "vnf": "sfcperf.vnfs.base:NetworkFunction",
    "probe": "sfcperf.active.base:Probe",
    "monitor": "sfcperf.passive.base:Monitor",
    "analysis": "sfcperf.analysis.base:Analysis",
    "publisher": "sfcperf.results.publisher:Publisher",
    "service": "sfcperf.services.base:Service",
}
"""Kind of plug-in -> base class, by name: it is imported when a plug-in of its kind is."""

OWN = "sfcperf"
"""Distribution whose plug-ins nobody replaces."""

_further: tuple[EntryPoint, ...] = ()
"""Plug-ins that are not installed, while a block of `further` lasts."""


def object_schema(properties: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
    """JSON Schema of an object that has these properties and no others; `more` are further
    keywords."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
        **more,
    }


def integer(description: str, limits: tuple[int, int], **more: Any) -> dict[str, Any]:
    """JSON Schema of a whole number within limits, both allowed; `more` are further keywords."""
    return _bounded("integer", description, limits, more)


def number(description: str, limits: tuple[float, float], **more: Any) -> dict[str, Any]:
    """The same of a number that may have a fraction."""
    return _bounded("number", description, limits, more)


def positive(description: str, most: float, **more: Any) -> dict[str, Any]:
    """The same of a number above 0, up to `most`."""
    return {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": most,
        "description": description,
        **more,
    }


def port(description: str, lowest: int = 1, **more: Any) -> dict[str, Any]:
    """JSON Schema of a TCP or UDP port."""
    return integer(description, (lowest, 65_535), **more)


def choice(description: str, words: Iterable[str], **more: Any) -> dict[str, Any]:
    """JSON Schema of one of these words."""
    return {"enum": list(words), "description": description, **more}


def flag(description: str, *, default: bool = False) -> dict[str, Any]:
    """JSON Schema of true or false."""
    return {"type": "boolean", "default": default, "description": description}


def array(description: str, items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """JSON Schema of a list of such items."""
    return {"type": "array", "items": items, "description": description, **more}


def _bounded(
    kind: str, description: str, limits: tuple[float, float], more: Mapping[str, Any]
) -> dict[str, Any]:
    minimum, maximum = limits
    return {
        "type": kind,
        "minimum": minimum,
        "maximum": maximum,
        "description": description,
        **more,
    }


class Plugin:
    """What every plug-in class declares, whatever its kind."""

    title: ClassVar[str]
    """One line: what it does."""

    parameters: ClassVar[Mapping[str, Any]]
    """JSON Schema 2020-12 (type object) of its parameters in the workflow; every property has a
    `description`, a `default` where one applies, and `additionalProperties` is false."""


class Configurable(Plugin):
    """A probe or a service: its parameters may contradict each other, or need further plug-ins."""

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that fit the schema but not each other. Raises InputError, `where`
        being the parameter, or `PARAMETER/KEY`."""
        return

    @classmethod
    def uses(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """What it needs with these parameters: of a probe, names of further probes whose tools
        `measure` calls; of a service, names of services in the workflow, listed before it."""
        return ()


class Instrument(Plugin, ABC):
    """A probe or a monitor: what measures, of which a trial has objects of its own.

    `parameters` on the class is the schema that the parameters of an object have passed; defaults
    are filled in. An instrument sees only the deployment and its hosts."""

    name: ClassVar[str]
    """In workflows, and of the entry point."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # On the class the schema, on the object its values.
        self.parameters = parameters  # type: ignore[misc]

    @classmethod
    @abstractmethod
    def requirements(cls) -> list[Requirement]:
        """What must be there: tools, kernel features. Looked for on the machine that runs sfcperf;
        each says itself whether it is met."""

    @classmethod
    def tools(cls) -> tuple[str, ...]:
        """Commands that it calls on hosts, beyond those of POSIX: a driver carries them to a host
        that lacks them. Binaries of sfcperf's own it carries itself (`Host.program`)."""
        return commands(cls.requirements())


@dataclass(frozen=True)
class Requirement:
    """Something the environment must offer, as `sfcperf doctor` prints it."""

    name: str
    """What is needed, e.g. `iperf3`."""
    met: bool
    detail: str
    """What was found (a version, a path), or what is missing."""
    remedy: str = ""
    """What to do when it is not met."""
    command: bool = False
    """Whether it is the command `name`, which is called on hosts: a driver whose hosts are other
    machines carries it there (`commands`)."""
    of_this_kernel: bool = False
    """Whether it is something of the kernel that sfcperf runs on, which says nothing of hosts that
    are other machines (`Driver.elsewhere`): these are asked when they are there."""
    of_extra: bool = False
    """Whether an extra of SFCPerf brings it: only workflows that ask for it need it."""

    @classmethod
    def found(cls, name: str, look: Callable[[], str]) -> Requirement:
        """Met, with the detail that `look` returns, unless it raises an SfcperfError, whose hint is
        the remedy."""
        try:
            return cls(name, True, look())
        except SfcperfError as error:
            return cls(name, False, error.message, error.hint or "")

    def demand(self) -> str:
        """The detail of what was found. Raises EnvironmentLacks when it is not met."""
        if not self.met:
            raise EnvironmentLacks(f"{self.name}: {self.detail}", hint=self.remedy or None)
        return self.detail


def commands(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Names of the commands among them, each once."""
    return tuple(dict.fromkeys(need.name for need in requirements if need.command))


@cache
def names(kind: str) -> tuple[str, ...]:
    """Names of the installed plug-ins of a kind, sorted; nothing is imported."""
    return tuple(sorted({point.name for point in _points(kind)}))


@cache
def load(kind: str, name: str) -> Any:
    """The class of a plug-in.

    Raises InputError for an unknown name, EnvironmentLacks when its package does not import or
    does not keep the contract of its kind.
    """
    for point in _points(kind):
        if point.name == name:
            return _load(kind, point)
    raise InputError(
        f"there is no {kind} named {name!r}", allowed=", ".join(names(kind)) or "none installed"
    )


def package(kind: str, name: str) -> tuple[str, str] | None:
    """Name and version of the package that provides a plug-in; None when it says neither."""
    for point in _points(kind):
        if point.name == name and point.dist is not None and (owner := _owner(point)):
            return owner, point.dist.version
    return None


@contextmanager
def further(points: Iterable[EntryPoint]) -> Iterator[None]:
    """Plug-ins that are not installed here, for as long as the block lasts. They come before
    installed ones of third parties, and after SFCPerf's own, which keep their names."""
    global _further
    before, _further = _further, tuple(points)
    _forget()
    try:
        yield
    finally:
        _further = before
        _forget()


def base(kind: str) -> Any:
    """The base class of a kind."""
    return resolve_name(_BASES[kind])


def _forget() -> None:
    for cached in (names, load, _points):
        cached.cache_clear()


def _load(kind: str, point: EntryPoint) -> Any:
    try:
        plugin = point.load()
    except Exception as error:
        # A third party's module may raise anything: its syntax may be wrong, a name missing.
        raise _unusable(kind, point, f"cannot be imported: {_text(error)}") from error
    wanted = base(kind)
    if not (isinstance(plugin, type) and issubclass(plugin, wanted)):
        raise _unusable(kind, point, f"is not a class derived from {wanted.__name__}")
    if not isinstance(getattr(plugin, "title", None), str):
        raise _unusable(kind, point, "has no `title` in words")
    if not isinstance(getattr(plugin, "parameters", None), Mapping):
        raise _unusable(kind, point, "has no JSON Schema of its `parameters`")
    return plugin


def _unusable(kind: str, point: EntryPoint, reason: str) -> EnvironmentLacks:
    owner = _owner(point)
    package = f"package {owner}, " if owner else ""
    return EnvironmentLacks(
        f"the {kind} plug-in {point.name!r} ({package}{point.value}) {reason}",
        hint="reinstall or remove the package that provides it",
    )


def _text(error: Exception) -> str:
    """Import errors explain themselves; others need their type."""
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"


@cache
def _points(kind: str) -> tuple[EntryPoint, ...]:
    if kind not in GROUPS:
        raise InputError(f"there is no plug-in kind {kind!r}", allowed=", ".join(GROUPS))
    group = GROUPS[kind]
    installed = tuple(_installed().select(group=group))
    own = tuple(point for point in installed if _owner(point) == OWN)
    return (*own, *(p for p in _further if p.group == group), *installed)


def _owner(point: EntryPoint) -> str:
    """The distribution of a plug-in; empty if unknown, as of one that was half removed."""
    return _name(point.dist) if point.dist is not None else ""


@cache
def _name(distribution: Distribution) -> str:
    """Read once, since it parses a file each time."""
    try:
        return str(distribution.name)
    except (OSError, KeyError):
        # importlib_metadata, which replaces importlib.metadata once a package imports it, raises.
        return ""


@cache
def _installed() -> Any:
    """Read once, since it opens a file of each installed package. Its type differs before Python
    3.12, its `select` does not."""
    return entry_points()
