"""Network cards of a machine: taken into the namespace of a node for a deployment, and given back
as they were."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.drivers.base import Resource
from sfcperf.drivers.local.network import netlink, netlink_errors
from sfcperf.drivers.sff.layout import LARGEST_WIRE_MTU
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.hosts.namespace import NETNS_FOLDER

NIC = "nic"
"""Kind of the resource: a card that is taken."""
_OWN_NAMESPACE = Path("/proc/self/ns/net")
_LINK_TIMEOUT_S = 10.0
"""Time for a card to agree with its other end on a speed, seconds."""
_OFFLOADS_TIMEOUT_S = 10.0
_UP, _LOOPBACK = 1, 8
"""IFF_UP and IFF_LOOPBACK, netdevice(7)."""
_REMEDY = "name a card in `nics` that the machine does not need"


@dataclass(frozen=True)
class Nic:
    """A network card as it is before a run takes it."""

    name: str
    mac: str
    mtu: int
    most_mtu: int
    """The largest MTU that it can have."""
    up: bool
    addresses: tuple[tuple[str, int], ...]
    """IPv4 and IPv6 addresses with the lengths of their prefixes, but for link-local ones, which
    the kernel makes."""
    offloads: Mapping[str, bool]
    """ethtool's features that can be changed."""


def look(name: str) -> Nic:
    """Return a card of this machine. Raises EnvironmentLacks if there is none of this name, or if
    the machine needs it: for its default route, for the SSH connection by which this agent was
    started, or for another interface."""
    with netlink_errors(f"the network card {name} cannot be read"), netlink(None) as link:
        links = list(link.get_links())
        found = [each for each in links if each.get("ifname") == name]
        if not found:
            names = {each.get("ifname") for each in links if not each["flags"] & _LOOPBACK}
            raise EnvironmentLacks(
                f"there is no network card {name}",
                hint=f"name one of these in `nics`: {', '.join(sorted(names))}",
            )
        card = _card(found[0], link)
        if need := _need(found[0], links, card, link):
            raise EnvironmentLacks(f"{name}: {need}", hint=_REMEDY)
        return card


def _card(message: Any, link: Any) -> Nic:
    """Return the card that a message of netlink describes."""
    name = message.get("ifname")
    addresses = [
        (each.get("address"), int(each["prefixlen"]))
        for each in link.get_addr(index=message["index"])
    ]
    return Nic(
        name,
        mac=message.get("address"),
        mtu=int(message.get("mtu")),
        most_mtu=int(message.get("max_mtu") or 0) or LARGEST_WIRE_MTU,
        up=bool(message["flags"] & _UP),
        addresses=tuple(each for each in addresses if not each[0].startswith("fe80:")),
        offloads=_offloads(name),
    )


def _need(message: Any, links: Sequence[Any], card: Nic, link: Any) -> str:
    """Say for what the machine needs a card; empty if it does not."""
    index = message["index"]
    if message["flags"] & _LOOPBACK:
        return "the machine talks to itself by it"
    if message.get("master"):
        return "it is a port of a bridge or bond"
    # With a `link_netnsid`, `link` is an index in another namespace: the other end of a veth.
    above = [
        each.get("ifname")
        for each in links
        if each.get("link") == index and each.get("link_netnsid") is None
    ]
    if above:
        return f"{above[0]} is on top of it"
    if index in _default_routes(link):
        return "the default route of the machine leads through it"
    # CLIENT PORT SERVER PORT, of sshd (sshd(8), ENVIRONMENT).
    connection = os.environ.get("SSH_CONNECTION", "").split()
    if len(connection) != 4:
        return "sshd does not say through which card the SSH connection comes (SSH_CONNECTION)"
    ours = connection[2].partition("%")[0]
    if ours in [address for address, _ in card.addresses]:
        return "the SSH connection to the machine comes through it"
    return ""


def _default_routes(link: Any) -> Iterator[int]:
    """Yield the indices of the interfaces of all default routes."""
    for route in link.get_default_routes():
        for hop in (route, *(route.get("multipath") or ())):
            index = hop.get("oif")
            if index is not None:
                yield int(index)


def card_resource(nic: Nic, namespace: str, interface: str) -> Resource:
    """Return the resource of a card that is `interface` in a namespace."""
    detail = {"namespace": namespace, "interface": interface, "before": asdict(nic)}
    return Resource(NIC, nic.name, detail)


def take(nic: Nic, namespace: str, interface: str, mtu: int) -> None:
    """Move a card into a namespace, under the name `interface`, without addresses and with this
    MTU, and bring it up. Raises DeploymentError."""
    with (
        _moving(nic.name, f"into {namespace}"),
        (NETNS_FOLDER / namespace).open("rb") as target,
        netlink(None) as link,
        netlink(namespace) as there,
    ):
        index = link.link_lookup(ifname=nic.name)[0]
        link.link("set", index=index, state="down")
        link.link("set", index=index, net_ns_fd=target.fileno())
        index = there.link_lookup(ifname=nic.name)[0]
        there.link("set", index=index, ifname=interface, mtu=mtu)
        there.link("set", index=index, state="up")


def await_link(nic: Nic, namespace: str, interface: str) -> None:
    """Wait until a card that was taken has a link. Raises DeploymentError."""
    with _moving(nic.name, f"into {namespace}"), netlink(namespace) as there:
        index = there.link_lookup(ifname=interface)[0]

        def has_link() -> bool:
            return bool(there.get_links(index)[0].get("carrier") == 1)

        if not retry.until(has_link, timeout_s=_LINK_TIMEOUT_S, period_s=0.05):
            raise DeploymentError(
                f"the network card {nic.name} has no link",
                hint="is its cable plugged in, and the port at its other end up?",
            )


def is_away(resource: Resource) -> bool:
    """Whether a card that a run has taken is not as it was. Raises DeploymentError."""
    with _moving(resource.name, "back"):
        return _changed(resource) is not None


def give_back(resource: Resource) -> bool:
    """Move a card back, and restore name, MTU, offloads, addresses and whether it is up; return
    whether it was not as before. It may be in its namespace, at home or halfway. Raises
    DeploymentError."""
    detail, before = _detail(resource)
    with _moving(resource.name, "back"):
        changed = _changed(resource)
        if changed is None:
            return False
        namespace, index = changed
        if namespace is not None:
            with _OWN_NAMESPACE.open("rb") as home, netlink(namespace) as there:
                there.link("set", index=index, state="down")
                there.link("set", index=index, ifname=before["name"])
                there.link("set", index=index, net_ns_fd=home.fileno())
        with netlink(None) as link:
            index = _index(link, before["name"]) or _index(link, detail["interface"]) or 0
            link.link("set", index=index, state="down")
            link.link("set", index=index, ifname=before["name"], mtu=before["mtu"])
            _set_offloads(before["name"], before["offloads"])
            link.link("set", index=index, state="up" if before["up"] else "down")
            for address, prefix in before["addresses"]:
                link.addr("replace", index=index, address=address, prefixlen=prefix)
    return True


def _changed(resource: Resource) -> tuple[str | None, int] | None:
    """Find a card that is not as it was: its namespace (None: it is at home), and its index there.
    None: it is as it was, or the machine does not have it any more."""
    detail, before = _detail(resource)
    names = (detail["interface"], before["name"])
    namespace = detail["namespace"]
    if (NETNS_FOLDER / namespace).exists():
        with netlink(namespace) as there:
            if index := next(filter(None, (_index(there, name) for name in names)), None):
                return namespace, index
    with netlink(None) as link:
        for message in link.get_links():
            if message.get("ifname") in names and message.get("address") == before["mac"]:
                now = asdict(_card(message, link))
                # A journal has lists in place of tuples.
                same = {**now, "addresses": [list(each) for each in now["addresses"]]}
                was = {**before, "addresses": [list(each) for each in before["addresses"]]}
                return None if same == was else (None, int(message["index"]))
    return None


def _detail(resource: Resource) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the detail of a card's resource, and in it the card as it was."""
    detail: Mapping[str, Any] = resource.detail or {}
    return detail, detail["before"]


@contextmanager
def _moving(name: str, where: str) -> Iterator[None]:
    """Turn errors of the kernel, and a card that is gone, into a DeploymentError."""
    failed = f"the network card {name} cannot be moved {where}"
    with netlink_errors(failed):
        try:
            yield
        except IndexError as error:
            raise DeploymentError(f"{failed}: it is gone") from error


def _index(link: Any, name: str) -> int | None:
    """Return the index of an interface; None if there is none of this name."""
    found = link.link_lookup(ifname=name)
    return int(found[0]) if found else None


def _offloads(name: str) -> dict[str, bool]:
    """Return the features of a card that can be changed."""
    from pyroute2.ethtool import Ethtool

    with Ethtool() as ethtool:
        features = ethtool.get_features(name).features
    return {key: bool(each.enable) for key, each in features.items() if each.available}


def _set_offloads(name: str, wanted: Mapping[str, bool]) -> None:
    """Set features of a card. Raises DeploymentError for those that it does not take. A veth takes
    none of segmentation as long as there is an XDP program at its other end, which another machine
    may be about to remove."""
    from pyroute2.ethtool import Ethtool
    from pyroute2.ethtool.ioctl import NotSupportedError

    refused: list[str] = []

    def taken_all() -> bool:
        with Ethtool() as ethtool:
            features = ethtool.get_features(name)
            known = features.features
            refused[:] = [key for key, value in wanted.items() if known[key].enable != value]
            for key in refused:
                known[key].enable = wanted[key]
            if refused:
                # Raised if some were not taken; which, the next look tells.
                with suppress(NotSupportedError):
                    ethtool.set_features(name, features)
        return not refused

    if not retry.until(taken_all, timeout_s=_OFFLOADS_TIMEOUT_S, period_s=0.1):
        raise DeploymentError(f"{name} does not take back its offloads: {', '.join(refused)}")
