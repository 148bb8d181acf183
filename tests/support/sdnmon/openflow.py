"""A controller's end of OpenFlow connections, with the messages of SDN-Mon as
docs/reference/sdn-mon-messages.md has them."""

from __future__ import annotations

import itertools
import select
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.dataplane.sdnmon.fields import FIELDS

EXPERIMENTER = 0x004E534D
VERSION_1_3, VERSION_1_5 = 4, 6
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY, OF_EXPERIMENTER = range(5)
FEATURES_REQUEST, FEATURES_REPLY = 5, 6
PORT_STATUS, MULTIPART_REQUEST, MULTIPART_REPLY, BARRIER_REQUEST, BARRIER_REPLY = 12, 18, 19, 20, 21
PORT_DESC = 13
REPLY = 0x8000
(
    FEATURES,
    MODE_ON,
    MODE_OFF,
    RESET_TABLE,
    ADD_ENTRIES,
    REMOVE_ENTRIES,
    SET_SAMPLING_RATIO,
    SET_QUERY_TIME_INTERVAL,
    SET_OVERFLOW_NOTIFICATION_THRESHOLD,
    SET_LIMIT,
    PRUNE,
    STATUS,
    STATISTICS,
) = range(13)
OVERFLOW_NOTIFICATION = 0x4000
BAD_MESSAGE, BAD_VALUE, OFF, ON, FAILED, BUSY = range(1, 7)
TOTALS = (
    "received",
    "monitored",
    "unsampled",
    "excluded",
    "without_fields",
    "overflowed",
    "malformed_truncated",
    "malformed_nsh",
    "malformed_ip",
    "malformed_transport",
    "too_many_headers",
)
RATIO_ONE = 1 << 32
NUMBERS = {field.name: number for number, field in enumerate(FIELDS)}
PATIENCE_S = 20.0


class Refused(Exception):
    """A request of SDN-Mon was answered by an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code, self.text = code, text


@dataclass(frozen=True)
class Message:
    """Of OpenFlow."""

    version: int
    type: int
    xid: int
    body: bytes

    @property
    def packed(self) -> bytes:
        return struct.pack("!BBHI", self.version, self.type, 8 + len(self.body), self.xid) + (
            self.body
        )

    @property
    def exp_type(self) -> int | None:
        """Of SDN-Mon, or None."""
        ours = struct.pack("!I", EXPERIMENTER)
        if self.type != OF_EXPERIMENTER or self.body[:4] != ours or len(self.body) < 8:
            return None
        return int(struct.unpack_from("!I", self.body, 4)[0])


@dataclass(frozen=True)
class Settings:
    """Of a table. `masks`: by the field's name; others are as in the messages."""

    masks: Mapping[str, int]
    mode: int = 0
    slots: int = 5
    interval_ms: int = 10_000
    ratio: int = RATIO_ONE
    secret: int | None = None
    capacity: int = 4096
    limit: int = 0
    threshold: int = 0

    @property
    def packed(self) -> bytes:
        content = struct.pack(
            "!BBHIQQIIIHH",
            self.mode,
            self.secret is not None,
            self.slots,
            self.interval_ms,
            self.ratio,
            self.secret or 0,
            self.capacity,
            self.limit,
            self.threshold,
            len(self.masks),
            0,
        )
        return content + b"".join(map(packed_field, self.masks.items()))


def packed_field(item: tuple[str, int]) -> bytes:
    """A field and its mask."""
    number = NUMBERS[item[0]]
    size = FIELDS[number].bytes
    return bytes((number, size)) + item[1].to_bytes(size, "big")


def packed_keys(keys: Sequence[bytes], size: int | None = None) -> bytes:
    """Content of ADD_ENTRIES and REMOVE_ENTRIES."""
    size = len(keys[0]) if size is None else size
    return struct.pack("!HH", len(keys), size) + b"".join(keys)


@dataclass(frozen=True)
class Entry:
    added: bool
    packets: int
    octets: int
    slots: tuple[tuple[int, int], ...]
    """Packets and bytes of each epoch, the oldest first."""


@dataclass
class Statistics:
    """A whole reply."""

    epoch: int
    entries: dict[bytes, Entry] = field(default_factory=dict)
    messages: int = 0


def parsed_statistics(replies: Iterable[bytes]) -> Statistics:
    """Of the contents of a reply's messages. Fails if they do not fit together."""
    whole: Statistics | None = None
    for content in replies:
        flags, key, slots, _, count, _, epoch = struct.unpack_from("!HHHHIIQ", content)
        size = key + 20 + 16 * slots
        assert len(content) == 24 + count * size
        whole = whole or Statistics(epoch)
        assert whole.epoch == epoch
        whole.messages += 1
        for at in range(24, len(content), size):
            mark, packets, octets = struct.unpack_from("!IQQ", content, at + key)
            numbers = struct.unpack_from(f"!{2 * slots}Q", content, at + key + 20)
            entry = Entry(
                mark == 1, packets, octets, tuple(zip(numbers[::2], numbers[1::2], strict=True))
            )
            assert content[at : at + key] not in whole.entries
            whole.entries[content[at : at + key]] = entry
        if not flags & 1:
            return whole
    raise AssertionError("the last message of the reply is missing")


@dataclass(frozen=True)
class Status:
    on: bool
    settings: Settings | None = None
    epoch: int = 0
    entries: int = 0
    notifications: int = 0
    totals: Mapping[str, int] = field(default_factory=dict)
    ports: tuple[str, ...] = ()


def parsed_status(content: bytes) -> Status:
    """Of a STATUS_REPLY."""
    if not content[0]:
        assert content == bytes(4)
        return Status(on=False)
    (_, mode, slots, interval_ms, ratio, epoch, capacity, limit, threshold, entries, notified,
     ports, fields) = struct.unpack_from("!BBHIQQIIIIIHH", content)  # fmt: skip
    totals = struct.unpack_from("!11Q", content, 48)
    at, masks = 48 + 88, {}
    for _ in range(fields):
        number, octets = content[at : at + 2]
        masks[FIELDS[number].name] = int.from_bytes(content[at + 2 : at + 2 + octets], "big")
        at += 2 + octets
    names = []
    for _ in range(ports):
        names.append(content[at + 8 : at + 24].rstrip(b"\0").decode())
        at += 24
    assert at == len(content)
    settings = Settings(masks, mode, slots, interval_ms, ratio, None, capacity, limit, threshold)
    counts = dict(zip(TOTALS, totals, strict=True))
    return Status(True, settings, epoch, entries, notified, counts, tuple(sorted(names)))


class Connection:
    """To a switch. Echo requests of the switch are answered while a reply is awaited."""

    def __init__(self, stream: socket.socket, version: int = VERSION_1_5) -> None:
        self.stream = stream
        self.version = version
        self.others: list[Message] = []
        """Messages that nobody has awaited."""
        self._buffer = bytearray()
        self._xids = itertools.count(1)

    def close(self) -> None:
        self.stream.close()

    def greet(self) -> None:
        """Say HELLO with this version alone, and take that of the switch."""
        self.send(HELLO)
        self.receive(lambda message: message.type == HELLO)

    def has_ended(self) -> bool:
        """Whether the other end closes the connection. What comes before is thrown away, and the
        connection is closed here as well."""
        with suppress(ConnectionResetError):
            try:
                while self.stream.recv(1 << 16):
                    pass
            except TimeoutError:
                return False
        self.close()
        return True

    def send(self, kind: int, body: bytes = b"", xid: int | None = None) -> int:
        """Send a message; its xid."""
        xid = next(self._xids) if xid is None else xid
        self.stream.sendall(Message(self.version, kind, xid, body).packed)
        return xid

    def send_request(self, exp_type: int, content: bytes = b"", xid: int | None = None) -> int:
        return self.send(OF_EXPERIMENTER, struct.pack("!II", EXPERIMENTER, exp_type) + content, xid)

    def receive(self, wanted: Callable[[Message], bool], patience_s: float = PATIENCE_S) -> Message:
        """The next message that is wanted; others are kept."""
        for message in [*self.others]:
            if wanted(message):
                self.others.remove(message)
                return message
        deadline = time.monotonic() + patience_s
        while True:
            message = self._next(deadline)
            if wanted(message):
                return message
            if message.type == ECHO_REQUEST:
                self.send(ECHO_REPLY, message.body, message.xid)
            else:
                self.others.append(message)

    def ask(self, exp_type: int, content: bytes = b"") -> bytes:
        """Content of the reply. Raises Refused."""
        return self.reply(self.send_request(exp_type, content), exp_type)

    def reply(self, xid: int, exp_type: int) -> bytes:
        """Content of the reply to a request that was sent. Raises Refused."""
        message = self.receive(
            lambda m: m.xid == xid and (m.type == ERROR or m.exp_type == exp_type | REPLY)
        )
        if message.type == ERROR:
            kind, code, experimenter = struct.unpack_from("!HHI", message.body)
            assert (kind, experimenter) == (0xFFFF, EXPERIMENTER), message
            raise Refused(code, message.body[8:].decode())
        return message.body[8:]

    def barrier(self) -> None:
        """Wait until the switch has done what it was told."""
        xid = self.send(BARRIER_REQUEST)
        self.receive(lambda m: (m.type, m.xid) == (BARRIER_REPLY, xid))

    def status(self) -> Status:
        return parsed_status(self.ask(STATUS))

    def statistics(self, *, slots: bool = False) -> Statistics:
        xid = self.send_request(STATISTICS, bytes((slots, 0, 0, 0)))
        return parsed_statistics(self._statistics(xid))

    def _statistics(self, xid: int) -> Iterable[bytes]:
        while True:
            yield self.reply(xid, STATISTICS)

    def notification(self, patience_s: float = PATIENCE_S) -> tuple[int, int, int]:
        """Time (ns since 1970), entries and threshold of the next one."""
        message = self.receive(lambda m: m.exp_type == OVERFLOW_NOTIFICATION, patience_s)
        assert message.xid == 0
        time_ns, entries, threshold = struct.unpack("!QII", message.body[8:])
        return time_ns, entries, threshold

    def _next(self, deadline: float) -> Message:
        while True:
            if len(self._buffer) >= 8:
                version, kind, length, xid = struct.unpack_from("!BBHI", self._buffer)
                if len(self._buffer) >= length:
                    body = bytes(self._buffer[8:length])
                    del self._buffer[:length]
                    return Message(version, kind, xid, body)
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.stream], [], [], left)[0]:
                raise TimeoutError("the awaited message did not come")
            taken = self.stream.recv(1 << 20)
            if not taken:
                raise ConnectionResetError("the connection was closed")
            self._buffer += taken


class Controller:
    """Listens for switches at a path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(PATIENCE_S)

    def accept(self, version: int = VERSION_1_5) -> Connection:
        """The next connection, which has not said HELLO."""
        stream, _ = self._listener.accept()
        stream.settimeout(PATIENCE_S)
        return Connection(stream, version)

    def close(self) -> None:
        self._listener.close()
        self.path.unlink(missing_ok=True)
