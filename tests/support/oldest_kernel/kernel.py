"""The kernel packages that `playbooks/oldest-kernel.sh` unpacked."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

KERNELS = Path(__file__).resolve().parents[3] / "build" / "kernels"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package."""

    folder: Path

    @property
    def release(self) -> str:
        """As `uname -r` says it."""
        return self.image.name.removeprefix("vmlinuz-")

    @property
    def image(self) -> Path:
        return next((self.folder / "boot").glob("vmlinuz-*"))

    @property
    def modules(self) -> Path:
        return self.folder / "lib" / "modules" / self.release


def installed() -> Kernel | None:
    """The kernel, when `make servers` was run."""
    found = sorted(KERNELS.glob("linux-6.1.*/.complete"))
    return Kernel(found[-1].parent) if found else None


def required() -> Kernel:
    """The kernel, or a skip that says what is missing; where CI is set, a failure."""
    kernel = installed()
    missing = [tool for tool in ("qemu-system-x86_64", "busybox") if shutil.which(tool) is None]
    if kernel is not None and not missing:
        return kernel
    reason = (
        f"not there: {', '.join(missing)}: make setup"
        if missing
        else "the package of Linux 6.1 is not there: make servers"
    )
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
