"""Why there is a second format of UDP: connection tracking takes UDP's length from IP's."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable

import pytest
from support.network.wires import eventually
from support.pptmon.routers import RoutedPath

from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root

RULES = """
table inet judge {
    counter valid {}
    counter invalid {}
    chain forward {
        type filter hook forward priority 0;
        meta l4proto { tcp, udp } ct state invalid counter name invalid drop
        meta l4proto { tcp, udp } counter name valid
    }
}
"""
COUNT = 20


@pytest.mark.parametrize(
    ("layout", "offloads", "passes"),
    [("rfc", "on", True), ("rfc", "off", True), ("paper", "off", False)],
)
def test_datagrams_with_trailers_at_a_stateful_firewall(
    routers: Callable[[int], RoutedPath], layout: str, passes: bool, offloads: str
) -> None:
    """Of the paper's format it drops every one whose checksum it computes; of the RFC's none."""
    path = routers(3)
    path.offloads(offloads)
    firewall(path)
    path.measure("--period-ms", "0", "--format", layout)
    for version in (4, 6):
        for size in range(100, 100 + COUNT):
            send(path, version, bytes(size))
    wanted = {"valid": 2 * COUNT * passes, "invalid": 2 * COUNT * (not passes)}
    assert eventually(lambda: verdicts(path) == wanted), verdicts(path)
    assert len(path.pptmons[-1].samples(wanted["valid"])) == wanted["valid"]


def test_tcp_at_a_stateful_firewall(routers: Callable[[int], RoutedPath]) -> None:
    """Options are known to it, as is that it does not know them."""
    path = routers(3)
    path.offloads("off")
    firewall(path)
    path.measure("--period-ms", "0", "--format", "rfc")
    ends = path.stream("tcp", 4, 1 << 22).finish(60)
    assert ends.sent == ends.received
    assert verdicts(path)["invalid"] == 0


def firewall(path: RoutedPath) -> None:
    """In the second router."""
    if shutil.which("nft") is None:
        pytest.skip("nft is not installed: apt-get install nftables")
    done = path.routers[1].run(["nft", "-f", "-"], timeout_s=10, stdin=RULES.encode(), check=False)
    if done.returncode:
        pytest.skip(f"this kernel has no connection tracking: {done.stderr.decode()}")


def send(path: RoutedPath, version: int, data: bytes) -> None:
    assert path.client.namespace is not None
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    with inside(path.client.namespace):
        made = socket.socket(family, socket.SOCK_DGRAM)
    with made:
        made.sendto(data, (path.address("server", version), 4000))


def verdicts(path: RoutedPath) -> dict[str, int]:
    done = path.routers[1].run(["nft", "-j", "list", "counters"], timeout_s=10)
    found = (item.get("counter") for item in json.loads(done.text)["nftables"])
    return {item["name"]: item["packets"] for item in found if item}
