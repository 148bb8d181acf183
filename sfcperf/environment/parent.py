"""Ends a process together with the one that started it, for processes that are of no use alone."""

from __future__ import annotations

import ctypes
import os
from signal import Signals

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, signal: Signals) -> bool:
    """Let the kernel send `signal` to this process as soon as its parent is gone, also by SIGKILL:
    prctl(2), PR_SET_PDEATHSIG. `parent` is the parent's id. False: the parent is gone already, so
    that no signal will come, and the caller must end by itself."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)
    return os.getppid() == parent
