"""A BPF file system of this process, which has no place in the tree of files: what is pinned in it
is gone when the process ends, however it ends."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from sfcperf.errors import EnvironmentLacks

_FSOPEN, _FSCONFIG, _FSMOUNT = 430, 431, 432
"""Numbers of system calls (Linux 5.2), the same on all architectures. Python has no functions for
them."""
_CREATE = 6
"""FSCONFIG_CMD_CREATE."""
_CLOEXEC = 1
_libc = ctypes.CDLL(None, use_errno=True)


class BpfFileSystem:
    """A mounted BPF file system. It lives until `close`."""

    def __init__(self) -> None:
        """Mount it. Raises EnvironmentLacks, also without the right to mount."""
        context = _call(_FSOPEN, b"bpf", _CLOEXEC)
        try:
            _call(_FSCONFIG, context, _CREATE, None, None, 0)
            self._root = _call(_FSMOUNT, context, _CLOEXEC, 0)
        finally:
            os.close(context)
        self.folder = Path(f"/proc/{os.getpid()}/fd/{self._root}")
        """Path by which other processes of this machine reach it as well."""

    def close(self) -> None:
        """Unmount it; call this once. Programs that nothing else keeps go with it."""
        os.close(self._root)

    def __enter__(self) -> BpfFileSystem:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call, and return its result. Raises EnvironmentLacks."""
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        raise EnvironmentLacks(
            f"no BPF file system can be made: {os.strerror(ctypes.get_errno())}",
            hint="this needs root and Linux 5.2",
        )
    return result
