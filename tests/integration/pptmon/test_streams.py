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
@pytest.mark.parametrize("mib", [64, pytest.param(1024, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("vnfs", "layout"), [(1, "rfc"), (3, "paper")])
def test_tcp_in_each_direction(
    routers: Callable[[int], RoutedPath],
    vnfs: int,
    layout: str,
    mib: int,
    offloads: str,
    sampled: str,
) -> None:
    bytes_ = mib * MIB
    path = routers(vnfs)
    path.offloads(offloads)
    for reverse in (False, True):
        path.measure(*SAMPLED[sampled], "--format", layout, reverse=reverse)
    streams = [path.stream("tcp", version, bytes_, reverse=reverse)
               for version, reverse in ((4, False), (6, True))]  # fmt: skip
    for stream in streams:
        ends = stream.finish(300)
        assert ends.sent == ends.received
        assert ends.sent.startswith(f"{bytes_} ")
    assert path.errors() == {}
    check_counters(path)
    reported = [pptmon.counters()["reported"] for pptmon in path.pptmons]
    sampled_ = [pptmon.counters()["sampled"] for pptmon in path.pptmons]
    assert sum(reported) > 0
    print(
        f"\n{vnfs} VNFs, offloads {offloads}, {sampled}: sampled {sampled_}, reported {reported}, "
        f"retransmitted {path.counted(path.client, 'TcpRetransSegs')} "
        f"and {path.counted(path.server, 'TcpRetransSegs')}"
    )


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("offloads", ["on", "off"])
def test_a_chain_with_room_for_hops(routers: Callable[[int], RoutedPath], offloads: str) -> None:
    """1500 bytes outside, 9000 inside: full segments carry hops, and leave as they came."""
    path = routers(3)
    path.mtu(9000, 9000, 9000, 9000, ends=1500)
    path.offloads(offloads)
    check_tcp(path, 4, "--format", "rfc")
    assert path.pptmons[-1].counters()["reported"] > 100


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("offloads", ["on", "off"])
def test_jumbo_frames(routers: Callable[[int], RoutedPath], offloads: str) -> None:
    path = routers(1)
    path.mtu(9000, 9000)
    path.offloads(offloads)
    check_tcp(path, 6)


def test_a_smaller_mtu_on_the_way(routers: Callable[[int], RoutedPath]) -> None:
    """Path MTU discovery is told of the packets as they are without hops."""
    path = routers(2)
    path.mtu(9000, 9000, 1500)
    check_tcp(path, 4, "--format", "rfc")


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("layout", ["paper", "rfc"])
@pytest.mark.parametrize("offloads", ["on", "off"])
@pytest.mark.parametrize(("version", "size"), [(4, 1000), (6, 1001), (4, 8)])
def test_datagrams(
    routers: Callable[[int], RoutedPath], version: int, size: int, offloads: str, layout: str
) -> None:
    """Checksummed by the kernel or by the hardware that a veth is not."""
    path = routers(3)
    path.offloads(offloads)
    path.measure("--period-ms", "0", "--format", layout)
    ends = path.stream("udp", version, 4000, size).finish(60)
    assert ends.received == "4000 0 wrong"
    assert path.errors() == {}
    check_counters(path)
    assert path.pptmons[-1].counters()["reported"] >= 4000


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
