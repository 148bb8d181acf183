"""Modules of a package: which plug-ins they declare, found without executing anything of them."""

from __future__ import annotations

import configparser
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

from sfcperf.errors import InputError
from sfcperf.input_file import read_input
from sfcperf.package import layout
from sfcperf.package.opened import Package
from sfcperf.plugins import GROUPS

_DECLARED = "entry_points.txt"
_MAX_BYTES = 1 << 20
_OBJECT = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
"""`module:class` of an entry point, both perhaps dotted."""
_CODE = (".py", ".so")
"""Endings of source files and extension modules."""
_RESERVED = {*sys.stdlib_module_names, "sfcperf", "sitecustomize", "usercustomize"}
"""Names that a package's modules cannot have: modules of Python, those that the interpreter imports
by itself, and SFCPerf."""


@dataclass(frozen=True)
class Provider:
    """Stands in for a distribution in `EntryPoint.dist`: the package's is not installed."""

    name: str
    version: str


@dataclass(frozen=True)
class PackagedModule:
    """A distribution in a package. All of it can be handed to another process as JSON."""

    distribution: str
    version: str
    folder: str
    """Its folder in the package."""
    names: tuple[str, ...]
    """Top-level modules that it may provide to the import system."""
    plugins: tuple[tuple[str, str, str], ...]
    """Kind, name and `module:class` of each plug-in that it declares."""
    files: Mapping[str, str]
    """Path in the package -> SHA-256."""

    @property
    def sha256(self) -> str:
        """One hash for all its files: that of its lines in the package's list of hashes."""
        lines = (f"{self.files[name]}  {name}\n" for name in sorted(self.files))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def points(self) -> list[EntryPoint]:
        """Return its plug-ins as entry points, for `sfcperf.plugins.further`."""
        found = [EntryPoint(name, value, GROUPS[kind]) for kind, name, value in self.plugins]
        for point in found:
            # An EntryPoint forbids assignments; importlib.metadata itself sets `dist` in this way.
            vars(point)["dist"] = Provider(self.distribution, self.version)
        return found


def listed_files(folder: Path) -> dict[str, str]:
    """Path -> SHA-256 of the files of an unpacked package that passes verification."""
    # A line has a hash of 64 digits, two spaces and a path.
    size = layout.MAX_ENTRIES * (layout.MAX_PATH_BYTES + 80)
    content = read_input(folder / layout.HASHES, "the list of hashes", max_bytes=size)
    lines = (line.split("  ", 1) for line in content.decode(errors="replace").splitlines())
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2}


def packaged_modules(package: Package, files: Mapping[str, str]) -> list[PackagedModule]:
    """Return the modules that package.json lists. `files`: what `listed_files` returned. Raises
    InputError for a module whose declaration of plug-ins cannot be read."""
    found = []
    for module in package.document["modules"]:
        inside = {
            name: sha for name, sha in files.items() if name.startswith(module["folder"] + "/")
        }
        names = _names(name.removeprefix(module["folder"] + "/") for name in inside)
        found.append(
            PackagedModule(
                distribution=module["distribution"],
                version=module["version"],
                folder=module["folder"],
                names=names,
                plugins=_plugins(package.folder, inside, names),
                files=inside,
            )
        )
    return found


def is_importable(name: str) -> bool:
    """Whether a file is code that a replay may import: source or an extension module. Bytecode is
    not, as it need not come from the source beside it."""
    return name.endswith(_CODE) and "__pycache__" not in name.split("/")


def _names(files: Iterable[str]) -> tuple[str, ...]:
    """Names of the top-level modules in these files, which have paths in the module's folder;
    reserved names are left out."""
    tops = {name.split("/")[0].split(".")[0] for name in files if is_importable(name)}
    return tuple(sorted(top for top in tops if top.isidentifier() and top not in _RESERVED))


def _plugins(
    folder: Path, files: Mapping[str, str], names: tuple[str, ...]
) -> tuple[tuple[str, str, str], ...]:
    """Read kind, name and `module:class` of each plug-in from the distribution's metadata, as an
    installer does. `folder`: the unpacked package; `names`: the modules that a plug-in may be in.
    Raises InputError."""
    found: dict[tuple[str, str], str] = {}
    for path in files:
        *_, above, name = path.split("/")
        if name != _DECLARED or not above.endswith(".dist-info"):
            continue
        declared = _parsed(folder / path, path)
        for kind, group in GROUPS.items():
            for plugin, value in declared.items(group) if declared.has_section(group) else ():
                if (
                    not _OBJECT.fullmatch(value)
                    or value.partition(":")[0].split(".")[0] not in names
                ):
                    raise InputError(
                        f"the {kind} plug-in {plugin!r} is declared as {value!r}",
                        where=path,
                        allowed="MODULE:CLASS of a module in the same folder",
                    )
                found[kind, plugin] = value
    return tuple((kind, name, value) for (kind, name), value in sorted(found.items()))


def _parsed(file: Path, where: str) -> configparser.ConfigParser:
    """Parse entry_points.txt. Raises InputError, which names the file as `where`."""
    # No section has defaults for the others, `%` means nothing, and names keep their case.
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, default_section="")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(read_input(file, where, max_bytes=_MAX_BYTES).decode())
    except (configparser.Error, ValueError) as error:
        text = " ".join(str(error).split())
        raise InputError(f"plug-ins cannot be read: {text}", where=where) from error
    return parser
