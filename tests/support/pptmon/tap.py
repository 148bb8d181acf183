"""Raw Ethernet ends that keep VLAN tags, which the kernel takes out of frames that arrive."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import sched_getaffinity, sched_setaffinity
from pathlib import Path

from sfcperf.hosts.process import inside
from support.network.wires import RETRY_S

_ETH_P_ALL = 3
_SOL_PACKET, _AUXDATA, _VNET_HDR, _IGNORE_OUTGOING = 263, 8, 15, 23
_RCVBUFFORCE = 33
_AUX = struct.Struct("=IIIHHHH")  # struct tpacket_auxdata
_VLAN_VALID, _TPID_VALID = 1 << 4, 1 << 6
VNET = struct.Struct("=BBHHHH")
"""struct virtio_net_hdr: flags, GSO type, header bytes, gso_size, csum_start, csum_offset."""
NEEDS_CSUM = 1
MARK = b"\x88\xb5"
"""EtherType of the frames that say that no other comes (IEEE 802, local experiments)."""


@dataclass(frozen=True)
class Offload:
    """What is left to do for a frame: the kernel's side of struct virtio_net_hdr."""

    csum_start: int = 0
    csum_offset: int = 0
    gso_type: int = 0
    gso_size: int = 0
    header_bytes: int = 0
    flags: int = 0

    def pack(self) -> bytes:
        return VNET.pack(self.flags, self.gso_type, self.header_bytes, self.gso_size,
                         self.csum_start, self.csum_offset)  # fmt: skip

    @classmethod
    def unpack(cls, data: bytes) -> Offload:
        flags, gso_type, header_bytes, gso_size, start, offset = VNET.unpack(data)
        return cls(start, offset, gso_type, gso_size, header_bytes, flags)


class Tap:
    """Sends and receives whole frames on an interface."""

    def __init__(self, namespace: Path, interface: str, *, offloads: bool = False) -> None:
        """With `offloads`, frames may have work left (`send_with`, `offload_of`)."""
        self._offloads = offloads
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        for option, value in ((_AUXDATA, 1), (_IGNORE_OUTGOING, 1), (_VNET_HDR, int(offloads))):
            self._socket.setsockopt(_SOL_PACKET, option, value)
        self._socket.setsockopt(socket.SOL_SOCKET, _RCVBUFFORCE, 1 << 24)
        self._socket.bind((interface, _ETH_P_ALL))

    def send(self, *frames: bytes) -> None:
        """Send frames from one CPU, so that they stay in order."""
        with pinned():
            for frame in frames:
                self._socket.send((bytes(VNET.size) if self._offloads else b"") + frame)

    def send_with(self, frame: bytes, offload: Offload) -> None:
        with pinned():
            self._socket.send(offload.pack() + frame)

    def receive(self, mark: bytes) -> list[bytes]:
        """Frames up to a mark; fails when that does not come."""
        return [frame for frame, _ in self.receive_with(mark)]

    def receive_with(self, mark: bytes) -> list[tuple[bytes, Offload]]:
        frames: list[tuple[bytes, Offload]] = []
        deadline = time.monotonic() + RETRY_S
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self._socket], [], [], left)[0]:
                break
            frame, offload = self._one()
            if frame[12:14] == MARK:
                if frame[14:].startswith(mark):
                    return frames
                continue
            frames.append((frame, offload))
        raise AssertionError(f"the last frame did not come; {len(frames)} others did")

    def close(self) -> None:
        self._socket.close()

    def _one(self) -> tuple[bytes, Offload]:
        data, ancillary, _, _ = self._socket.recvmsg(1 << 17, 256)
        offload = Offload()
        if self._offloads:
            offload, data = Offload.unpack(data[: VNET.size]), data[VNET.size :]
        for level, kind, value in ancillary:
            if (level, kind) == (_SOL_PACKET, _AUXDATA):
                status, _, _, _, _, tci, tpid = _AUX.unpack(value[: _AUX.size])
                if status & _VLAN_VALID:
                    type_ = tpid if status & _TPID_VALID else 0x8100
                    data = data[:12] + struct.pack("!HH", type_, tci) + data[12:]
                    if offload.flags & NEEDS_CSUM:
                        offload = replace(offload, csum_start=offload.csum_start + 4)
        return data, offload


def mark_frame(mark: bytes) -> bytes:
    """A frame of no interest to anybody."""
    return b"\x02\x00\x00\x00\xbb\x02" + b"\x02\x00\x00\x00\xaa\x01" + MARK + mark.ljust(46, b"\0")


@contextmanager
def pinned(cpu: int | None = None) -> Iterator[None]:
    """This thread on one CPU: a veth delivers on the CPU that sends."""
    before = sched_getaffinity(0)
    sched_setaffinity(0, {min(before) if cpu is None else cpu})
    try:
        yield
    finally:
        sched_setaffinity(0, before)
