"""Namespaces, veth pairs, addresses and shapers, by netlink (pyroute2)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.namespace import NETNS_FOLDER
from sfcperf.hosts.process import inside, run

COMMAND_TIMEOUT_S = 30.0

MAX_RATE_BPS = (2**32 - 1) * 8
"""Limit of tbf over netlink: bytes per second in 32 bits."""


@contextmanager
def netlink_errors(doing: str) -> Iterator[None]:
    """Turn errors of the kernel into a DeploymentError that names the operation."""
    from pyroute2.ethtool.ioctl import EthtoolError
    from pyroute2.netlink.exceptions import NetlinkError

    try:
        yield
    except (NetlinkError, EthtoolError, OSError) as error:
        raise DeploymentError(f"{doing}: {error}") from error


def add_namespaces(names: Sequence[str]) -> None:
    """Create named network namespaces with loopback up and IPv6 off. Raises DeploymentError.

    Uses `ip`, because pyroute2 forks this process with all its threads. IPv6 is off because its
    neighbour discovery would add packets.
    """
    commands = "".join(f"netns add {name}\n" for name in names)
    failed = "network namespaces cannot be created"
    with errors_as(DeploymentError, MeasurementError, context=failed):
        run(["ip", "-batch", "-"], timeout_s=COMMAND_TIMEOUT_S, stdin=commands.encode())
    for name in names:
        with (
            netlink_errors(f"the network namespace {name} cannot be set up"),
            netlink(name) as link,
        ):
            with inside(NETNS_FOLDER / name):
                for scope in ("all", "default"):
                    # A kernel without IPv6 does not have the file.
                    with suppress(FileNotFoundError):
                        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
            # The loopback interface has the index 1 in every namespace.
            link.link("set", index=1, state="up")


def identities(names: Sequence[str]) -> list[int | None]:
    """Return the inodes of namespaces, which no other one has while it exists; None where there is
    no namespace of this name."""
    found: list[int | None] = []
    for name in names:
        try:
            found.append((NETNS_FOLDER / name).stat().st_ino)
        except FileNotFoundError:
            found.append(None)
    return found


def remove_namespace(name: str) -> bool:
    """Remove a network namespace, and return whether there was one. Raises DeploymentError."""
    from pyroute2 import netns

    if not (NETNS_FOLDER / name).exists():
        return False
    with netlink_errors(f"the network namespace {name} cannot be removed"):
        netns.remove(name)
    return True


@contextmanager
def netlink(namespace: str | None) -> Iterator[Any]:
    """Open a netlink socket in a namespace (None: our own), and close it at the end."""
    from pyroute2 import IPRoute

    with inside(None if namespace is None else NETNS_FOLDER / namespace):
        socket = IPRoute()
    try:
        yield socket
    finally:
        socket.close()


def add_veth(
    namespace: str,
    interface: str,
    peer_namespace: str,
    peer_interface: str,
    *,
    peer_mac: str | None = None,
    mtu: int,
    peer_mtu: int | None = None,
) -> None:
    """Create a veth pair across two namespaces, both ends up; it never appears in the machine's
    own. `peer_mac` None: the kernel chooses it; `peer_mtu` None: as `mtu`. Raises
    DeploymentError."""
    with (
        netlink_errors(f"the link {interface} cannot be created in {namespace}"),
        netlink(namespace) as here,
        netlink(peer_namespace) as there,
    ):
        peer: dict[str, Any] = {"ifname": peer_interface, "mtu": peer_mtu or mtu}
        if peer_mac is not None:
            peer["address"] = peer_mac
        target = os.open(NETNS_FOLDER / peer_namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            peer["net_ns_fd"] = target
            here.link("add", ifname=interface, kind="veth", mtu=mtu, state="up", peer=peer)
        finally:
            os.close(target)
        there.link("set", index=there.link_lookup(ifname=peer_interface)[0], state="up")


@contextmanager
def _configured(namespace: str, interface: str, problem: str) -> Iterator[tuple[Any, int]]:
    """Yield a netlink socket in a namespace, and the index of an interface there. An error becomes
    a DeploymentError, in whose message the interface is followed by `problem`."""
    with (
        netlink_errors(f"{interface} in {namespace} {problem}"),
        netlink(namespace) as link,
    ):
        yield link, link.link_lookup(ifname=interface)[0]


def add_address(namespace: str, interface: str, address: str, prefix: int) -> None:
    """Bring the interface up, and give it an IPv4 address. `prefix`: length of the address's
    prefix. Raises DeploymentError."""
    problem = f"cannot get the address {address}/{prefix}"
    with _configured(namespace, interface, problem) as (link, index):
        link.link("set", index=index, state="up")
        link.addr("add", index=index, address=address, prefixlen=prefix)


def add_neighbour(namespace: str, interface: str, address: str, mac: str) -> None:
    """Add a host on the link with its MAC address, so that no ARP is sent for it."""
    problem = f"cannot get the neighbour {address}"
    with _configured(namespace, interface, problem) as (link, index):
        link.route("add", dst=f"{address}/32", oif=index, scope="link")
        link.neigh("add", dst=address, lladdr=mac, ifindex=index, state="permanent")


def shape(namespace: str, interface: str, rate_bps: int, burst_bytes: int) -> None:
    """Limit the rate at which the interface sends by a token bucket (tbf), with 50 ms of queue."""
    problem = f"cannot be shaped to {rate_bps} bit/s"
    with _configured(namespace, interface, problem) as (link, index):
        # The kernel counts rates in bytes per second.
        link.tc("add", "tbf", index, rate=rate_bps // 8, burst=burst_bytes, latency="50ms")


def queue(namespace: str, interface: str, packets: int) -> None:
    """Give the interface a queue of so many packets (pfifo). A veth has none by itself, and drops
    what its other end does not take at once; from Linux 6.16 on, its queue then waits."""
    problem = f"cannot get a queue of {packets} packets"
    with _configured(namespace, interface, problem) as (link, index):
        link.tc("add", "pfifo", index, limit=packets)


def turn_off_offloads(namespace: str, interface: str, *, gro: bool = False) -> dict[str, bool]:
    """Turn off offloads that put super-packets or incomplete checksums on the wire: a GSO packet
    cannot be encapsulated in NSH.

    `gro`: turn GRO on, with which a veth polls (NAPI) and so takes XDP frames from its other end.
    Returns ethtool's offloads as the kernel reports them afterwards.
    """
    from pyroute2.ethtool import Ethtool

    with (
        netlink_errors(f"offloads of {interface} in {namespace} cannot be turned off"),
        inside(NETNS_FOLDER / namespace),
        Ethtool() as ethtool,
    ):
        features = ethtool.get_features(interface)
        for name, feature in features.features.items():
            sends_unfinished = name.startswith("tx-") and ("seg" in name or "checksum" in name)
            if feature.available and (sends_unfinished or "gro" in name or "gso" in name):
                feature.enable = False
            if gro and name == "rx-gro":
                feature.enable = True
        ethtool.set_features(interface, features)
        return dict(ethtool.get_offload_flags(interface))


def processes_in(namespaces: Sequence[str]) -> list[int]:
    """Ids of the processes in these namespaces."""
    from pyroute2 import netns

    by_namespace = netns.ns_pids()
    return [pid for name in namespaces for pid in by_namespace.get(name, [])]
