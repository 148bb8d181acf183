"""The NAT as a VNF type: the client's ports are translated, and on demand the server's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.errors import InputError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, object_schema, port
from sfcperf.vnfs import nftables
from sfcperf.vnfs.base import Attachment
from sfcperf.vnfs.connection_tracking import CHECK_CHECKSUMS_KNOB, ConnectionTracking
from sfcperf.vnfs.kernel_forwarding import KernelForwarding, KernelFunction

TABLE = "sfcperf-nat"
PORTS_OF_SERVER = ("virtual_port", "server_port")
"""Knobs: the port that the client addresses, and the one where the server listens."""


def table_body(
    attachment: Attachment, ports: tuple[int, int], destination: tuple[int, int] | None
) -> str:
    """Return the body of an nftables.Table that translates. Its last chain counts packets behind
    the translation.

    `ports`, first and last: what source ports (of ICMP: identifiers) are translated to, at random.
    `destination`: port of the server that the client addresses, and the one it is translated to;
    None: destinations stay unchanged.
    """
    client, server = attachment.client[0], attachment.server[0]
    inside, outside = attachment.interfaces
    onto = f"{client}:{ports[0]}-{ports[1]} fully-random"
    before = ""
    if destination is not None:
        virtual, real = destination
        before = (
            f'iifname "{inside}" ip daddr {server} meta l4proto {{ tcp, udp }} th dport {virtual} '
            f"dnat to {server}:{real}"
        )
    return f"""
counter translated_source {{
}}
counter translated_destination {{
}}
counter untracked {{
}}
chain destination {{
type nat hook prerouting priority dstnat; policy accept;
{before}
}}
chain source {{
type nat hook postrouting priority srcnat; policy accept;
oifname "{outside}" ip saddr {client} meta l4proto {{ tcp, udp }} snat to {onto}
oifname "{outside}" ip saddr {client} meta l4proto icmp snat to {onto}
}}
chain seen {{
type filter hook postrouting priority 300; policy accept;
ct status snat counter name translated_source
ct status dnat counter name translated_destination
oifname {{ "{inside}", "{outside}" }} ct state invalid counter name untracked
}}"""


class RunningNat(KernelForwarding):
    """A host whose kernel translates and forwards."""

    rules_gone = "the NAT's rules are gone"

    def __init__(self, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> None:
        super().__init__(host, attachment, knobs)
        ports = int(knobs["first_port"]), int(knobs["last_port"])
        virtual, real = (knobs[name] for name in PORTS_OF_SERVER)
        destination = None if virtual is None else (int(virtual), int(real))
        self._engine = nftables.Table(host, TABLE, table_body(attachment, ports, destination))
        self._tracking = ConnectionTracking(host, self._settings)

    def set_up(self) -> None:
        """Load the rules, then set up connection tracking."""
        super().set_up()
        self._tracking.set_up(check_checksums=self._knobs["check_checksums"])

    def counters(self) -> Mapping[str, int]:
        """Return the counters of kernel forwarding, and packets both ways by what happened to their
        connection: `translated_source`, `translated_destination`; `untracked` ones belong to none
        and were forwarded unchanged. ConnectionTracking adds its reasons for drops. Raises
        MeasurementError."""
        return {**self._tracking.counters(super().counters()), **self._engine.counters()}


def _optional_port(description: str) -> dict[str, Any]:
    """JSON Schema of a port or null; null is the default."""
    return port(description, default=None) | {"type": ["integer", "null"]}


class Nat(KernelFunction):
    """Translates each connection's source port and, if requested, one destination port."""

    name = "nat"
    title = "Address and port translation of the Linux kernel (conntrack, nftables)"
    running = RunningNat
    parameters = object_schema(
        {
            "first_port": port(
                "Lowest port that source ports are translated to, at random.", default=1024
            ),
            "last_port": port(
                "Highest such port. The default range is below the ports that Linux clients use, "
                "so every connection's port is translated.",
                default=32767,
            ),
            "virtual_port": _optional_port(
                "TCP and UDP port that the client addresses. Null: destinations stay unchanged."
            ),
            "server_port": _optional_port(
                "Port that `virtual_port` is translated to: the server listens there."
            ),
            "check_checksums": CHECK_CHECKSUMS_KNOB,
        }
    )

    @classmethod
    def own_requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require `nft`."""
        return nftables.Table.requirements()

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """Refuse a `first_port` above `last_port`, and `virtual_port` or `server_port` without the
        other. Raises InputError."""
        first, last = knobs["first_port"], knobs["last_port"]
        if first > last:
            raise InputError(
                f"first_port {first} is above last_port {last}",
                where="first_port",
                allowed=f"at most last_port, {last}",
            )
        for present, lacking in (PORTS_OF_SERVER, PORTS_OF_SERVER[::-1]):
            if knobs[present] is not None and knobs[lacking] is None:
                raise InputError(
                    f"{present} without {lacking}",
                    where=present,
                    hint="give both for destination NAT, or neither",
                )
