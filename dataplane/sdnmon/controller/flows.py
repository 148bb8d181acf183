"""Match fields and flows as people write them, and as keys (docs/reference/sdn-mon.md)."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from sfcperf.dataplane.sdnmon.fields import FIELDS, HEADERS, NAMES, PRESENCE, Field, Layout
from sfcperf.errors import InputError

Fields = str | Mapping[str, str | int | None]
"""Match fields as `ipv4_src/24,tp_dst`, or as `{"ipv4_src": 24, "tp_dst": None}`. None stands
for all bits."""
Flow = str | Mapping[str, str | int]
"""A flow as `ipv4_src=10.0.0.1,tp_dst=53`, or as `{"ipv4_src": "10.0.0.1", "tp_dst": 53}`. Leave
out fields that the packets do not have."""

BY_NAME = {field.name: field for field in FIELDS if field is not PRESENCE}
_MOST_TEXT = 2047
_FAMILIES = {4: socket.AF_INET, 16: socket.AF_INET6}
_MAC_BYTES = 6
_IMPLIED = (("tcp", "ports"), ("ipv4", "ip"), ("ipv6", "ip"), ("ports", "ip"), ("icmp", "ip"))
"""A packet that has the first header of a pair also has the second. The order matters: a pair
may need what an earlier one added."""
_EXAMPLES = {4: "10.0.0.1", 16: "fd00::1", _MAC_BYTES: "02:00:00:00:00:01"}


# --- values ---


def is_address(field: Field) -> bool:
    """Whether the field is an address of IPv4 or IPv6."""
    return field.header in ("ipv4", "ipv6")


def is_mac(field: Field) -> bool:
    """Whether the field is an address of Ethernet."""
    return field.bytes == _MAC_BYTES


def _value(field: Field, value: object) -> int | None:
    """Return the value as a number; None if it is no value of the field."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        plain = not is_address(field) and not is_mac(field)
        return value if plain and 0 <= value <= field.mask else None
    return _value_of_text(field, value) if isinstance(value, str) else None


def _value_of_text(field: Field, text: str) -> int | None:
    """Return the value as a number; None if it is no value of the field."""
    if is_address(field):
        with suppress(OSError, ValueError):
            return int.from_bytes(socket.inet_pton(_FAMILIES[field.bytes], text))
        return None
    if is_mac(field):
        if not re.fullmatch(r"[0-9A-Fa-f]{1,2}(:[0-9A-Fa-f]{1,2}){5}", text):
            return None
        return int.from_bytes(bytes(int(part, 16) for part in text.split(":")))
    if not re.fullmatch(r"[0-9]{1,20}|0x[0-9A-Fa-f]{1,16}", text):
        return None
    number = int(text, 16 if text.startswith("0x") else 10)
    return number if number <= field.mask else None


def _mask(field: Field, mask: object) -> int | None:
    """Return the mask as a number; None if it is no mask, or has no bit set. `mask` has the form
    of a value, or is the length of a prefix; None stands for all bits."""
    if mask is None:
        return field.mask
    prefix = str(mask)
    if is_address(field) and re.fullmatch(r"[0-9]{1,3}", prefix) and int(prefix) <= field.bits:
        return (field.mask << field.bits - int(prefix) & field.mask) or None
    return _value(field, mask) or None


def _shown(field: Field) -> Callable[[bytes], str | int]:
    """Return a function that turns a value in a key into what `sfc-sdnmon` prints."""
    if is_address(field):
        return partial(socket.inet_ntop, _FAMILIES[field.bytes])
    return (lambda value: value.hex(":")) if is_mac(field) else int.from_bytes


# --- fields ---


def layout_of(fields: Fields) -> Layout:
    """Return the layout for match fields and their masks. Raises InputError."""
    masks: dict[str, int] = {}
    for name, mask in _fields_of_text(fields) if isinstance(fields, str) else fields.items():
        if name not in BY_NAME:
            raise _no_field(name, "monitoring match field", NAMES)
        if name in masks:
            raise InputError(f"the field {name!r} is named twice", where="fields")
        found = _mask(BY_NAME[name], mask)
        if found is None:
            raise InputError(f"{mask!r} is no mask of {name}, or has no bit set", where="fields")
        masks[name] = found
    if not masks:
        raise InputError("a monitoring match field is needed", where="fields")
    return Layout(masks)


def _fields_of_text(text: str) -> list[tuple[str, str | None]]:
    """Split `ipv4_src/24,tp_dst` into names and masks; None: all bits."""
    _check_length(text)
    items = (item.partition("/") for item in text.split(","))
    return [(name, mask if slash else None) for name, slash, mask in items]


def fields_of(layout: Layout) -> dict[str, str | int]:
    """Return the layout's fields in the order of a key, with their masks."""
    fields = [BY_NAME[name] for name in in_order(layout)]
    return {f.name: _shown(f)(layout.masks[f.name].to_bytes(f.bytes)) for f in fields}


def in_order(layout: Layout) -> list[str]:
    """Return the names of the fields in the order of a key."""
    return [field.name for field in layout.fields if field is not PRESENCE]


# --- flows ---


def key_of(layout: Layout, flow: Flow) -> bytes:
    """Return the key of a flow. Raises InputError."""
    values: dict[str, int] = {}
    for name, text in _flow_of_text(flow) if isinstance(flow, str) else flow.items():
        if name not in layout.masks:
            raise _no_field(name, "field of this table", in_order(layout))
        # A field that is named twice has no value.
        value = None if name in values else _value(BY_NAME[name], text)
        if value is None:
            example = _EXAMPLES.get(BY_NAME[name].bytes if not _is_plain(name) else 0, "1")
            raise InputError(f"{name}: one value, such as {name}={example}", where="flow")
        values[name] = value
    if not values:
        raise InputError("a field is needed", where="flow", allowed=", ".join(in_order(layout)))
    return layout.key(values, _headers(values))


def _flow_of_text(text: str) -> list[tuple[str, str]]:
    """Split `ipv4_src=10.0.0.1,tp_dst=53` into names and values."""
    _check_length(text)
    return [(name, value) for name, _, value in (item.partition("=") for item in text.split(","))]


def _is_plain(name: str) -> bool:
    """Whether values of the field are numbers, not addresses."""
    return not is_address(BY_NAME[name]) and not is_mac(BY_NAME[name])


def _headers(values: Mapping[str, int]) -> set[str]:
    """Return the headers that a packet with these fields has, also those that another header
    implies."""
    headers = {header for name in values if (header := BY_NAME[name].header)}
    for has, implied in _IMPLIED:
        if has in headers:
            headers.add(implied)
    return headers


def reader(layout: Layout) -> Callable[[bytes], dict[str, str | int]]:
    """Return a function that turns a key of the table into a flow, as `sfc-sdnmon` prints it."""
    places, at = [], 0
    for field in layout.fields:
        place = slice(at, at + field.bytes)
        if field is PRESENCE:
            presence = place
        else:
            bit = 1 << HEADERS.index(field.header) if field.header else 0
            places.append((field.name, bit, place, _shown(field)))
        at += field.bytes

    def flow(key: bytes) -> dict[str, str | int]:
        has = int.from_bytes(key[presence])
        return {
            name: shown(key[place]) for name, bit, place, shown in places if not bit or bit & has
        }

    return flow


# --- errors ---


def _no_field(name: str, kind: str, known: list[str] | tuple[str, ...]) -> InputError:
    """Return the error that a name is none of the `known` ones, which are each a `kind`."""
    return InputError(f"{name!r} is no {kind}", where="fields", allowed=", ".join(known))


def _check_length(text: str) -> None:
    """Raise InputError if the text is too long."""
    if len(text) > _MOST_TEXT:
        raise InputError(f"more than {_MOST_TEXT} characters", where="fields")
