"""Settings over a host that is a table of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import CompletedCommand, Host
from sfcperf.vnfs.kernel_settings import KernelSettings

FOLDER = "/proc/sys/"


class Table:
    """Answers `grep -sH "" FILES` and `sysctl` as Linux does."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = settings
        self.written: list[str] = []

    def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
        tool, *rest = argv
        if tool == "grep":
            names = [path.removeprefix(FOLDER) for path in rest[2:]]
            lines = [f"{FOLDER}{n}:{self.settings[n]}\n" for n in names if n in self.settings]
            return CompletedCommand(tuple(argv), 2, "".join(lines).encode(), b"")
        assert tool == "sysctl"
        for word in rest[rest.index("-w") + 1 :]:
            name, _, value = word.partition("=")
            if name not in self.settings and "-e" not in rest:
                raise MeasurementError(f"cannot stat {FOLDER}{name}")
            self.written.append(name)
            if name in self.settings:
                self.settings[name] = value
        return CompletedCommand(tuple(argv), 0, b"", b"")


def settings(table: Table) -> KernelSettings:
    return KernelSettings(cast(Host, table))


NAMES = st.sampled_from([f"net/ipv4/conf/eth0.{n}/rp_filter" for n in range(4)])
VALUES = st.sampled_from("012")


@given(
    st.fixed_dictionaries({f"net/ipv4/conf/eth0.{n}/rp_filter": VALUES for n in range(4)}),
    st.lists(st.dictionaries(NAMES, VALUES, min_size=1), max_size=4),
)
def test_whatever_was_set_is_given_back(
    there: dict[str, str], changes: list[dict[str, str]]
) -> None:
    table = Table(dict(there))
    changing = settings(table)
    for change in changes:
        changing.set(change)
        assert table.settings.items() >= change.items()
    changing.restore({})
    assert table.settings == there


def test_what_is_as_wanted_or_absent_is_not_written() -> None:
    """A kernel without IPv6 needs no quiet."""
    name = "net/ipv4/conf/eth0/rp_filter"
    table = Table({name: "0"})
    settings(table).set({name: "0", "net/ipv6/conf/eth0/disable_ipv6": "1"})
    assert table.written == []
    with pytest.raises(MeasurementError, match="rp_filter"):
        settings(Table({})).set({name: "0"})


def test_what_is_gone_at_the_end_is_left_out_and_some_things_stay() -> None:
    table = Table({"a/forwarding": "1", "b/rp_filter": "2"})
    changing = settings(table)
    changing.set({"b/rp_filter": "0"})
    del table.settings["b/rp_filter"]
    changing.restore({"a/forwarding": "0"})
    assert table.settings == {"a/forwarding": "0"}
