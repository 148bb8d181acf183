"""The few calls of bpf(2) that a measurement of programs needs (linux/bpf.h)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager

_SYSCALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
_PROG_LOAD, _PROG_TEST_RUN, _PROG_GET_FD_BY_ID = 5, 10, 13
_LINK_CREATE, _ENABLE_STATS = 28, 32
_SCHED_CLS = 3
_TCX = {"ingress": 46, "egress": 47}
_ATTRIBUTES_BYTES = 128
_libc = ctypes.CDLL(None, use_errno=True)

NOTHING = struct.pack("<BBhi", 0xB7, 0, 0, -1) + struct.pack("<BBhi", 0x95, 0, 0, 0)
"""r0 = TCX_NEXT; exit."""


def _bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    buffer = ctypes.create_string_buffer(attributes.ljust(_ATTRIBUTES_BYTES, b"\0"))
    result = _libc.syscall(_SYSCALL, command, buffer, _ATTRIBUTES_BYTES)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"bpf command {command}: {os.strerror(number)}")
    return int(result), buffer.raw


def load_nothing() -> int:
    """A program for tc that does nothing, as file descriptor."""
    code = ctypes.create_string_buffer(NOTHING)
    license_text = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "<IIQQIIQII",
        _SCHED_CLS,
        len(NOTHING) // 8,
        ctypes.addressof(code),
        ctypes.addressof(license_text),
        *(0, 0, 0, 0, 0),
    ) + b"floor".ljust(16, b"\0")
    return _bpf(_PROG_LOAD, attributes)[0]


def attach(program: int, interface_index: int, direction: str) -> int:
    """By tcx, at `ingress` or `egress`; the link, which ends with its file descriptor."""
    attributes = struct.pack("<III", program, interface_index, _TCX[direction])
    return _bpf(_LINK_CREATE, attributes)[0]


def by_id(number: int) -> int:
    """File descriptor of a loaded program."""
    return _bpf(_PROG_GET_FD_BY_ID, struct.pack("<I", number))[0]


@contextmanager
def statistics() -> Iterator[None]:
    """The kernel counts runs of programs and their time, whoever else asks for it or ends it. (It
    reads its clock twice for each.)"""
    stats = _bpf(_ENABLE_STATS, struct.pack("<I", 0))[0]
    try:
        yield
    finally:
        os.close(stats)


def repeated_ns(program: int, frame: bytes, repeat: int = 1_000_000) -> int:
    """Mean time of a run on this frame, ns, over many runs between two readings of the clock."""
    data = ctypes.create_string_buffer(frame, len(frame))
    attributes = struct.pack(
        "<IIIIQQII", program, 0, len(frame), 0, ctypes.addressof(data), 0, repeat, 0
    )
    _, answer = _bpf(_PROG_TEST_RUN, attributes)
    return int(struct.unpack_from("<I", answer, 36)[0])
