"""Import the modules of a package by their files, and nothing else of it.

No folder of a package is on the module search path, where the interpreter would import what it
likes from it (`sitecustomize`), and where its files could take the place of others. Only the names
of the modules that a workflow uses are found there, as source files and extension modules whose
SHA-256 is listed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from sfcperf.package.replay.packaged import PackagedModule, is_importable


class PackageFinder(MetaPathFinder):
    """Finds the modules of a package, and checks their hashes, as an entry of `sys.meta_path`."""

    def __init__(self, modules: Sequence[PackagedModule], folder: Path) -> None:
        """`folder`: where the package's files are."""
        self._places: dict[str, list[str]] = {}
        """Top-level module -> folders in which it may be found."""
        self._files: dict[str, str] = {}
        """Path of each file that may be imported -> its SHA-256."""
        for module in modules:
            for name in module.names:
                self._places.setdefault(name, []).append(str(folder / module.folder))
            code = {name: sha256 for name, sha256 in module.files.items() if is_importable(name)}
            self._files |= {str(folder / name): sha256 for name, sha256 in code.items()}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of the package: source code, or an extension module. Raises ImportError for
        a file of another kind, or with another SHA-256 than the listed one (of source code: when it
        is loaded). None: the name is none of the package's."""
        places = self._places.get(fullname.partition(".")[0])
        if places is None:
            return None
        spec = PathFinder.find_spec(fullname, places if path is None else list(path), target)
        if spec is None or spec.loader is None:
            # No such module, or a namespace package: a folder without code of its own.
            return spec
        origin = str(spec.origin)
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _VerifiedLoader(fullname, origin, self._files)
        elif isinstance(spec.loader, ExtensionFileLoader):
            _check(origin, Path(origin).read_bytes(), self._files)
        else:
            raise ImportError(f"{origin} is not source code")
        return spec


class _VerifiedLoader(SourceFileLoader):
    """Loads a source file, and raises ImportError if its hash is not the listed one. The bytes that
    are hashed are those that are executed."""

    def __init__(self, fullname: str, path: str, files: Mapping[str, str]) -> None:
        super().__init__(fullname, path)
        self._listed = files

    def get_code(self, fullname: str) -> CodeType | None:
        """Compile the source file, after its hash was checked. Raises ImportError."""
        # SourceFileLoader.get_code would prefer bytecode, whose hash is not listed.
        path = self.get_filename(fullname)
        content = self.get_data(path)
        _check(path, content, self._listed)
        return self.source_to_code(content, path)


def _check(path: str, content: bytes, listed: Mapping[str, str]) -> None:
    """Raise ImportError unless the content has the SHA-256 that is listed for this path."""
    if hashlib.sha256(content).hexdigest() != listed.get(path):
        raise ImportError(f"{path} is not as in the package")
