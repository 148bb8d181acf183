"""Further nodes of the cloud: each a hypervisor with a switch of its own, joined by virtual wires.

Three wires lead from each to the first node. By `control`, the node reaches the services, at its
own 127.0.0.1 like the first one. `underlay` joins the bridges from which VXLAN tunnels come, and
`mgmt` those of the management network.
"""

from __future__ import annotations

from sfcperf.playbooks.openstack.command import run
from sfcperf.playbooks.openstack.layout import (
    RUN,
    Layout,
    control_addresses,
    underlay_address,
)
from sfcperf.playbooks.openstack.services import NODE_PORTS, in_node

UNDERLAY_MTU = 1700
"""Room for VXLAN around the packets of guests."""
MANAGEMENT_MTU = 1600
UNDERLAY_BRIDGE = "br-ul"
_PORTS = ", ".join(map(str, NODE_PORTS))


def is_there(number: int) -> bool:
    """Whether the namespaces of the node are there."""
    return (RUN / f"node{number}.pid").exists()


def open_services(layout: Layout) -> None:
    """Have the first node take connections of the others to services at its 127.0.0.1."""
    rules = (
        "table ip nodes { chain arriving { type nat hook prerouting priority dstnat; "
        f'iifname "control*" tcp dport {{ {_PORTS} }} dnat to 127.0.0.1; }}; }}'
    )
    run(["nft", rules], layout.log / "nodes.log")
    bridge(layout, 1, UNDERLAY_BRIDGE, underlay_address(1), UNDERLAY_MTU)


def connect(layout: Layout, number: int) -> None:
    """Lead the wires from a node to the first one."""
    log = layout.log / "nodes.log"
    pid = (RUN / f"node{number}.pid").read_text().strip()
    here, there = control_addresses(number)
    for name, mtu in (("control", 1500), ("underlay", UNDERLAY_MTU), ("mgmt", MANAGEMENT_MTU)):
        near = f"{name}{number}"
        veth = ["type", "veth", "peer", "name", name, "mtu", str(mtu), "netns", pid]
        run(["ip", "link", "add", near, "mtu", str(mtu), *veth], log)
        for place, interface in ((1, near), (number, name)):
            # The switches read frames as they are: their checksums must be complete.
            run([*in_node(place, "ethtool", "-K", interface, "tx", "off")], log)
            run([*in_node(place, "ip", "link", "set", interface, "up")], log)
    run(["ip", "address", "add", f"{here}/30", "dev", f"control{number}"], log)
    run([*in_node(number, "ip", "address", "add", f"{there}/30", "dev", "control")], log)
    run(["sysctl", "-q", "-w", f"net.ipv4.conf.control{number}.route_localnet=1"], log)
    run([*in_node(number, "sysctl", "-q", "-w", "net.ipv4.conf.all.route_localnet=1")], log)
    rules = (
        "table ip nodes { chain leaving { type nat hook output priority -100; "
        f"ip daddr 127.0.0.1 tcp dport {{ {_PORTS} }} dnat to {here}; }}; "
        'chain sent { type nat hook postrouting priority srcnat; oifname "control" masquerade; }; }'
    )
    run([*in_node(number, "nft", rules)], log)


def join_bridges(layout: Layout, number: int) -> None:
    """Make the bridges of a node, and join them with those of the first one."""
    log = layout.log / "nodes.log"
    bridge(layout, number, UNDERLAY_BRIDGE, underlay_address(number), UNDERLAY_MTU)
    bridge(layout, number, "br-mgmt")
    for name, wire in ((UNDERLAY_BRIDGE, "underlay"), ("br-mgmt", "mgmt")):
        for place, port in ((1, f"{wire}{number}"), (number, wire)):
            add = ("ovs-vsctl", "--timeout=10", "--may-exist", "add-port", name, port)
            run([*in_node(place, *add)], log)


def bridge(
    layout: Layout, number: int, name: str, address: str | None = None, mtu: int | None = None
) -> None:
    """Make a bridge of a node, with this address in a network of /24."""
    log = layout.log / "nodes.log"
    netdev = ("--", "set", "bridge", name, "datapath_type=netdev")
    add = ("ovs-vsctl", "--timeout=10", "--may-exist", "add-br", name, *netdev)
    run([*in_node(number, *add)], log)
    if address is not None:
        replace = ("ip", "address", "replace", f"{address}/24", "dev", name)
        run([*in_node(number, *replace)], log)
    size = () if mtu is None else ("mtu", str(mtu))
    run([*in_node(number, "ip", "link", "set", name, *size, "up")], log)
