"""iptables on a host: chains of a function's own beside those of the host."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import ClassVar

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs.engine import Engine

COMMAND_TIMEOUT_S = 60.0
_EACH = r"""while read -r table line; do printf '*%s\n%s\nCOMMIT\n' "$table" "$line" | "$@"; done"""
"""Runs the command that follows, with each line as a transaction."""


class Chains(Engine):
    """Chains of a function's own: one transaction puts them there. Subclasses say what the chains
    count."""

    command: ClassVar[str] = "iptables-nft"
    """Variant of iptables, without the ending `-restore`."""

    def __init__(self, host: Host, text: str, removal: Sequence[str]) -> None:
        """`text`, the input of `iptables-restore --noflush`, puts the chains there. `removal` takes
        them away: each is a table and what to delete in it, such as `filter -X CHAIN`."""
        self._host = host
        self._text = text
        self._removal = removal

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the command `COMMAND-restore`, for example `iptables-nft-restore`."""
        return [tool(f"{cls.command}-restore", "iptables")]

    def load(self) -> None:
        """Remove what an earlier function left, then put the chains there in one transaction.
        Raises MeasurementError."""
        self.remove()
        self._run(self._restore, self._text)

    def remove(self) -> None:
        """Take the chains away. What is gone already does not keep the rest: each deletion is a
        transaction of its own, whose failure is ignored."""
        argv = ["sh", "-c", _EACH, "sh", *self._restore]
        with suppress(MeasurementError):
            self._run(argv, "".join(f"{part}\n" for part in self._removal))

    @property
    def _restore(self) -> list[str]:
        # The host's own chains stay: without --noflush they would be replaced.
        return [f"{self.command}-restore", "--wait", "--noflush"]

    def _run(self, argv: Sequence[str], text: str) -> None:
        self._host.run(argv, stdin=text.encode(), timeout_s=COMMAND_TIMEOUT_S)
