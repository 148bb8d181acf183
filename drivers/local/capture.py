"""Send packets from interfaces of this machine and capture on several of them at once."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import retry, waiting
from sfcperf.errors import MeasurementError, system_errors_as
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside
from sfcperf.packets.marked import MarkedPacket

ETH_P_ALL = 0x0003
SO_TIMESTAMPNS = 35
SO_TIMESTAMPING = 37
"""Numbers of both socket options on most architectures of Linux; the socket module does not define
them."""
SOF_TIMESTAMPING_RX_SOFTWARE, SOF_TIMESTAMPING_SOFTWARE = 1 << 3, 1 << 4
STAMPS_TIMEOUT_S = 5.0
SNAPLEN = 2048
"""Most bytes that are captured of a frame."""
LINKTYPE_ETHERNET = 1


@dataclass(frozen=True)
class Frame:
    """A captured frame."""

    time_ns: int
    """Unix time of the kernel's stamp, nanoseconds."""
    interface: str
    """Name of the interface, as it was given to Capture."""
    outgoing: bool
    """Whether the interface's own namespace sent it (at the SFFs' ports: the SFF)."""
    data: bytes
    machine: str = ""
    """Name of the machine whose clock gave the stamp (Machine.name)."""


def send(namespace: str, interface: str, packets: Iterable[MarkedPacket]) -> None:
    """Send frames from an interface of a network namespace. Raises MeasurementError."""
    failed = f"{interface} sends no marked packet"
    with (
        system_errors_as(MeasurementError, failed, where=namespace),
        # The protocol 0 means that it receives nothing.
        _packet_socket(namespace, 0) as sock,
    ):
        sock.bind((interface, 0))
        for packet in packets:
            sock.send(packet.data)


class Capture:
    """Captures every frame of the interfaces from its creation until `close`, with the kernel's
    time stamps and the direction. Frames wait in the sockets until `collect` reads them into
    `frames`."""

    def __init__(self, interfaces: Sequence[tuple[str, str, str]]) -> None:
        """Each of `interfaces` is (name for `Frame.interface`, namespace, name of the interface
        there). Raises MeasurementError."""
        self._sockets: dict[int, tuple[str, socket.socket]] = {}
        self.names = [name for name, _, _ in interfaces]
        self.frames: list[Frame] = []
        try:
            for name, namespace, interface in interfaces:
                failed = f"{interface} cannot be captured"
                with system_errors_as(MeasurementError, failed, where=namespace):
                    sock = _packet_socket(namespace, socket.htons(ETH_P_ALL))
                    self._sockets[sock.fileno()] = (name, sock)
                    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
                    sock.bind((interface, ETH_P_ALL))
                    sock.setblocking(False)
            _await_stamps()
        except BaseException:
            self.close()
            raise

    def collect(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Read frames into `frames` until `done` returns True or the time is over."""
        end = time.monotonic() + timeout_s
        while not done() and (left := end - time.monotonic()) > 0:
            self.frames += self.read(left)
        # Frames that crossed the other interfaces while the last one was read still wait in their
        # sockets.
        self.frames += self.read(0)

    def read(self, timeout_s: float) -> list[Frame]:
        """Return the frames that wait in the sockets, as soon as there are some; none when the time
        is over."""
        waiting.poll(dict.fromkeys(self._sockets, select.POLLIN), timeout_s)
        return [frame for name, sock in self._sockets.values() for frame in _waiting(name, sock)]

    def close(self) -> None:
        """Stop capturing; `frames` keeps what was captured."""
        for _, sock in self._sockets.values():
            sock.close()
        self._sockets.clear()


def _waiting(name: str, sock: socket.socket) -> Iterator[Frame]:
    """Yield all frames that wait in the socket of the interface `name`. A frame without the
    kernel's stamp gets the time of reading."""
    while True:
        try:
            data, ancillary, _, address = sock.recvmsg(SNAPLEN, 64)
        except BlockingIOError:
            return
        stamp = time.time_ns()
        for level, kind, value in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                # A struct timespec.
                seconds, nanoseconds = struct.unpack("qq", value[:16])
                stamp = seconds * 1_000_000_000 + nanoseconds
        yield Frame(stamp, name, address[2] == socket.PACKET_OUTGOING, data)


def _packet_socket(namespace: str, protocol: int) -> socket.socket:
    """Return a packet socket of a network namespace, in which it stays. `protocol`: the EtherType
    that it receives, in network byte order. Raises OSError."""
    with inside(NETNS_FOLDER / namespace):
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, protocol)


def _await_stamps() -> None:
    """Wait until the kernel stamps packets when they arrive, which packets to a socket of our own
    show. Raises MeasurementError.

    A worker of the kernel begins to stamp some time after a socket has asked for it (Linux's
    net_enable_timestamp). Until then, SO_TIMESTAMPNS gives the time of reading, by which packets
    seem to have crossed the interfaces in the order in which these are read.
    """
    failed = "no packet can be sent on the loopback interface"
    with (
        system_errors_as(MeasurementError, failed, where="lo", hint="ip link set lo up"),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        # SO_TIMESTAMPING, unlike SO_TIMESTAMPNS, gives nothing for a packet without a stamp.
        flags = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, flags)
        sock.settimeout(STAMPS_TIMEOUT_S)
        sock.bind(("127.0.0.1", 0))

        def stamped() -> bool:
            """Send a packet to this socket, and return whether it arrives with a stamp."""
            sock.sendto(b"", sock.getsockname())
            return bool(sock.recvmsg(1, 64)[1])

        if not retry.until(stamped, timeout_s=STAMPS_TIMEOUT_S, period_s=0.001):
            raise MeasurementError("the kernel does not stamp packets with their time of arrival")


def write_pcapng(path: Path, names: Sequence[str], frames: Sequence[Frame]) -> None:
    """Write frames to a file that tshark and Wireshark read, as evidence, in order of time. `names`
    are the interfaces of the frames."""
    from pcapng import FileWriter
    from pcapng.blocks import EnhancedPacket, InterfaceDescription, SectionHeader
    from pcapng.structs import EPBFlags

    section = SectionHeader(options={"shb_userappl": "sfcperf"})
    numbers: dict[str, int] = {}
    for name in names:
        interface = section.new_member(
            InterfaceDescription,
            link_type=LINKTYPE_ETHERNET,
            snaplen=SNAPLEN,
            # Time stamps are in units of 10^-9 s.
            options={"if_name": name, "if_tsresol": bytes([9])},
        )
        numbers[name] = interface.interface_id
    with path.open("wb") as file:
        writer = FileWriter(file, section)
        for frame in sorted(frames, key=lambda frame: frame.time_ns):
            # In the flags of pcapng, 1 is inbound and 2 is outbound.
            direction = EPBFlags(2 if frame.outgoing else 1)
            block = section.new_member(EnhancedPacket, options={"epb_flags": direction})
            block.interface_id = numbers[frame.interface]
            block.timestamp_high, block.timestamp_low = divmod(frame.time_ns, 1 << 32)
            block.packet_data = frame.data
            writer.write_block(block)
