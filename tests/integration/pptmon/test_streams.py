"""Real TCP and UDP through VNFs that are measured: nothing is lost, nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.pptmon.routers import RoutedPath

pytestmark = pytest.mark.root

MIB = 1 << 20
SAMPLED = {"1000/s": ("--rate", "1000"), "every packet": ("--period-ms", "0")}


def check_counters(path: RoutedPath) -> None:
    for pptmon in path.pptmons:
        counters = pptmon.counters()
        for name in ("failed", "malformed"):
            assert counters[name] == 0, counters


def check_tcp(path: RoutedPath, version: int, *options: str) -> None:
    """A stream of which every packet is sampled arrives whole."""
    path.measure("--period-ms", "0", *options)
    ends = path.stream("tcp", version, 64 * MIB).finish(300)
    assert ends.sent == ends.received
    assert path.errors() == {}
    check_counters(path)


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("sampled", SAMPLED)
@pytest.mark.parametrize("offloads", ["on", "off"])
@pytest.mark.parametrize(
    ("vnfs", "layout", "mib"),
    [
        (1, "rfc", 64),
        (3, "paper", 64),
        pytest.param(3, "rfc", 1024, marks=pytest.mark.exhaustive),
    ],
)
def test_tcp_in_each_direction(
    routers: Callable[[int], RoutedPath],
    vnfs: int,
    layout: str,
    mib: int,
    offloads: str,
    sampled: str,
) -> None:
    path = routers(vnfs)
    path.offloads(offloads)
    for reverse in (False, True):
        path.measure(*SAMPLED[sampled], "--format", layout, reverse=reverse)
    streams = [path.stream("tcp", version, mib * MIB, reverse=reverse)
               for version, reverse in ((4, False), (6, True))]  # fmt: skip
    for stream in streams:
        ends = stream.finish(300)
        assert ends.sent == ends.received
        assert ends.sent.startswith(f"{mib * MIB} ")
    assert path.errors() == {}
    check_counters(path)
    assert sum(pptmon.counters()["reported"] for pptmon in path.pptmons) > 0


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("offloads", ["on", "off"])
def test_a_chain_with_room_for_hops(routers: Callable[[int], RoutedPath], offloads: str) -> None:
    """1500 bytes outside, 9000 inside: full segments carry hops, and leave as they came."""
    path = routers(3)
    path.mtu(9000, 9000, 9000, 9000, ends=1500)
    path.offloads(offloads)
    check_tcp(path, 4, "--format", "rfc")
    assert path.pptmons[-1].counters()["reported"] > 100


def test_jumbo_frames(routers: Callable[[int], RoutedPath]) -> None:
    path = routers(1)
    path.mtu(9000, 9000)
    check_tcp(path, 6)


def test_a_smaller_mtu_on_the_way(routers: Callable[[int], RoutedPath]) -> None:
    """Path MTU discovery is told of the packets as they are without hops."""
    path = routers(2)
    path.mtu(9000, 9000, 1500)
    check_tcp(path, 4, "--format", "rfc")


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("layout", ["paper", "rfc"])
@pytest.mark.parametrize("offloads", ["on", "off"])
def test_datagrams(routers: Callable[[int], RoutedPath], offloads: str, layout: str) -> None:
    """Checksummed by the kernel or by the hardware that a veth is not."""
    path = routers(3)
    path.offloads(offloads)
    path.measure("--period-ms", "0", "--format", layout)
    for number, (version, size) in enumerate(((4, 1000), (6, 1001), (4, 8)), 1):
        ends = path.stream("udp", version, 2000, size).finish(60)
        assert ends.received == "2000 0 wrong"
        assert path.pptmons[-1].counters()["reported"] >= number * 2000
    assert path.errors() == {}
    check_counters(path)


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("offloads", ["on", "off"])
def test_datagrams_that_the_kernel_cuts(
    routers: Callable[[int], RoutedPath], offloads: str
) -> None:
    """UDP_SEGMENT: whole ones are left alone, pieces are measured."""
    path = routers(2)
    path.offloads(offloads)
    path.measure("--period-ms", "0", "--format", "rfc")
    ends = path.stream("udp", 4, 8000, 1000, 20).finish(60)
    assert ends.received == "8000 0 wrong"
    assert path.errors() == {}
    check_counters(path)
    counters = path.pptmons[0].counters()
    assert counters["unsupported" if offloads == "on" else "sampled"] >= 400
