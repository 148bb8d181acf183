"""Damaged messages of SDN-Mon."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

from support.sdnmon import openflow as of
from support.sdnmon.openflow import Message, Settings, packed_keys
from support.sdnmon.tool import FIVE_TUPLE, layout_of

_HEADER = 8
_NUMBERS = (0, 1, 2, 7, 8, 15, 16, 63, 64, 65, 127, 128, 255, 256, 65535, 1 << 31, (1 << 32) - 1)


_LAYOUT = layout_of(FIVE_TUPLE)
SETTINGS = Settings(_LAYOUT.masks, capacity=64).packed


def _seeds() -> list[bytes]:
    """Contents, with what precedes them behind the header. Most do not load programs."""
    headers = ("ip", "ipv4", "ports")
    keys = [_LAYOUT.key({"ipv4_src": n, "tp_dst": n}, headers) for n in range(5)]
    cheap = [
        (of.FEATURES, b""),
        (of.ADD_ENTRIES, packed_keys(keys)),
        (of.REMOVE_ENTRIES, packed_keys(keys)),
        (of.ADD_ENTRIES, packed_keys([bytes(16)])),
        (of.SET_SAMPLING_RATIO, struct.pack("!Q", 1 << 31)),
        (of.SET_QUERY_TIME_INTERVAL, struct.pack("!I", 1000)),
        (of.SET_OVERFLOW_NOTIFICATION_THRESHOLD, struct.pack("!I", 2)),
        (of.SET_LIMIT, struct.pack("!I", 40)),
        (of.PRUNE, b""),
        (of.STATUS, b""),
        (of.STATISTICS, bytes((1, 0, 0, 0))),
        (of.STATISTICS, bytes(4)),
    ]
    dear = [(of.MODE_ON, SETTINGS), (of.RESET_TABLE, SETTINGS)] * 2 + [(of.MODE_OFF, b"")]
    return [
        struct.pack("!II", of.EXPERIMENTER, kind) + content for kind, content in cheap * 40 + dear
    ]


SEEDS = _seeds()


def _changed(draw: random.Random, body: bytearray) -> bytearray:
    """One step."""
    at = draw.randrange(len(body)) if body else 0
    match draw.randrange(7):
        case 0 if body:
            body[at] ^= 1 << draw.randrange(8)
        case 1 if body:
            body[at] = draw.randrange(256)
        case 2:
            del body[at:]
        case 3:
            body[at:at] = draw.randbytes(draw.choice([1, 2, 4, 16, 300]))
        case 4:
            number = draw.choice(_NUMBERS)
            form = draw.choice([">B", ">H", ">I", ">Q"])
            size = struct.calcsize(form)
            body[at : at + size] = struct.pack(form, number & ((1 << 8 * size) - 1))
        case 5:
            body += draw.choice(SEEDS)[_HEADER:]
        case _ if body:
            del body[at : at + draw.randrange(1, 9)]
    return body


def mutated(draw: random.Random, xid: int) -> Message:
    """A message with its true length. A few are of another type or version."""
    seed = draw.choice(SEEDS)
    fixed = 8 if draw.random() < 0.8 else 0
    body = bytearray(seed[fixed:])
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3, 8])):
        body = _changed(draw, body)
    kind = of.OF_EXPERIMENTER if draw.random() < 0.97 else draw.randrange(256)
    version = of.VERSION_1_5 if draw.random() < 0.98 else draw.randrange(256)
    return Message(version, kind, xid, (seed[:fixed] + bytes(body))[: 65535 - _HEADER])


def is_request(message: Message) -> bool:
    """Whether the agent has to answer."""
    return message.version == of.VERSION_1_5 and message.exp_type is not None


def cut(draw: random.Random, messages: Sequence[Message]) -> bytes:
    """A stream whose last message has another length than its header says."""
    packed = bytearray(b"".join(message.packed for message in messages))
    last = len(packed) - len(messages[-1].packed)
    struct.pack_into("!H", packed, last + 2, draw.choice([*range(12), 15, 16, 17, 40, 65535]))
    return bytes(packed)
