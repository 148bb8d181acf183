"""The NAT as a VNF type: the client's ports are translated, and on demand the server's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sfcperf.errors import InputError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs import kernel_forwarding, nftables
from sfcperf.vnfs.base import Attachment, NetworkFunction
from sfcperf.vnfs.kernel_forwarding import CHECK_CHECKSUMS_KNOB, KernelForwarding
from sfcperf.vnfs.nat import rules

TABLE = "sfcperf-nat"
STATISTICS = "/proc/net/stat/nf_conntrack"
"""A line of names, and one of hexadecimal numbers for each CPU."""
PORTS_OF_SERVER = ("virtual_port", "server_port")
"""Knobs: the port that the client addresses, and the one where the server listens."""
_PORT = {"minimum": 1, "maximum": 65535}


class Nat(NetworkFunction):
    """Translates each connection's source port, and one destination port when asked to."""

    name: ClassVar[str] = "nat"
    title: ClassVar[str] = "address and port translation of the Linux kernel (conntrack, nftables)"
    nsh_aware: ClassVar[bool] = False
    interfaces: ClassVar[int] = 2
    folder: ClassVar[Path] = Path(__file__).resolve().parent
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "first_port": {
                "description": "Source ports are translated to a random one from here ...",
                "type": "integer",
                **_PORT,
                "default": 1024,
            },
            "last_port": {
                "description": "... to here. The default range lies below the ports that Linux "
                "clients use, so that every connection's port is translated.",
                "type": "integer",
                **_PORT,
                "default": 32767,
            },
            "virtual_port": {
                "description": "TCP and UDP port that the client addresses; null: destinations "
                "stay as they are.",
                "type": ["integer", "null"],
                **_PORT,
                "default": None,
            },
            "server_port": {
                "description": "What `virtual_port` is translated to: where the server listens.",
                "type": ["integer", "null"],
                **_PORT,
                "default": None,
            },
            "check_checksums": CHECK_CHECKSUMS_KNOB,
        },
    }

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """`ip`, `sysctl`, `nft`."""
        return [*kernel_forwarding.requirements(), nftables.requirement()]

    @classmethod
    def check(cls, knobs: Mapping[str, Any]) -> None:
        """See NetworkFunction.check."""
        first, last = knobs["first_port"], knobs["last_port"]
        if first > last:
            raise InputError(
                f"first_port {first} is above last_port {last}",
                where="first_port",
                allowed=f"at most last_port, {last}",
            )
        for given, lacking in (PORTS_OF_SERVER, PORTS_OF_SERVER[::-1]):
            if knobs[given] is not None and knobs[lacking] is None:
                raise InputError(
                    f"{given} without {lacking}",
                    where=given,
                    hint="give both for destination NAT, or neither",
                )

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningNat:
        """Routes, rules, then forwarding on. Raises DeploymentError."""
        virtual, real = (knobs[name] for name in PORTS_OF_SERVER)
        body = rules.nftables(
            attachment,
            (int(knobs["first_port"]), int(knobs["last_port"])),
            None if virtual is None else (int(virtual), int(real)),
        )
        with kernel_forwarding.deployment_errors(host, attachment):
            running = RunningNat(host, attachment)
            with kernel_forwarding.all_or_nothing(running):
                running.add_routes()
                running.load(body)
                running.check_checksums(bool(knobs["check_checksums"]))
                running.forward()
        return running


class RunningNat(KernelForwarding):
    """A host whose kernel translates and forwards."""

    _dropped_before = 0

    def load(self, body: str) -> None:
        """Put the rules there. Raises MeasurementError."""
        nftables.load(self._host, TABLE, body)
        # On a host that tracked connections before.
        self._dropped_before = _dropped(self._host)

    def counters(self) -> Mapping[str, int]:
        """As of kernel forwarding, and packets both ways by what became of their connection:
        `translated_source`, `translated_destination`; `untracked` belong to none and went on as
        they came. `dropped_untranslated` packets found no free port, or no room in the table of
        connections; the kernel's statistics take them for forwarded. Raises MeasurementError."""
        kernel = super().counters()
        lost = _dropped(self._host) - self._dropped_before
        return {
            **kernel,
            **nftables.packets(self._host, TABLE),
            "forwarded": kernel["forwarded"] - lost,
            "dropped": kernel["dropped"] + lost,
            "dropped_untranslated": lost,
        }

    def problem(self) -> str | None:
        """Also when the rules are gone."""
        if (problem := super().problem()) is not None:
            return problem
        try:
            nftables.packets(self._host, TABLE)
        except MeasurementError as error:
            return f"the NAT's rules are gone: {error.message}"
        return None

    def take_away(self) -> None:
        """The rules."""
        nftables.remove(self._host, TABLE)


def _dropped(host: Host) -> int:
    """Packets that connection tracking has dropped since the network namespace was made."""
    names, *rows = (line.split() for line in host.read_text(STATISTICS).splitlines())
    return sum(int(row[names.index("drop")], 16) for row in rows)
