"""Plug-ins by entry point: drivers, VNF types, probes, monitors, analyses, publishers, services.

A third party adds one by declaring an entry point in its own package; this tree is not changed.
Each plug-in class derives from the base class of its kind, which is the whole contract. It declares
the JSON Schema of its own parameters (`parameters`) beside its code.
"""

from __future__ import annotations

import sys
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
"""Kind of plug-in -> base class, by name. A name does not import the class before it is needed."""

OWN = "sfcperf"
"""Distribution whose plug-ins cannot be replaced by others of the same name."""

_further: tuple[EntryPoint, ...] = ()
"""Plug-ins that are not installed, but usable while a block of `further` lasts."""


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
    """JSON Schema of a number that may have a fraction, within limits, both allowed; `more` are
    further keywords."""
    return _bounded("number", description, limits, more)


def positive(description: str, most: float, **more: Any) -> dict[str, Any]:
    """JSON Schema of a number above 0, up to `most`; `more` are further keywords."""
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
    """One line that says what the plug-in does."""

    parameters: ClassVar[Mapping[str, Any]]
    """JSON Schema 2020-12 (type object) of the plug-in's parameters in the workflow. Every property
    has a `description`, and a `default` where one applies; `additionalProperties` is false."""


class Configurable(Plugin):
    """Base of probes and services. Their parameters may contradict each other, or need further
    plug-ins."""

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that fit the schema but not each other. Raises InputError, whose
        `where` is the parameter, or `PARAMETER/KEY`."""
        return

    @classmethod
    def uses(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """Names of what it needs with these parameters. For a probe: further probes whose tools
        `measure` calls. For a service: services of the workflow, which must be listed before it."""
        return ()


class Instrument(Plugin, ABC):
    """Base of probes and monitors, which measure. Each trial makes its own objects of them.

    `parameters` of the class is the schema; `parameters` of an object are values that fit it, with
    defaults filled in. An instrument sees only the deployment and its hosts.
    """

    name: ClassVar[str]
    """Name in workflows, and of the entry point."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        # The class has the schema under this name, the object has the values.
        self.parameters = parameters  # type: ignore[misc]

    @classmethod
    @abstractmethod
    def requirements(cls) -> list[Requirement]:
        """What must be there to measure: tools, kernel features. They are looked for on the machine
        that runs sfcperf; each says itself whether it is met."""

    @classmethod
    def tools(cls) -> tuple[str, ...]:
        """Commands that the instrument calls on hosts, beyond those of POSIX. A driver carries them
        to a host that lacks them. The instrument itself carries binaries of sfcperf
        (`Host.program`)."""
        return commands(cls.requirements())


@dataclass(frozen=True)
class Requirement:
    """Something the environment must offer, as `sfcperf doctor` prints it."""

    name: str
    """The thing that is needed, e.g. `iperf3`."""
    met: bool
    detail: str
    """What was found (a version, a path), or what is missing."""
    remedy: str = ""
    """What to do when it is not met."""
    command: bool = False
    """Whether the requirement is the command `name`, which is called on hosts. A driver whose hosts
    are other machines carries it there (`commands`)."""
    of_this_kernel: bool = False
    """Whether it concerns the kernel that sfcperf runs on. Then it says nothing about hosts that
    are other machines (`Driver.elsewhere`); these are asked when they exist."""
    of_extra: bool = False
    """Whether an extra of SFCPerf brings it. Only workflows that use the extra need it."""

    @classmethod
    def found(cls, name: str, look: Callable[[], str]) -> Requirement:
        """Make a requirement that is met, with the detail that `look` returns. If `look` raises an
        SfcperfError, it is not met, and the error's hint is the remedy."""
        try:
            return cls(name, True, look())
        except SfcperfError as error:
            return cls(name, False, error.message, error.hint or "")

    def demand(self) -> str:
        """Return the detail of what was found. Raises EnvironmentLacks when the requirement is not
        met."""
        if not self.met:
            raise EnvironmentLacks(f"{self.name}: {self.detail}", hint=self.remedy or None)
        return self.detail


def commands(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """Names of the commands among the requirements, each once."""
    return tuple(dict.fromkeys(need.name for need in requirements if need.command))


@cache
def names(kind: str) -> tuple[str, ...]:
    """Names of the installed plug-ins of a kind, sorted; nothing is imported."""
    return tuple(sorted({point.name for point in _points(kind)}))


@cache
def load(kind: str, name: str) -> Any:
    """Import and return the class of a plug-in.

    Raises InputError for an unknown name, EnvironmentLacks when its package does not import or does
    not keep the contract of its kind.
    """
    for point in _points(kind):
        if point.name == name:
            return _load(kind, point)
    raise InputError(
        f"there is no {kind} named {name!r}",
        allowed=", ".join(names(kind)) or "none installed",
        hint=advice(kind),
    )


def advice(kind: str) -> str:
    """Say how a plug-in of this kind that is not installed becomes known."""
    return (
        "if it comes with a package of its own, install that where SFCPerf is: "
        f"`{sys.executable} -m pip install PACKAGE`. It is found by its entry point in the group "
        f"{GROUPS[kind]}"
    )


def package(kind: str, name: str) -> tuple[str, str] | None:
    """Name and version of the package that provides a plug-in; None when they are unknown."""
    for point in _points(kind):
        if point.name == name and point.dist is not None and (owner := _owner(point)):
            return owner, point.dist.version
    return None


@contextmanager
def further(points: Iterable[EntryPoint]) -> Iterator[None]:
    """Make plug-ins usable that are not installed here, while the block lasts. They come before
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
    """Return the base class of a kind."""
    return resolve_name(_BASES[kind])


def _forget() -> None:
    """Empty the caches, since the set of plug-ins has changed."""
    for cached in (names, load, _points):
        cached.cache_clear()


def _load(kind: str, point: EntryPoint) -> Any:
    """Import a plug-in, and check that it keeps the contract of its kind. Raises
    EnvironmentLacks."""
    try:
        plugin = point.load()
    except Exception as error:
        # A third party's module may raise anything: its syntax may be wrong, a name missing.
        raise _unusable(kind, point, f"cannot be imported: {_text(error)}") from error
    base_class = base(kind)
    if not (isinstance(plugin, type) and issubclass(plugin, base_class)):
        raise _unusable(kind, point, f"is not a class derived from {base_class.__name__}")
    if not isinstance(getattr(plugin, "title", None), str):
        raise _unusable(kind, point, "has no `title` in words")
    if not isinstance(getattr(plugin, "parameters", None), Mapping):
        raise _unusable(kind, point, "has no JSON Schema of its `parameters`")
    return plugin


def _unusable(kind: str, point: EntryPoint, reason: str) -> EnvironmentLacks:
    """Return the error for a plug-in that does not work. `reason`: the end of its sentence."""
    owner = _owner(point)
    package = f"package {owner}, " if owner else ""
    return EnvironmentLacks(
        f"the {kind} plug-in {point.name!r} ({package}{point.value}) {reason}",
        hint="reinstall or remove the package that provides it",
    )


def _text(error: Exception) -> str:
    """An error in words. Import errors explain themselves; others need their type."""
    return str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"


@cache
def _points(kind: str) -> tuple[EntryPoint, ...]:
    """Entry points of a kind; the first of a name counts. SFCPerf's own come first, so that nobody
    replaces them, then those of `further`."""
    if kind not in GROUPS:
        raise InputError(f"there is no plug-in kind {kind!r}", allowed=", ".join(GROUPS))
    group = GROUPS[kind]
    installed = tuple(_installed().select(group=group))
    own = tuple(point for point in installed if _owner(point) == OWN)
    return (*own, *(p for p in _further if p.group == group), *installed)


def _owner(point: EntryPoint) -> str:
    """Name of the distribution that provides a plug-in; empty if it is unknown, as after half an
    uninstallation."""
    return _name(point.dist) if point.dist is not None else ""


@cache
def _name(distribution: Distribution) -> str:
    """Name of a distribution; empty if it cannot be read. It is cached, since reading it parses a
    file each time."""
    try:
        return str(distribution.name)
    except (OSError, KeyError):
        # importlib_metadata, which replaces importlib.metadata once a package imports it, raises.
        return ""


@cache
def _installed() -> Any:
    """All entry points. They are cached, since reading them opens a file of each installed package.
    Their type differs before Python 3.12, but all have `select`."""
    return entry_points()
