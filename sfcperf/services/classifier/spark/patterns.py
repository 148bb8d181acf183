"""Regular expressions of flow records, in the syntax of Java. They match what `records.parse`
accepts.

Spark has no parser of JSON that is strict about types, so the text of a record is matched instead.
No expression backtracks into a string or recurses over it: the time for a hostile message grows
only with its length.
"""

from __future__ import annotations

from sfcperf.services.classifier.records import LONGEST_NAME, MOST_NUMBER
from sfcperf.vnfs.ids.features import NAMES

_H = "[0-9A-Fa-f]{1,4}"


def at_most(limit: int) -> str:
    """Pattern of the whole numbers from 0 to the limit, as JSON writes them."""
    digits = str(limit)
    # Shorter numbers come first, since they are the usual ones: the match takes less time.
    found = ["0", f"[1-9][0-9]{{0,{len(digits) - 2}}}"] if len(digits) > 1 else []
    # Of the numbers with as many digits: those that begin like the limit, and have a smaller digit
    # at this place; what follows it does not matter. Last comes the limit itself.
    for place, digit in enumerate(digits):
        low, high = (1 if place == 0 and len(digits) > 1 else 0), int(digit) - 1
        if low <= high:
            rest = len(digits) - place - 1
            found.append(f"{digits[:place]}[{low}-{high}]" + (f"[0-9]{{{rest}}}" if rest else ""))
    return "(?:" + "|".join(dict.fromkeys([*found, digits])) + ")"


def _ipv4() -> str:
    octet = at_most(255)
    return rf"(?:{octet}\.){{3}}{octet}"


def _ipv6() -> str:
    """Pattern of an IPv6 address as inet_pton(3) reads it: `::` stands for one group or more."""
    found = [f"(?:{_H}:){{7}}{_H}", f"(?:{_H}:){{6}}{_ipv4()}"]
    # `before`: number of groups in front of `::`. An IPv4 address takes the place of two groups.
    for before in range(8):
        head = f"(?:{_H}:){{{before}}}:" if before else "::"
        found.append(f"{head}(?:(?:{_H}:){{0,{6 - before}}}{_H})?" if before < 7 else head)
        if before < 6:
            found.append(f"{head}(?:{_H}:){{0,{5 - before}}}{_ipv4()}")
    return "(?:" + "|".join(found) + ")"


ADDRESS = f'"(?:{_ipv4()}|{_ipv6()})"'
_PLAIN = r'"[^"\\\x00-\x1f]*+"'
"""Pattern of a JSON string without escapes."""
_ESCAPED = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+){0,100}+"'
"""Pattern of a JSON string with escapes. Their number is bounded, since Java recurses over
groups."""
_PLAIN_NAME = rf'"[^"\\\x00-\x1f]{{0,{LONGEST_NAME}}}+"'
_PAIR = r"\\u[dD][89abAB][0-9A-Fa-f]{2}\\u[dD][c-fC-F][0-9A-Fa-f]{2}"
"""Pattern of one character that is written as its two surrogates."""
_ESCAPED_NAME = rf'"(?:[^"\\\x00-\x1f]|{_PAIR}|\\u[0-9A-Fa-f]{{4}}|\\[^u]){{0,{LONGEST_NAME}}}+"'
_NUMBER = at_most(MOST_NUMBER)
_LIMITED = {
    "srcip": ADDRESS,
    "dstip": ADDRESS,
    "srcport": at_most(65535),
    "dstport": at_most(65535),
    "proto": at_most(255),
    "dscp": at_most(63),
}


def _features(string: str) -> str:
    """Pattern of a record's features. `string`: pattern of the strings that `class` may be."""
    columns = {**_LIMITED, "class": f"(?:null|{string})"}
    return r"\[" + ",".join(columns.get(name, _NUMBER) for name in NAMES) + r"\]"


def _fields(string: str, name: str) -> dict[str, str]:
    """Pattern of each field of a record. `string` and `name` are patterns of strings: with or
    without escapes."""
    return {
        "version": "1",
        "source": name,
        "run": name,
        "sequence": _NUMBER,
        "kind": '"(?:early|window)"',
        "first_ns": _NUMBER,
        "last_ns": _NUMBER,
        "features": _features(string),
    }


def _object(fields: dict[str, str]) -> str:
    """Pattern of a JSON object with these fields, in this order and without spaces."""
    return r"\{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + r"\}"


AS_EXPORTED = rf"\A{_object(_fields(_PLAIN, _PLAIN_NAME))}\s*+\z"
"""Pattern of a record as `sfc-ids` writes it."""
IN_ORDER = rf"\A{_object(dict(sorted(_fields(_ESCAPED, _ESCAPED_NAME).items())))}\]\z"
"""Pattern of a record without spaces whose fields are in alphabetic order; a `]` follows it."""
