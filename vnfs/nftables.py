"""nftables on a host: one table per function, with named counters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

from sfcperf.environment.tools import tool
from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement

LOAD_TIMEOUT_S = 120.0
COMMAND_TIMEOUT_S = 30.0
RULES_AT_ONCE = 10_000
"""nft takes 3 KiB of the function's memory for each rule."""


def requirement() -> Requirement:
    """The command `nft`."""
    return tool("nft", "nftables", ["nft", "--version"])


def load(host: Host, table: str, body: str) -> None:
    """Put a table of family `ip` there in one transaction; one of the same name is replaced.

    `body` is what stands between the braces: chains, counters. A closing brace must start its
    line (nft 1.0.6 takes no other). Raises MeasurementError with what nft said.
    """
    text = f"table ip {table}\ndelete table ip {table}\ntable ip {table} {{\n{body}\n}}\n"
    _nft(host, text)


def append(host: Host, table: str, chain: str, rules: Sequence[str]) -> None:
    """Put rules at the end of a chain, in portions. Raises MeasurementError with what nft said."""
    for start in range(0, len(rules), RULES_AT_ONCE):
        portion = rules[start : start + RULES_AT_ONCE]
        text = "".join(f"add rule ip {table} {chain} {rule}\n" for rule in portion)
        _nft(host, text)


def packets(host: Host, table: str) -> Mapping[str, int]:
    """Named counter -> packets, since the table was loaded. Raises MeasurementError.

    Named counters are read without the rules, which may be many.
    """
    argv = ["nft", "--json", "list", "counters", "table", "ip", table]
    listing = json.loads(host.run(argv, timeout_s=COMMAND_TIMEOUT_S).stdout)
    objects = [entry["counter"] for entry in listing["nftables"] if "counter" in entry]
    counted = {str(each["name"]): int(each["packets"]) for each in objects}
    if not counted:
        raise MeasurementError(f"the nftables table {table} is gone", where=host.name)
    return counted


def remove(host: Host, table: str) -> None:
    """Harmless when it is gone, or its host."""
    with suppress(MeasurementError):
        host.run(["nft", "delete", "table", "ip", table], timeout_s=COMMAND_TIMEOUT_S, check=False)


_LACKING = ("Operation not supported", "Protocol not supported", "No such file or directory")
"""What the kernel answers when it lacks what a rule is made of."""


def _nft(host: Host, text: str) -> None:
    """Hand commands to nft. Raises MeasurementError; where the host's kernel lacks something, it
    says so."""
    try:
        host.run(["nft", "-f", "-"], stdin=text.encode(), timeout_s=LOAD_TIMEOUT_S)
    except MeasurementError as error:
        if not any(words in error.message for words in _LACKING):
            raise
        seen = host.run(["nft", "list", "tables"], timeout_s=COMMAND_TIMEOUT_S, check=False)
        what = "nf_tables" if seen.returncode else "a module of nf_tables that the rules need"
        raise MeasurementError(
            f"the kernel lacks {what}: {error.message}",
            hint="load its modules there (nf_tables, nft_ct, nft_chain_nat, nft_nat, nft_numgen, "
            "nft_hash), or take an image whose kernel has them",
        ) from error
