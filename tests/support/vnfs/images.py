"""Small container images, made of what is installed on this machine by umoci."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

APPLETS = (
    *("sh", "cat", "false", "grep", "id", "ifconfig", "kill", "ls", "setsid", "sleep", "touch"),
    "wc",
)
NAME = "small"


def image(
    folder: Path, *config: str, programs: Sequence[str] = (), files: Mapping[str, str] | None = None
) -> Path:
    """An OCI layout `folder`: busybox, and programs of this machine with their libraries. `config`:
    options of `umoci config`; `files`: further files, path -> text; all are executable."""
    root = folder.with_name(f"{folder.name}-root")
    (root / "bin").mkdir(parents=True)
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    shutil.copy("/bin/busybox", root / "bin")
    for applet in APPLETS:
        (root / "bin" / applet).symlink_to("busybox")
    for program in programs:
        for path in [shutil.which(program), *libraries(program)]:
            assert path is not None
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for name, text in (files or {}).items():
        target = root / name.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)
    named = ["--image", f"{folder}:{NAME}"]
    umoci("init", "--layout", str(folder))
    umoci("new", *named)
    umoci("insert", *named, str(root), "/")
    umoci("config", *named, *config)
    umoci("gc", "--layout", str(folder))
    shutil.rmtree(root)
    return folder


def umoci(*arguments: str) -> None:
    subprocess.run(["umoci", *arguments], check=True, capture_output=True)


def libraries(program: str) -> list[str]:
    """Paths of the shared libraries of a program, its loader included."""
    path = shutil.which(program)
    assert path is not None
    listed = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    return [word for word in listed.split() if word.startswith("/")]
