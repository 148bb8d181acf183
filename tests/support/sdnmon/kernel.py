"""Runs a pinned program on frames without any interface (bpf(2): BPF_PROG_TEST_RUN)."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_NR_BPF = 321
"""On x86-64."""
_OBJ_GET, _TEST_RUN = 7, 10
_ATTRIBUTES = struct.Struct("=IIIIQQIIIIQQ")
_DURATION_AT = 36
_SKB_BYTES, _GSO_SEGS_AT, _GSO_SIZE_AT = 192, 164, 176
"""Of struct __sk_buff (linux/bpf.h)."""
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: ctypes.Array[ctypes.c_char]) -> int:
    result = int(_libc.syscall(_NR_BPF, command, attributes, len(attributes)))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


class Program:
    """A pinned program of tc or XDP."""

    def __init__(self, path: Path) -> None:
        name = ctypes.create_string_buffer(os.fsencode(path))
        attributes = struct.pack("=QII", ctypes.addressof(name), 0, 0).ljust(128, b"\0")
        self._fd = _bpf(_OBJ_GET, ctypes.create_string_buffer(attributes, 128))

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def run(self, frame: bytes, repeat: int = 1, *, gso: tuple[int, int] | None = None) -> int:
        """Mean time of a run, ns. `gso`, for tc alone: segments (0: not known) and their size,
        bytes."""
        data = ctypes.create_string_buffer(frame, len(frame))
        skb = bytearray(_SKB_BYTES if gso else 0)
        if gso:
            struct.pack_into("=I", skb, _GSO_SEGS_AT, gso[0])
            struct.pack_into("=I", skb, _GSO_SIZE_AT, gso[1])
        context = ctypes.create_string_buffer(bytes(skb), len(skb))
        place = ctypes.addressof(data), ctypes.addressof(context)
        packed = _ATTRIBUTES.pack(
            self._fd,
            0,
            len(frame),
            0,
            place[0],
            0,
            repeat,
            0,
            len(skb),
            0,
            place[1] if gso else 0,
            0,
        )
        attributes = ctypes.create_string_buffer(packed.ljust(128, b"\0"), 128)
        _bpf(_TEST_RUN, attributes)
        return int(struct.unpack_from("=I", attributes.raw, _DURATION_AT)[0])
