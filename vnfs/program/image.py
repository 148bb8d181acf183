"""Container images in files: OCI image layouts (a folder or a tar), and archives of `docker save`.

Sources: OCI Image Format Specification 1.0 (image-layout.md, image-index.md, manifest.md,
config.md); Docker Image Specification v1.2, "Combined Image JSON + Filesystem Changeset Format".
"""

from __future__ import annotations

import hashlib
import platform
import re
import tarfile
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sfcperf import strict_json
from sfcperf.errors import InputError
from sfcperf.input_file import open_input

_MOST_JSON = 4 << 20
"""OCI recommends this limit for manifests, bytes."""
_MOST_FILES = 10_000
"""A tar with more files than this is none of an image."""
_DEEPEST = 4
"""An index may list indexes; more levels than this are not followed."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAMES = ("org.opencontainers.image.ref.name", "io.containerd.image.name")
"""Annotations that name an image in the index of a layout: of OCI, and of `docker save`."""
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
}
"""Machine (uname) -> its name in images, where the two differ."""
_ALLOWED = (
    "an OCI image layout (a folder, or a tar), which has an index.json, or an archive of `docker "
    "save`, which has a manifest.json"
)
_ZSTANDARD = bytes.fromhex("28b52ffd")


@dataclass(frozen=True)
class Layer:
    """A layer of an image: a tar, which may be compressed by gzip."""

    name: str
    """Its file in the image's files."""
    digest: str | None
    """Digest of that file, `sha256:...`; None where the archive does not state it."""


@dataclass(frozen=True)
class Image:
    """One image of a file, for one platform."""

    digest: str
    """`sha256:...` of its manifest; of an archive of `docker save`, which has no such manifest, of
    its configuration: the image ID that Docker shows."""
    names: frozenset[str]
    """Names that the file gives it."""
    architecture: str
    """As images name it: `amd64`."""
    config: bytes
    """Its configuration, JSON."""
    command: tuple[str, ...]
    """Its entrypoint with its arguments; empty if it has neither."""
    layers: tuple[Layer, ...]
    """The lowest first."""


class Files(ABC):
    """The files of an image, in a folder or a tar."""

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""

    @abstractmethod
    def open(self, name: str) -> IO[bytes]:
        """Open a file. Raises InputError if there is none."""

    def document(self, name: str) -> tuple[bytes, Any]:
        """Read a JSON file; return it as it is, and parsed. Raises InputError, ValueError."""
        with self.open(name) as file:
            content = file.read(_MOST_JSON + 1)
        if len(content) > _MOST_JSON:
            raise InputError(f"{name} has more than {_MOST_JSON} bytes")
        return content, strict_json.loads(content, bounded=True, max_values=_MOST_JSON // 8)


class _Folder(Files):
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return (self._folder / name).is_file()

    def open(self, name: str) -> IO[bytes]:
        return open_input(self._folder / name, "a file of the image")


class _Archive(Files):
    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._members: dict[str, tarfile.TarInfo] = {}
        for number, member in enumerate(tar):
            if number == _MOST_FILES:
                raise InputError(f"it has more than {_MOST_FILES} files", allowed=_ALLOWED)
            self._members[member.name.removeprefix("./")] = member

    def has(self, name: str) -> bool:
        return name in self._members

    def open(self, name: str) -> IO[bytes]:
        try:
            # Archives of `docker save` link to layers that they have already.
            file = self._tar.extractfile(self._members[name])
        except (KeyError, RecursionError):  # links may lead in a circle
            file = None
        if file is None:
            raise InputError(f"the image has no file {name}")
        return file


@contextmanager
def files(image: Path) -> Iterator[Files]:
    """Open the files of an image. Raises InputError, also for errors in the block that a damaged
    archive causes."""
    if image.is_dir():
        yield _Folder(image)
        return
    with open_input(image, "the image") as file, ExitStack() as stack:
        try:
            archive = _Archive(stack.enter_context(tarfile.open(fileobj=file, mode="r:")))
        # tarfile lets some of its own errors pass.
        except (tarfile.TarError, ValueError, ArithmeticError, OSError) as error:
            raise InputError(
                f"it is no tar, or damaged: {error}",
                allowed=_ALLOWED,
                hint="decompress it first, if it is compressed (`gunzip`)",
            ) from error
        try:
            yield archive
        except tarfile.TarError as error:
            raise InputError(f"it is a damaged tar: {error}") from error


def read(file: Path, name: str = "") -> Image:
    """Read which image a file has, or which one of this name, without its layers. If it has images
    for several platforms, it is that for this machine. Raises InputError that says what else there
    is if it is not exactly one."""
    with files(file) as opened:
        try:
            if opened.has("index.json"):
                found = list(_of_layout(opened))
            elif opened.has("manifest.json") and isinstance(opened, _Archive):
                found = list(_of_docker(opened))
            else:
                raise InputError("it is no image", allowed=_ALLOWED)
            chosen = _chosen(found, name)
            _check_layers(opened, chosen)
            return chosen
        except KeyError as error:
            raise InputError(f"the image is damaged: its JSON has no {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"the image is damaged: {error}") from error


def this_architecture() -> str:
    """Return the architecture of this machine, as images name it."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def blob(digest: str) -> str:
    """Return the file of a layout that has this digest. Raises InputError if it is none."""
    if not _DIGEST.fullmatch(digest):
        raise InputError(f"{digest[:80]!r} is no digest of SHA-256")
    return f"blobs/{digest.replace(':', '/')}"


def _of_layout(opened: Files) -> Iterator[Image]:
    """Yield the images of a layout."""
    _, index = opened.document("index.json")
    below: dict[str, set[str]] = defaultdict(set)
    for descriptor in index["manifests"]:
        notes = descriptor.get("annotations") or {}
        below[descriptor["digest"]] |= {notes[key] for key in _NAMES if key in notes}
    known: set[str] = set()
    for _ in range(_DEEPEST):
        further: dict[str, set[str]] = defaultdict(set)
        for digest, names in below.items():
            # An index may list platforms that were not saved.
            if digest not in known and opened.has(blob(digest)):
                known.add(digest)
                _, document = _verified(opened, digest)
                for each in document.get("manifests", ()):
                    further[each["digest"]] |= names
                if "layers" in document:
                    yield from _of_manifest(opened, digest, document, names)
        below = further


def _of_manifest(
    opened: Files, digest: str, manifest: Mapping[str, Any], names: Iterable[str]
) -> Iterator[Image]:
    config, document = _verified(opened, manifest["config"]["digest"])
    layers = [Layer(blob(each["digest"]), each["digest"]) for each in manifest["layers"]]
    yield from _image(digest, names, config, document, layers)


def _of_docker(opened: Files) -> Iterator[Image]:
    """Yield the images of an archive of `docker save`."""
    _, listed = opened.document("manifest.json")
    for each in listed:
        config, document = opened.document(each["Config"])
        layers = [Layer(layer, None) for layer in each["Layers"]]
        yield from _image(_digest(config), each.get("RepoTags") or (), config, document, layers)


def _image(
    digest: str,
    names: Iterable[str],
    config: bytes,
    document: Mapping[str, Any],
    layers: Sequence[Layer],
) -> Iterator[Image]:
    """Yield the image of a configuration; none if it is of something else, as that of an
    attestation is, or for another system."""
    if "rootfs" in document and document.get("os") == "linux":
        settings = document.get("config") or {}
        command = [*(settings.get("Entrypoint") or ()), *(settings.get("Cmd") or ())]
        if not all(isinstance(word, str) for word in command):
            raise ValueError("its command is no list of words")
        architecture = str(document["architecture"])
        yield Image(digest, frozenset(names), architecture, config, tuple(command), tuple(layers))


def _chosen(found: Sequence[Image], name: str) -> Image:
    """Return the only image of this name (any, if it is empty), or the only one of them for this
    machine. Raises InputError."""
    names = ", ".join(sorted({each for image in found for each in image.names})) or None
    own = [image for image in found if not name or name in image.names]
    if not found:
        raise InputError("the file has no image for linux")
    if not own:
        raise InputError(f"the file has no image {name!r}", allowed=names)
    own = [image for image in own if image.architecture == this_architecture()] or own
    if len({image.digest for image in own}) > 1:
        raise InputError(
            f"the file has {len(own)} images",
            allowed=names,
            hint="choose one by `image_name`, or write a file with one, as `skopeo copy` does",
        )
    return own[0]


def _check_layers(opened: Files, image: Image) -> None:
    """Raise InputError if a layer is not there, or compressed by what umoci does not know."""
    for layer in image.layers:
        with opened.open(layer.name) as file:
            if file.read(4) == _ZSTANDARD:
                raise InputError(
                    "a layer is compressed by Zstandard",
                    allowed="gzip, or none",
                    hint="convert it: `skopeo copy --dest-compress-format gzip`",
                )


def _verified(opened: Files, digest: str) -> tuple[bytes, Any]:
    """Read a JSON blob; return it as it is, and parsed. Raises InputError if it is another one."""
    content, document = opened.document(blob(digest))
    if _digest(content) != digest:
        raise InputError(f"the image is damaged: {blob(digest)} has another digest")
    return content, document


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
