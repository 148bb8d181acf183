"""nftables on a host: one table per function, with named counters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement
from sfcperf.vnfs.engine import Engine

LOAD_TIMEOUT_S = 120.0
COMMAND_TIMEOUT_S = 30.0
RULES_AT_ONCE = 10_000
"""Most rules in one transaction: nft takes 3 KiB of the function's memory for each."""


class Table(Engine):
    """A table, of family `ip` unless another one is given, with at least one named counter if
    `counters` is called."""

    def __init__(
        self,
        host: Host,
        name: str,
        body: str,
        more: Mapping[str, Sequence[str]] | None = None,
        *,
        family: str = "ip",
    ) -> None:
        """`body` is what stands between the braces: chains, counters. A closing brace must start
        its line (nft 1.0.6 takes no other). `more`: chain -> rules for its end, which may be more
        than fit into one transaction. `family`: as nft names it."""
        self._host = host
        self.name = name
        self._family = family
        self._body = body
        self._more = more or {}

    @classmethod
    def requirements(cls) -> list[Requirement]:
        """Require the command `nft`."""
        return [tool("nft", "nftables", ["nft", "--version"])]

    def load(self) -> None:
        """Replace the table in one transaction, then add `more` in portions of RULES_AT_ONCE.
        Raises MeasurementError with what nft said."""
        name = f"table {self._family} {self.name}"
        # The first line adds the table if it is not there: else `delete` would fail.
        self.transact(f"{name}\ndelete {name}\n{name} {{\n{self._body}\n}}\n")
        for chain, rules in self._more.items():
            for start in range(0, len(rules), RULES_AT_ONCE):
                portion = rules[start : start + RULES_AT_ONCE]
                add = f"add rule {self._family} {self.name} {chain}"
                self.transact("".join(f"{add} {rule}\n" for rule in portion))

    def transact(self, commands: str) -> None:
        """Hand commands to nft, all of which are done or none. Raises MeasurementError with what
        nft said."""
        _nft(self._host, commands)

    def counters(self) -> Mapping[str, int]:
        """Return named counter -> packets. Raises MeasurementError, also when the table is gone.
        The rules, which may be many, are not read."""
        argv = ["nft", "--json", "list", "counters", "table", self._family, self.name]
        listing = json.loads(self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S).stdout)
        objects = [entry["counter"] for entry in listing["nftables"] if "counter" in entry]
        counted = {str(each["name"]): int(each["packets"]) for each in objects}
        if not counted:
            raise MeasurementError(f"the nftables table {self.name} is gone", where=self._host.name)
        return counted

    def remove(self) -> None:
        """Delete the table by `nft`, and ignore failures: it may be gone, or its host."""
        argv = ["nft", "delete", "table", self._family, self.name]
        with suppress(MeasurementError):
            self._host.run(argv, timeout_s=COMMAND_TIMEOUT_S, check=False)


_LACKING = ("Operation not supported", "Protocol not supported", "No such file or directory")
"""What the kernel answers when it lacks what a rule is made of."""


def _nft(host: Host, text: str) -> None:
    """Hand commands to nft. Raises MeasurementError with what nft said; where the kernel of the
    host lacks something that they need, the error says what."""
    try:
        host.run(["nft", "-f", "-"], stdin=text.encode(), timeout_s=LOAD_TIMEOUT_S)
    except MeasurementError as error:
        if not any(words in error.message for words in _LACKING):
            raise
        # To list tables takes nf_tables itself, and none of its modules.
        tables = host.run(["nft", "list", "tables"], timeout_s=COMMAND_TIMEOUT_S, check=False)
        what = "nf_tables" if tables.returncode else "a module of nf_tables that the rules need"
        raise MeasurementError(
            f"the kernel lacks {what}: {error.message}",
            hint="load its modules there (nf_tables, nft_ct, nft_chain_nat, nft_nat, nft_numgen, "
            "nft_hash), or take an image whose kernel has them",
        ) from error
