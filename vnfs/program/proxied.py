"""A program that ends connections, in a host that redirects them to it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.nftables import Table
from sfcperf.vnfs.program import redirect
from sfcperf.vnfs.program.frames import Frames
from sfcperf.vnfs.program.routed import Routed

TABLE = "sfcperf-proxy"
_LOCAL = "127.0.0.1"
_MARK = 0x5FCE
_ROUTES = 5303
"""Routing table of packets that are for the program, whatever their addresses."""
_LOCALLY = (
    f"route {{}} local default dev lo table {_ROUTES}",
    f"rule {{}} fwmark {_MARK:#x} priority 100 lookup {_ROUTES}",
)


_FIRST = {"tcp": "tcp flags & (syn | ack) == syn", "udp": ""}
"""Part of a rule that matches the first packets of connections; datagrams have none."""


class Proxied(Routed):
    """A host that redirects the client's connections to its program, and forwards all else.

    What the program sends has the addresses of client and server, as if it crossed the host: the
    chain before and behind it needs no others. The kernel translates them, or the program is
    transparent and uses them itself.
    """

    rules_gone = "nothing is redirected any more"

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        """Make the function; its program has a knob of its own more, the port, and is ready when
        that is open, unless the knobs say otherwise. Raises MeasurementError."""
        own = redirect.own_placeholders(knobs)
        [listen] = own.values()
        as_knobs = {name: {"type": "integer"} for name in own}
        more = {
            "schema": {**knobs["schema"], **as_knobs},
            "values": {**knobs["values"], **own},
            "ready": knobs["ready"] or {"port": listen},
        }
        super().__init__(host, attachment, {**knobs, **more})
        self._frames = Frames(host, attachment.interfaces)
        self._transparent = bool(knobs["redirect"]["transparent"])
        body = transparent_rules if self._transparent else translating_rules
        self._engine = Table(host, TABLE, body(attachment, knobs["redirect"], listen))

    def set_up(self) -> None:
        """Lead connections to the program, then start it and wait until it is ready."""
        if self._transparent:
            self._ip([line.format("add") for line in _LOCALLY])
        else:
            self._translate()
        self._engine.load()
        super().set_up()

    def _translate(self) -> None:
        """Let the program's sockets use the loopback address on both interfaces, the only one that
        every host has. Raises MeasurementError."""
        self._settings.set(
            {f"net/ipv4/conf/{name}/route_localnet": "1" for name in self._interfaces}
        )
        # A socket that chooses no address gets this one, also on hosts with others: replies to
        # datagrams are those of the redirection only then.
        self._ip(
            [
                f"route replace {address}/32 dev {interface} scope link src {_LOCAL}"
                for interface, (address, _) in self._ends
            ]
        )

    def counters(self) -> Mapping[str, int]:
        """Return packets since the start at both interfaces, those of the program and those that
        the kernel forwards: `received`, `forwarded` (sent) and `dropped` by the interfaces;
        `connections` that were redirected (UDP: datagrams); and what the
        program's command prints, in place of these where names are equal. Raises
        MeasurementError."""
        return {
            **self._frames.counters(),
            **self._engine.counters(),
            **self._program.counters(),
        }

    def take_away(self) -> None:
        """End the program, and remove the redirection."""
        super().take_away()
        self._engine.remove()
        if self._transparent:
            with suppress(MeasurementError):
                self._ip([line.format("delete") for line in _LOCALLY], "-force")


def translating_rules(attachment: Attachment, knob: Mapping[str, Any], listen: int) -> str:
    """Return the body of an nftables.Table that translates addresses: of the client's connections
    to the program's port at the loopback address, and of what the program sends to the server from
    that or any other address of the host to the client's. What arrives for a loopback address by
    itself is dropped, as everywhere where such addresses are not routed."""
    client, server = attachment.client[0], attachment.server[0]
    inside, outside = attachment.interfaces
    taken = _taken(inside, server, knob)
    return f"""
counter connections {{
}}
chain arriving {{
type filter hook prerouting priority raw; policy accept;
iifname {{ "{inside}", "{outside}" }} ip daddr 127.0.0.0/8 drop
{taken} {_FIRST[knob["protocol"]]} counter name connections
}}
chain taken {{
type nat hook prerouting priority dstnat; policy accept;
{taken} dnat to {_LOCAL}:{listen}
}}
chain source {{
type nat hook postrouting priority srcnat; policy accept;
oifname "{outside}" ip daddr {server} ip saddr != {client} snat to {client}
}}"""


def transparent_rules(attachment: Attachment, knob: Mapping[str, Any], listen: int) -> str:
    """Return the body of an nftables.Table that hands packets to transparent sockets: the first
    ones of the client's connections to the program's port, others to the socket that has their
    addresses. A reset of no TCP connection is forwarded."""
    taken = _taken(attachment.interfaces[0], attachment.server[0], knob)
    # Only a socket that listens has wildcards, and a half-open connection cannot be asked for them.
    others = {
        "tcp": (
            "tcp flags != rst socket transparent 1",
            "tcp flags == rst socket transparent 1 socket wildcard 0",
        ),
        "udp": ("meta l4proto udp socket transparent 1",),
    }[knob["protocol"]]
    to_program = f"meta mark set {_MARK} accept"
    owned = "\n".join(f"{packets} {to_program}" for packets in others)
    return f"""
counter connections {{
}}
chain taken {{
type filter hook prerouting priority mangle; policy accept;
{taken} {_FIRST[knob["protocol"]]} counter name connections tproxy to :{listen} {to_program}
{owned}
}}"""


def _taken(interface: str, server: str, knob: Mapping[str, Any]) -> str:
    """Return the part of a rule that matches what the program takes."""
    ports = ", ".join(map(str, knob["ports"]))
    return f'iifname "{interface}" ip daddr {server} {knob["protocol"]} dport {{ {ports} }}'
