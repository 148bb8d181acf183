"""The knob `redirect`: which connections a program of `attach: proxy` ends."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.management.deployment import Redirection
from sfcperf.plugins import array, choice, flag, object_schema, port
from sfcperf.vnfs.program import placeholders

LISTEN = "listen"
"""Placeholder of the port at which the program takes the connections."""
_PORT = {"type": "integer", "minimum": 1, "maximum": 65_535}
_HTTP_GET = "GET / HTTP/1.1\r\nHost: {{server}}\r\nConnection: close\r\n\r\n"

REDIRECT = object_schema(
    {
        "protocol": choice("Protocol of the connections.", ["tcp", "udp"], default="tcp"),
        "ports": array(
            "Ports of the server: what the client sends there reaches the program instead.",
            _PORT,
            minItems=1,
            maxItems=8,
            uniqueItems=True,
        ),
        "listen": port(
            "Port at which the program listens, at 127.0.0.1 or all addresses; also `{{listen}}`. "
            "Default: the first of `ports`."
        ),
        "server_ports": array(
            "Ports of the server to which the program connects. Default: those of `ports`.",
            _PORT,
            maxItems=8,
            uniqueItems=True,
            default=[],
        ),
        "transparent": flag(
            "Redirect by TPROXY, for programs whose sockets have IP_TRANSPARENT, on both sides: "
            "the program itself connects with the client's address. Otherwise, the kernel "
            "translates addresses: the program finds the server's by SO_ORIGINAL_DST, or has it "
            "from `{{server}}`, and the server sees the client's."
        ),
        "request": {
            "type": "string",
            "maxLength": 4096,
            "description": "First bytes from a client upon which the program turns to the server, "
            "for the traversal proof; `\\u00NN` is a byte, and `{{server}}` the server's address. "
            "Default: GET of HTTP (tcp), or a DNS query (udp) for a new name below example.com.",
        },
    },
    required=["ports"],
    type=["object", "null"],
    description="Which connections the program ends; for `attach: proxy`, which needs it.",
    default=None,
)


def check(knobs: Mapping[str, Any]) -> None:
    """Refuse a proxy without `redirect`, or whose data plane is the kernel, and `redirect` for
    others. Raises InputError."""
    proxied, redirect = knobs["attach"] == "proxy", knobs["redirect"]
    if proxied != (redirect is not None):
        raise InputError(
            "attach is proxy, and nothing says which connections the program ends"
            if proxied
            else f"only proxies redirect connections, and attach is {knobs['attach']}",
            where="redirect",
            allowed='such as {"ports": [80]}, with `"attach": "proxy"`',
        )
    if redirect is None:
        return
    if knobs["data_plane"] == "kernel":
        raise InputError(
            "the kernel ends no connections", where="data_plane", allowed='"program", with a proxy'
        )
    try:
        redirect.get("request", "").encode("latin-1")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{error.object[error.start]!r} is no byte",
            where="redirect/request",
            allowed="characters up to \\u00ff, one for each byte",
        ) from error
    placeholders.check(redirect.get("request"), ["server"], "redirect/request")


def own_placeholders(knobs: Mapping[str, Any]) -> dict[str, int]:
    """Placeholder that only proxies have -> its value: the port at which the program listens."""
    redirect = knobs["redirect"]
    return {} if redirect is None else {LISTEN: redirect.get("listen", redirect["ports"][0])}


def redirection(redirect: Mapping[str, Any]) -> Redirection:
    """Return the knob's value as drivers need it."""
    protocol, text = redirect["protocol"], redirect.get("request")

    def request(server: str) -> bytes:
        if text is None and protocol == "udp":
            return _dns_query()
        known = {"server": server}
        return placeholders.filled(_HTTP_GET if text is None else text, known).encode("latin-1")

    ports, server_ports = redirect["ports"], redirect["server_ports"]
    return Redirection(protocol, tuple(ports), tuple(server_ports), request)


def _dns_query() -> bytes:
    """Make a query (RFC 1035, section 4) for the address (type A, class IN) of a new name of 16
    characters below example.com (RFC 2606): recursion desired, one question."""
    header = secrets.token_bytes(2) + b"\1\0\0\1\0\0\0\0\0\0"
    name = b"\x10" + secrets.token_hex(8).encode() + b"\7example\3com\0"
    return header + name + b"\0\1\0\1"
