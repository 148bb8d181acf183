"""Unpacks an image with umoci, once for all instances of a run."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from threading import Lock
from typing import IO, Any

from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.process import run
from sfcperf.vnfs.program.image import Files, Image, Layer, files

ROOT = "rootfs"
"""Folder with the files of an unpacked image."""
CONFIG = "config.json"
"""Its configuration, as umoci writes it for a runtime (OCI Runtime Specification)."""
_TIMEOUT_S = 600.0
_COPIED_BYTES = 1 << 20
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_GZIP = b"\x1f\x8b"
# Relative paths: umoci takes what follows a colon for a name.
_UNPACK = (
    'cd "$1" && umoci raw unpack --image layout:image rootfs && '
    "umoci raw runtime-config --image layout:image --rootfs rootfs config.json && rm -r layout"
)
_one_at_a_time = Lock()


def unpacked(image: Image, file: Path, cache: Path) -> Path:
    """Return the folder below `cache` with ROOT and CONFIG of an image, which it makes if it is not
    there. Raises InputError, MeasurementError, OSError; no part of it stays then."""
    folder = cache / image.digest.replace(":", "-")
    with _one_at_a_time:
        if not folder.exists():
            partial = folder.with_name("partial")
            try:
                with files(file) as opened:
                    _write_layout(image, opened, partial / "layout")
                _unpack(partial)
                partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


def _unpack(folder: Path) -> None:
    """Run umoci in a folder with the folder `layout`. Raises MeasurementError with its reason."""
    argv = ["sh", "-c", _UNPACK, "sh", str(folder)]
    done = run(argv, timeout_s=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        complaint = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise MeasurementError(f"umoci cannot unpack the image: {complaint.strip(' ⨯')[-500:]}")


def _write_layout(image: Image, opened: Files, layout: Path) -> None:
    """Write the image alone as a layout, named `image`: umoci reads nothing else. Raises
    InputError if a layer is not what it should be, OSError."""
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layers = []
    for layer in image.layers:
        with opened.open(layer.name) as stream:
            layers.append(_add_layer(layer, stream, blobs))
    manifest = {
        "schemaVersion": 2,
        "config": _add(image.config, _CONFIG, blobs),
        "layers": layers,
    }
    named = {"org.opencontainers.image.ref.name": "image"}
    descriptor = {**_add(json.dumps(manifest).encode(), _MANIFEST, blobs), "annotations": named}
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [descriptor]}))
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


def _add_layer(layer: Layer, stream: IO[bytes], blobs: Path) -> dict[str, Any]:
    """Copy a layer to the blobs of a layout; return its descriptor. Raises InputError, OSError."""
    digest, start, size = hashlib.sha256(), b"", 0
    partial = blobs / "partial"
    with partial.open("wb") as copy:
        while part := stream.read(_COPIED_BYTES):
            start = start or part[: len(_GZIP)]
            digest.update(part)
            size += copy.write(part)
    name = digest.hexdigest()
    if layer.digest not in (None, f"sha256:{name}"):
        raise InputError(f"the image is damaged: its layer {layer.name} has another digest")
    partial.rename(blobs / name)
    kind = f"{_LAYER}+gzip" if start == _GZIP else _LAYER
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": size}


def _add(content: bytes, kind: str, blobs: Path) -> dict[str, Any]:
    """Write a blob; return its descriptor."""
    name = hashlib.sha256(content).hexdigest()
    (blobs / name).write_bytes(content)
    return {"mediaType": kind, "digest": f"sha256:{name}", "size": len(content)}
