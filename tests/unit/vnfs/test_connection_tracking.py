"""Connection tracking over a host that is a table of settings: no namespace has a small table of
its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from sfcperf.errors import MeasurementError
from sfcperf.hosts.base import CompletedCommand, Host
from sfcperf.vnfs.connection_tracking import CONNECTIONS, STATISTICS, ConnectionTracking
from sfcperf.vnfs.kernel_settings import KernelSettings

FOLDER = "/proc/sys/net/netfilter/nf_conntrack_"
STATISTICS_OF_2_CPUS = """\
entries  clashres found new invalid ignore delete chainlength insert insert_failed drop
000007f2  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 {failed} {drop}
000007f2  00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000030
"""
"""The first columns of the kernel's, from a guest of 256 MiB whose table was full."""


class Guest:
    """Answers reading, `grep -sH "" FILES`, and `sysctl` as Linux does."""

    def __init__(self, room: int, *, writable: bool = True) -> None:
        self.settings = {"max": str(room), "buckets": str(room), "checksum": "1"}
        self.writable = writable
        self.statistics = STATISTICS_OF_2_CPUS.format(failed="00000000", drop="00000000")

    def read_text(self, path: str) -> str:
        if path == STATISTICS:
            return self.statistics
        return self.settings[path.removeprefix(FOLDER)] + "\n"

    def run(self, argv: Sequence[str], **how: Any) -> CompletedCommand:
        said = b""
        if argv[0] == "grep":
            said = "".join(f"{path}:{self.read_text(path)}" for path in argv[3:]).encode()
        else:
            for word in argv[argv.index("-w") + 1 :]:
                name, _, value = word.partition("=")
                short = name.removeprefix("net/netfilter/nf_conntrack_")
                if short != "checksum" and not self.writable:
                    raise MeasurementError(f"permission denied on key {name}")
                self.settings[short] = value
        return CompletedCommand(tuple(argv), 0, said, b"")


def tracking(guest: Guest) -> tuple[ConnectionTracking, KernelSettings]:
    host = cast(Host, guest)
    settings = KernelSettings(host)
    return ConnectionTracking(host, settings), settings


def test_a_small_table_grows_and_is_given_back() -> None:
    guest = Guest(2048)
    connections, settings = tracking(guest)
    connections.set_up(check_checksums=False)
    room = str(CONNECTIONS)
    assert guest.settings == {"max": room, "buckets": room, "checksum": "0"}
    settings.restore({})
    assert guest.settings == {"max": "2048", "buckets": "2048", "checksum": "1"}


def test_a_larger_table_stays() -> None:
    guest = Guest(4 * CONNECTIONS, writable=False)
    tracking(guest)[0].set_up(check_checksums=True)
    assert guest.settings["max"] == str(4 * CONNECTIONS)


def test_a_small_table_that_cannot_grow_says_what_to_do() -> None:
    with pytest.raises(MeasurementError) as raised:
        tracking(Guest(2048, writable=False))[0].set_up(check_checksums=False)
    assert f"net.netfilter.nf_conntrack_max={CONNECTIONS}" in str(raised.value.hint)


def test_drops_before_and_behind_forwarding() -> None:
    guest = Guest(CONNECTIONS)
    connections, _ = tracking(guest)
    connections.set_up(check_checksums=False)
    guest.statistics = STATISTICS_OF_2_CPUS.format(failed="00000003", drop="0000000a")
    counters = connections.counters({"received": 100, "forwarded": 90, "dropped": 1})
    assert counters == {
        "received": 100,
        "forwarded": 87,
        "dropped": 11,
        "dropped_untranslated": 3,
        "dropped_no_room": 7,
    }
