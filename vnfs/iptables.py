"""iptables on a host: chains of a function's own beside those of the host."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs.engine import Engine

COMMAND_TIMEOUT_S = 60.0


class Chains(Engine):
    """Chains of a function's own: one transaction puts them there, and another takes them away.
    Subclasses say what the chains count."""

    command: ClassVar[str] = "iptables-nft"
    """Variant of iptables, without the ending `-restore`."""

    def __init__(self, host: Host, text: str, removal: str) -> None:
        """`text` puts the chains there, and `removal` takes them away. Both are input of
        `iptables-restore --noflush`."""
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
        self._restore(self._text)

    def remove(self) -> None:
        """Take the chains away in one transaction, and ignore its failure: they may be gone."""
        with suppress(MeasurementError):
            self._restore(self._removal)

    def _restore(self, text: str) -> None:
        # The host's own chains stay: without --noflush they would be replaced.
        argv = [f"{self.command}-restore", "--wait", "--noflush"]
        self._host.run(argv, stdin=text.encode(), timeout_s=COMMAND_TIMEOUT_S)
