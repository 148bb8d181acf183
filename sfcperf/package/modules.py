"""Modules: plug-ins that a run used and that are no part of SFCPerf; a package takes them along."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import Any

from sfcperf.errors import EnvironmentLacks
from sfcperf.plugins import GROUPS

OWN = "sfcperf"
"""Distribution of SFCPerf itself."""
_METADATA = ("METADATA", "entry_points.txt", "top_level.txt", "WHEEL")
"""Files of a distribution's metadata folder that are packed: its entry points need no others. The
rest (RECORD, direct_url.json) names places of the machine where it was installed."""


@dataclass(frozen=True)
class Module:
    """A distribution with plug-ins that a run used."""

    distribution: str
    version: str
    provides: tuple[tuple[str, str], ...]
    """Kind and name of each plug-in that was used."""
    requires: tuple[str, ...]
    """Other distributions that it needs, as its metadata says; these are not packed."""
    files: Mapping[str, Path]
    """Path relative to the folder that is to be on the module search path -> the file."""

    @property
    def folder(self) -> str:
        """Name of its folder in a package."""
        return f"{self.distribution}-{self.version}"


def used_plugins(
    manifest: Mapping[str, Any], applied: Mapping[str, Any], plan: Mapping[str, Any]
) -> set[tuple[str, str]]:
    """Return kind and name of each plug-in that a run used, from its documents alone: run.json, the
    workflow as it ran, and plan.json."""
    used = {("driver", manifest["driver"])}
    used |= {("probe", entry["probe"]) for entry in manifest["probes"]}
    used |= {("monitor", entry["monitor"]) for entry in manifest["monitors"]}
    # Section of the workflow, the key in it that names a plug-in, and the kind of plug-in.
    for section, key, kind in (("publish", "to", "publisher"), ("analyses",) + ("analysis",) * 2):
        used |= {
            (kind, entry[key])
            for entry in applied.get(section, ())
            if isinstance(entry, dict) and isinstance(entry.get(key), str)
        }
    used |= {(entry["kind"], entry["name"]) for entry in manifest["modules"]}
    return used | {
        ("vnf", function["type"])
        for scenario in plan["resolved"].values()
        for function in scenario["chain"]["functions"]
    }


def third_party(used: Iterable[tuple[str, str]]) -> list[Module]:
    """Return the distributions of the plug-ins that are not SFCPerf's own, sorted by name.

    `used`: kind and name of each plug-in. Raises EnvironmentLacks when one is not installed here,
    or its files cannot be told.
    """
    installed = entry_points()
    found: dict[str, tuple[Distribution, list[EntryPoint], list[tuple[str, str]]]] = {}
    for kind, name in sorted(used):
        point = _entry_point(installed.select(group=GROUPS[kind]), kind, name)
        if point.dist is not None and point.dist.name != OWN:
            _, points, provides = found.setdefault(point.dist.name, (point.dist, [], []))
            points.append(point)
            provides.append((kind, name))
    return [
        Module(
            distribution=name,
            version=dist.version,
            provides=tuple(provides),
            # Requirements of extras are optional.
            requires=tuple(
                r for r in dist.requires or () if requirement_name(r) != OWN and "extra ==" not in r
            ),
            files=dict(sorted(_files(dist, points).items())),
        )
        for name, (dist, points, provides) in sorted(found.items())
    ]


def _entry_point(installed: Iterable[EntryPoint], kind: str, name: str) -> EntryPoint:
    for point in installed:
        if point.name == name:
            return point
    raise EnvironmentLacks(
        f"the {kind} plug-in {name!r}, which the run used, is not installed here",
        hint="pack where the run was made, or install the plug-in's package",
    )


def _files(dist: Distribution, points: Iterable[EntryPoint]) -> dict[str, Path]:
    """Return `Module.files` of a distribution; `points` are its plug-ins that were used. Raises
    EnvironmentLacks when no source file is found."""
    files = dict(_installed(dist)) or dict(_sources(dist, points))
    if not files:
        raise EnvironmentLacks(
            f"the source files of the package {dist.name} cannot be determined",
            hint="install it with pip from its source folder or a wheel",
        )
    return files | dict(_metadata(dist))


def _installed(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the modules and data that the installer recorded; none for an editable installation,
    whose files stay where they are written."""
    for file in dist.files or ():
        path = Path(str(dist.locate_file(file)))
        inside = ".." not in file.parts and not file.parts[0].endswith((".dist-info", ".pth"))
        if inside and _is_source(path) and not file.name.startswith("__editable__"):
            yield str(file), path


def _sources(dist: Distribution, points: Iterable[EntryPoint]) -> Iterator[tuple[str, Path]]:
    """Yield all files of a distribution's top-level modules, wherever these are: the way to find
    the files of an editable installation. Nothing is imported."""
    names = (dist.read_text("top_level.txt") or "").split()
    names += [point.module.partition(".")[0] for point in points]
    for name in dict.fromkeys(names):
        spec = importlib.util.find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*")):
                if _is_source(path):
                    yield f"{name}/{path.relative_to(folder)}", path
        if spec and not spec.submodule_search_locations and spec.origin:
            yield Path(spec.origin).name, Path(spec.origin)


def _metadata(dist: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the metadata files of a distribution, in a folder with the name that an installer would
    give it. In a source tree, the folder that they come from has another name."""
    folder = Path(str(dist.locate_file("")))
    own = getattr(dist, "_path", None)
    home = Path(own) if own is not None else folder
    name = f"{dist.name.replace('-', '_')}-{dist.version}.dist-info"
    for file in _METADATA:
        if (home / file).is_file():
            yield f"{name}/{file}", home / file
    if not (home / "METADATA").is_file() and (home / "PKG-INFO").is_file():
        # A source tree with an egg-info folder has the same content under this older name.
        yield f"{name}/METADATA", home / "PKG-INFO"
    for path in sorted((home / "licenses").rglob("*")):
        if path.is_file():
            yield f"{name}/{path.relative_to(home)}", path


def _is_source(path: Path) -> bool:
    """Whether it is a file, and not bytecode, which Python makes from the source."""
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"


def requirement_name(requirement: str) -> str:
    """Name of the distribution in a requirement (PEP 508): `numpy>=1.26; ...` -> `numpy`."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return match[1] if match else requirement
