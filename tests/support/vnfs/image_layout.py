"""OCI image layouts, written by hand, with images that contain nothing."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
"""Architecture of this machine, as images name it."""


class Layout:
    """An OCI image layout, of blobs and an index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "blobs" / "sha256").mkdir(parents=True)
        self.descriptors: list[dict[str, Any]] = []

    def blob(self, content: Any) -> dict[str, Any]:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        name = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs" / "sha256" / name).write_bytes(data)
        return {"digest": f"sha256:{name}", "size": len(data)}

    def manifest(self, architecture: str = HERE, layer: bytes = b"", **config: Any) -> Any:
        """An image; `config` as in its configuration, such as `Cmd`."""
        document = {
            "architecture": architecture,
            "os": "linux",
            "rootfs": {"type": "layers"},
            "config": config,
        }
        return self.blob({"config": self.blob(document), "layers": [self.blob(layer)]})

    def write(self, *descriptors: Mapping[str, Any]) -> Path:
        (self.folder / "index.json").write_text(json.dumps({"manifests": descriptors}))
        return self.folder
