"""What is said when a host's kernel lacks nf_tables, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import CompletedCommand, Host
from sfcperf.vnfs import nftables

REFUSALS = {
    "Error: Could not process rule: Operation not supported": "a module of nf_tables",
    "Error: Could not process rule: No such file or directory": "a module of nf_tables",
    "netlink: Error: cache initialization failed: Protocol not supported": "nf_tables",
}


class Kernel:
    """Refuses rules in these words; `nft list tables` works, or does not."""

    name = "guest"

    def __init__(self, words: str, lists: bool) -> None:
        self.words = words
        self.lists = lists

    def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
        if "list" in argv:
            return CompletedCommand(tuple(argv), 0 if self.lists else 1, b"", b"")
        raise MeasurementError(f"nft -f - ended with 1: {self.words}")


@pytest.mark.parametrize(("words", "lacks"), REFUSALS.items())
def test_a_kernel_that_lacks_something_is_said_to(words: str, lacks: str) -> None:
    host = cast(Host, Kernel(words, lists="module" in lacks))
    with pytest.raises(MeasurementError, match=f"the kernel lacks {lacks}") as raised:
        nftables.Table(host, "t", "").load()
    assert words in raised.value.message
    assert "nft_ct" in str(raised.value.hint)


def test_other_complaints_stay_as_they_are() -> None:
    host = cast(Host, Kernel("Error: syntax error, unexpected string", lists=True))
    with pytest.raises(MeasurementError, match=r"^nft -f - ended with 1: Error: syntax"):
        nftables.Table(host, "t", "", {"c": ["nonsense"]}).load()
