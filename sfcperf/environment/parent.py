"""Processes that nobody would end, or want, without the one that started them."""

from __future__ import annotations

import ctypes
import os
from signal import Signals

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, signal: Signals) -> bool:
    """Get this signal as soon as the parent is gone, also by SIGKILL: prctl(2), PR_SET_PDEATHSIG.
    Gives False when it is gone already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)
    return os.getppid() == parent
