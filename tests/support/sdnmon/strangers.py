"""What a stranger sends to a controller of OpenFlow: each type of message at each stage of the
handshake, as it should be, cut, and changed."""

from __future__ import annotations

import random
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

from support.sdnmon import wire
from support.sdnmon.openflow import (
    ERROR,
    FEATURES_REPLY,
    HELLO,
    MULTIPART_REPLY,
    OF_EXPERIMENTER,
    PORT_DESC,
    PORT_STATUS,
)

VERSIONS = (1, 3, 4, 5, 6)
"""1.0 and 1.2 to 1.5; os-ken knows no 1.1."""
STAGES = ("nothing", "hello", "features", "whole")
"""What was sent before."""
_TYPES = 36
_DATAPATH_ID = 0xBAD
_MUTATIONS = 4
_HEADER = struct.Struct("!BBHI")


def message(version: int, kind: int, body: bytes, length: int | None = None) -> bytes:
    """With a header; `length`: what that says, if it is to be wrong."""
    size = _HEADER.size + len(body) if length is None else length
    return _HEADER.pack(version, kind, size, 7) + body


def _features() -> bytes:
    return struct.pack("!QIBBHII", _DATAPATH_ID, 0, 1, 0, 0, 0, 0)


def before(stage: str, version: int) -> bytes:
    """Up to a stage."""
    sent = b""
    if stage != "nothing":
        sent += message(version, HELLO, b"")
    if stage in ("features", "whole"):
        sent += message(version, FEATURES_REPLY, _features())
    if stage == "whole" and version > 3:
        sent += message(version, MULTIPART_REPLY, struct.pack("!HHI", PORT_DESC, 0, 0))
    return sent


def _bodies(version: int, kind: int) -> Iterator[bytes]:
    """Of a type of messages; the first is right where a controller awaits one."""
    if kind == FEATURES_REPLY:
        yield _features()
    elif kind == HELLO:
        # A part of no known type, whose length is 0.
        yield struct.pack("!HH", 9, 0)
    elif kind == ERROR:
        yield struct.pack("!HH", 1, 1) + message(version, OF_EXPERIMENTER, bytes(8))
        yield struct.pack("!HHI", 0xFFFF, 2, wire.EXPERIMENTER) + b"\xff\xfe"
        yield struct.pack("!HH", 0xFFFF, 2)
    elif kind == MULTIPART_REPLY:
        for part in (*range(18), 0xFFFF):
            yield struct.pack("!HHI", part, 0, 0)
        yield struct.pack("!HHI", PORT_DESC, 1, 0)
        yield struct.pack("!HHI", PORT_DESC, 0, 0) + bytes(64)
    elif kind == OF_EXPERIMENTER:
        for exp_type in (*range(14), 0x4000, *range(0x8000, 0x800E)):
            yield struct.pack("!II", wire.EXPERIMENTER, exp_type)
        yield struct.pack("!II", wire.EXPERIMENTER, 0x8000) + wire.features()
    elif kind == PORT_STATUS:
        yield bytes(8) + bytes(64)
        yield bytes([1]) + bytes(7) + bytes(64)
    yield b""
    yield bytes(16)
    yield bytes(80)


def sent_by_strangers(version: int, stage: str, seed: int) -> list[bytes]:
    """What each of many connections sends."""
    draw = random.Random(f"{version} {stage} {seed}")
    begin = before(stage, version)
    found = [begin, begin + bytes(3)]
    for kind in range(_TYPES):
        for number, body in enumerate(_bodies(version, kind)):
            whole = message(version, kind, body)
            found.append(begin + whole)
            if number == 0:
                found.append(begin + whole[: draw.randrange(len(whole))])
                found += [begin + _changed(draw, whole) for _ in range(_MUTATIONS)]
                found.append(begin + message(version, kind, body, draw.choice([0, 7, 9, 65535])))
    return found


def _changed(draw: random.Random, whole: bytes) -> bytes:
    changed = bytearray(whole)
    for _ in range(draw.choice([1, 1, 2, 8])):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def send(address: str, data: bytes) -> None:
    """As a stranger, who then says no more and waits until the controller has read it, or ends
    the connection."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as stream, suppress(OSError):
        stream.sendall(data)
        stream.shutdown(socket.SHUT_WR)
        while stream.recv(1 << 16):
            pass
