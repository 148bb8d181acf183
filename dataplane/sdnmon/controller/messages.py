"""SDN-Mon's messages as bytes (docs/reference/sdn-mon-messages.md): requests are written, what the
switch sends is read. The headers of OpenFlow and of the experimenter are os-ken's work."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from sfcperf.dataplane.sdnmon.controller.errors import WrongAnswer
from sfcperf.dataplane.sdnmon.controller.statistics import StatisticsPart, read_part
from sfcperf.dataplane.sdnmon.fields import FIELDS, PRESENCE, Layout
from sfcperf.dataplane.sdnmon.model import RATIO_ONE
from sfcperf.errors import InputError

EXPERIMENTER = 0x004E534D
REPLY = 0x8000
"""Bit that the type of a reply has set. Its other bits are the type of the request."""
FORMATS = 1
"""Version of these formats."""
MODES = ("hash", "bloom")
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
MOST_ENTRIES = 1_000_000
MOST_SLOTS = 64
LEAST_INTERVAL_MS, MOST_INTERVAL_MS = 10, 24 * 3600 * 1000
MOST_SECRET = (1 << 64) - 1
"""`MOST_...` and `LEAST_...` are the agent's limits of settings."""
_MOST_KEYS_BYTES = 65535 - 16 - 4
"""Bytes of keys that fit in a message, behind its headers and the header of ADD_ENTRIES."""
_SECRET_GIVEN = 1
_WITH_BUFFERS = 1


class Kind(IntEnum):
    """The exp_type of a message."""

    FEATURES = 0
    MODE_ON = 1
    MODE_OFF = 2
    RESET_TABLE = 3
    ADD_ENTRIES = 4
    REMOVE_ENTRIES = 5
    SET_SAMPLING_RATIO = 6
    SET_QUERY_TIME_INTERVAL = 7
    SET_OVERFLOW_NOTIFICATION_THRESHOLD = 8
    SET_LIMIT = 9
    PRUNE = 10
    STATUS = 11
    STATISTICS = 12
    OVERFLOW_NOTIFICATION = 0x4000


# --- what the controller sends ---


@dataclass(frozen=True)
class Request:
    """A message to a switch."""

    kind: Kind
    content: bytes = b""


@dataclass(frozen=True)
class Settings:
    """Settings of a monitoring table. Raises InputError if a value is out of range."""

    layout: Layout
    counter_buffer_size: int = 5
    """S_b: slots of an entry's counter buffers."""
    query_interval_ms: int = 10_000
    """ΔT_q: time that the counter buffers cover, at least 10 ms for each slot."""
    mode: str = "hash"
    ratio: float = 1.0
    """Share of the flows that are monitored."""
    secret: int | None = None
    """Secret of the hash, 64 bits. Switches with the same secret sample the same flows. None:
    the agent draws one, or keeps that of the table before."""
    capacity: int = 131_072
    """Entries for which memory is taken."""
    limit: int = 0
    """Most entries that the table may have. 0: its capacity."""
    threshold: int = 0
    """A notification comes when there are more entries. 0: never."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"{self.mode!r} is no mode", where="mode", allowed=", ".join(MODES))
        _check("counter_buffer_size", self.counter_buffer_size, 1, MOST_SLOTS)
        least = LEAST_INTERVAL_MS * self.counter_buffer_size
        _check("query_interval_ms", self.query_interval_ms, least, MOST_INTERVAL_MS)
        _check("secret", self.secret or 0, 0, MOST_SECRET)
        _check("capacity", self.capacity, 1, MOST_ENTRIES)
        _check("limit", self.limit, 0, self.capacity)
        _check("threshold", self.threshold, 0, MOST_ENTRIES)
        units_of(self.ratio)


def _check(name: str, value: object, least: int, most: int) -> None:
    """Raise InputError unless `value` is an integer from `least` to `most`; a bool is none."""
    if type(value) is not int or not least <= value <= most:
        raise InputError(f"{value!r} is out of range", where=name, allowed=f"{least} to {most}")


def units_of(ratio: float) -> int:
    """Return a ratio in units of 2^-32, rounded as `sfc-sdnmon` does. Raises InputError."""
    if isinstance(ratio, bool) or not isinstance(ratio, int | float) or not 0 <= ratio <= 1:
        raise InputError(f"{ratio!r} is out of range", where="ratio", allowed="0 to 1")
    return int(ratio * RATIO_ONE + 0.5)


def features_request() -> Request:
    """Ask what the agent can do. From this request on, the agent also sends its notifications."""
    return Request(Kind.FEATURES)


_SETTINGS = struct.Struct("!BBHIQQIIIHH")


def mode_on(settings: Settings) -> Request:
    """Ask to start monitoring."""
    return Request(Kind.MODE_ON, _settings(settings))


def mode_off() -> Request:
    """Ask to stop monitoring and to remove everything."""
    return Request(Kind.MODE_OFF)


def reset_table(settings: Settings) -> Request:
    """Ask for an empty table with other settings."""
    return Request(Kind.RESET_TABLE, _settings(settings))


def _settings(settings: Settings) -> bytes:
    """Return the content that MODE_ON and RESET_TABLE share: the settings, then the fields with
    their masks."""
    fields = [
        bytes([number, field.bytes]) + settings.layout.masks[field.name].to_bytes(field.bytes)
        for number, field in enumerate(FIELDS)
        if field.name in settings.layout.masks
    ]
    head = _SETTINGS.pack(
        MODES.index(settings.mode),
        0 if settings.secret is None else _SECRET_GIVEN,
        settings.counter_buffer_size,
        settings.query_interval_ms,
        units_of(settings.ratio),
        settings.secret or 0,
        settings.capacity,
        settings.limit,
        settings.threshold,
        len(fields),
        0,
    )
    return head + b"".join(fields)


def add_entries(keys: Sequence[bytes]) -> list[Request]:
    """Ask to monitor flows, whatever sampling says. Returns as many messages as the keys need."""
    return _of_keys(Kind.ADD_ENTRIES, keys)


def remove_entries(keys: Sequence[bytes]) -> list[Request]:
    """Ask to stop monitoring flows. Returns as many messages as the keys need."""
    return _of_keys(Kind.REMOVE_ENTRIES, keys)


def _of_keys(kind: Kind, keys: Sequence[bytes]) -> list[Request]:
    """Return as many messages as the keys need, which all have the same length."""
    if not keys:
        return []
    size = len(keys[0])
    at_once = _MOST_KEYS_BYTES // size
    parts = [keys[at : at + at_once] for at in range(0, len(keys), at_once)]
    return [Request(kind, struct.pack("!HH", len(each), size) + b"".join(each)) for each in parts]


def set_sampling_ratio(ratio: float) -> Request:
    """Ask to monitor this share of the flows. Raises InputError."""
    return Request(Kind.SET_SAMPLING_RATIO, struct.pack("!Q", units_of(ratio)))


def set_query_time_interval(interval_ms: int) -> Request:
    """Ask to set ΔT_q. Raises InputError."""
    _check("query_interval_ms", interval_ms, LEAST_INTERVAL_MS, MOST_INTERVAL_MS)
    return Request(Kind.SET_QUERY_TIME_INTERVAL, struct.pack("!I", interval_ms))


def set_overflow_notification_threshold(entries: int) -> Request:
    """Ask for a notification when there are more than `entries`; 0: never. Raises InputError."""
    _check("threshold", entries, 0, MOST_ENTRIES)
    return Request(Kind.SET_OVERFLOW_NOTIFICATION_THRESHOLD, struct.pack("!I", entries))


def set_limit(entries: int) -> Request:
    """Ask to limit the number of entries. Raises InputError."""
    _check("limit", entries, 1, MOST_ENTRIES)
    return Request(Kind.SET_LIMIT, struct.pack("!I", entries))


def prune() -> Request:
    """Ask to remove entries that are no longer sampled."""
    return Request(Kind.PRUNE)


def status_request() -> Request:
    """Ask for settings and totals."""
    return Request(Kind.STATUS)


def statistics_request(buffers: bool = True) -> Request:
    """Ask for all entries, with their counter buffers or without."""
    return Request(Kind.STATISTICS, struct.pack("!B3x", _WITH_BUFFERS if buffers else 0))


# --- what the switch sends ---


@dataclass(frozen=True)
class Features:
    """What an agent can do."""

    version: int
    """Version of the formats of messages."""
    on: bool
    most_slots: int
    most_entries: int
    fields: tuple[str, ...]
    """Names of match fields."""


@dataclass(frozen=True)
class Acknowledgement:
    """The switch says that a request was fulfilled, and nothing else."""


@dataclass(frozen=True)
class FlowChanges:
    """How many flows of a request to add or remove were changed, and how many were not."""

    done: int
    unchanged: int
    """Flows that had an entry already, or had none to remove."""
    no_room: int = 0


@dataclass(frozen=True)
class PrunedEntries:
    """How many entries the switch has pruned."""

    removed: int


@dataclass(frozen=True)
class Status:
    """Settings and totals of a switch that is monitored."""

    layout: Layout
    mode: str
    counter_buffer_size: int
    query_interval_ms: int
    ratio: float
    epoch: int
    """The epoch when the switch answered."""
    capacity: int
    limit: int
    threshold: int
    entries: int
    notifications: int
    """Sent since the monitoring began."""
    totals: dict[str, int]
    """How many packets were counted, and how many were not, by reason."""
    ports: dict[str, int]
    """Interface -> its number in the system."""


@dataclass(frozen=True)
class MonitoringOff:
    """Status of a switch that is not monitored."""


@dataclass(frozen=True)
class Overflow:
    """A notification: the table has more entries than the threshold."""

    time_ns: int
    """Since 1970 (UTC), by the clock of the switch."""
    entries: int
    threshold: int


Message = (
    Features
    | Acknowledgement
    | FlowChanges
    | PrunedEntries
    | Status
    | MonitoringOff
    | StatisticsPart
    | Overflow
)


def read(exp_type: int, content: bytes) -> Message:
    """Return the message of a switch with this type and content. Raises WrongAnswer."""
    reading = _READERS.get(exp_type)
    if reading is None:
        raise WrongAnswer(f"SDN-Mon has no message {exp_type:#x}")
    try:
        return reading(content)
    except (struct.error, ValueError, IndexError, InputError) as error:
        raise WrongAnswer(f"the message {exp_type:#x} of the switch is wrong: {error}") from error


def _read_nothing(content: bytes) -> Acknowledgement:
    """Return the acknowledgement that has no content. Raises ValueError if there is some."""
    if content:
        raise ValueError("it is too long")
    return Acknowledgement()


def _read_features(content: bytes) -> Features:
    """Return what FEATURES_REQUEST is answered. Raises struct.error."""
    version, on, slots, entries, fields, _ = struct.unpack("!BBHIII", content)
    names = tuple(f.name for number, f in enumerate(FIELDS) if fields >> number & 1)
    return Features(version, bool(on), slots, entries, names)


_STATUS = struct.Struct(f"!BBHIQQIIIIIHH{len(TOTALS)}Q")
_PORT = struct.Struct("!II16s")


def _read_status(content: bytes) -> Status | MonitoringOff:
    """Return what STATUS_REQUEST is answered. Raises ValueError, InputError, IndexError or
    struct.error if it is wrong."""
    if content == bytes(4):
        return MonitoringOff()
    on, mode, slots, interval_ms, ratio, *numbers = _STATUS.unpack_from(content)
    if not on:
        raise ValueError("it is off, and yet has settings")
    _check("counter_buffer_size", slots, 1, MOST_SLOTS)
    _check("ratio", ratio, 0, RATIO_ONE)
    epoch, capacity, limit, threshold, entries, notifications, ports, fields, *totals = numbers
    layout, at = _read_fields(content, _STATUS.size, fields)
    if len(content) != at + ports * _PORT.size:
        raise ValueError("its length does not fit to its ports")
    return Status(
        layout,
        MODES[mode],
        slots,
        interval_ms,
        ratio / RATIO_ONE,
        *(epoch, capacity, limit, threshold, entries, notifications),
        totals=dict(zip(TOTALS, totals, strict=True)),
        ports={
            name.rstrip(b"\0").decode("ascii", "backslashreplace"): number
            for number, _, name in _PORT.iter_unpack(content[at:])
        },
    )


def _read_fields(content: bytes, at: int, count: int) -> tuple[Layout, int]:
    """Return the layout of `count` fields from offset `at` on, and the offset behind them.
    Raises ValueError."""
    masks: dict[str, int] = {}
    for _ in range(count):
        field, size = FIELDS[content[at]], content[at + 1]
        mask = content[at + 2 : at + 2 + size]
        if field is PRESENCE or field.name in masks or not len(mask) == size == field.bytes:
            raise ValueError(f"its mask of {field.name} is wrong")
        masks[field.name] = int.from_bytes(mask)
        at += 2 + size
    return Layout(masks), at


_READERS: dict[int, Callable[[bytes], Message]] = {
    REPLY | Kind.FEATURES: _read_features,
    REPLY | Kind.ADD_ENTRIES: lambda content: FlowChanges(*struct.unpack("!III", content)),
    REPLY | Kind.REMOVE_ENTRIES: lambda content: FlowChanges(*struct.unpack("!III", content)),
    REPLY | Kind.PRUNE: lambda content: PrunedEntries(*struct.unpack("!I", content)),
    REPLY | Kind.STATUS: _read_status,
    REPLY | Kind.STATISTICS: read_part,
    Kind.OVERFLOW_NOTIFICATION: lambda content: Overflow(*struct.unpack("!QII", content)),
    **{
        REPLY | kind: _read_nothing
        for kind in (
            Kind.MODE_ON,
            Kind.MODE_OFF,
            Kind.RESET_TABLE,
            Kind.SET_SAMPLING_RATIO,
            Kind.SET_QUERY_TIME_INTERVAL,
            Kind.SET_OVERFLOW_NOTIFICATION_THRESHOLD,
            Kind.SET_LIMIT,
        )
    },
}
