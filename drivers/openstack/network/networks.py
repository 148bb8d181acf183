"""The networks, key pair and security groups that all machines of a run share.

Subnets have no DHCP: guests get their addresses from the config drive, so that no boot waits for an
agent. The data network has the cloud's default type for projects (networking-sfc's Open vSwitch
driver steers only on VXLAN and GRE), no gateway and, where the project may choose, no port
security: packets that leave a function have addresses of others. With the chaining `overlay` the
data network keeps its port security: all packets have the addresses of ports, and are VXLAN-GPE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from typing import Any

from sfcperf.dataplane.nsh.vxlan_gpe import UDP_PORT as GPE_PORT
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.model.specs import DATA, MANAGEMENT, PREFIX_LENGTH
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext, NamedResource
from sfcperf.drivers.openstack.resources.resource_types import id_of
from sfcperf.drivers.parallel import each
from sfcperf.errors import DeploymentError, EnvironmentLacks, InputError

SSH_PORT = 22
DATA_PREFIX = "10.0.0.0/24"
MANAGEMENT_PREFIXES = ("192.168.213.0/24", "172.29.213.0/24")
"""Prefixes for a management network of the run's own: it gets the first one that does not overlap
the data network's."""


@dataclass(frozen=True)
class RunNetworks:
    """What all machines of a run share; made once, before the first of them."""

    data_id: str
    data_subnet_id: str
    management_id: str
    key_name: str
    user_data: str
    """A `#!/bin/sh` script for all machines: it prints the host's SSH keys on the console."""
    data_prefix_length: int = PREFIX_LENGTH
    data_mtu: int = 0
    """MTU of the data network, bytes of IP packet; 0: the cloud does not say."""
    security_groups: Mapping[str, str] = field(default_factory=dict)
    """Id of a network with port security -> id of the group for its ports; ports of functions must
    also be allowed to send packets with addresses of others."""


def prepare_networks(
    context: LifecycleContext,
    user_data: str,
    public_key: str,
    data_prefix: str = DATA_PREFIX,
    data_network_id: str | None = None,
) -> RunNetworks:
    """Find or make what all machines share. Everything is journaled before.

    `public_key` is a line as in authorized_keys; `data_prefix` holds the endpoints' addresses.
    `data_network_id` is the network of existing endpoints; None: one is made.
    Raises DeploymentError; InputError if the configuration names no management network.
    """
    builder = _NetworkBuilder(context)
    builder.journal(own_data=data_network_id is None)
    _, data, management = each(
        lambda: builder.keypair(public_key),
        lambda: builder.data(data_prefix, data_network_id),
        lambda: builder.management(data_prefix),
    )
    builder.check_apart(data, management)
    # `builder.groups` has the group of the data network first.
    groups = {
        network.id: builder.security_group(name, rule)
        for network, (name, rule) in zip((data, management), builder.groups.items(), strict=True)
        if builder.has_port_security(network)
    }
    return RunNetworks(
        data_id=data.id,
        data_subnet_id=builder.subnets[DATA],
        management_id=management.id,
        key_name=context.names.run,
        user_data=user_data,
        data_prefix_length=IPv4Network(builder.data_prefix).prefixlen,
        data_mtu=data.mtu or 0,
        security_groups=groups,
    )


def find_network(cloud: Cloud, key: str, name: str) -> Any:
    """A network by name or id, which the configuration has under `key`. Raises EnvironmentLacks if
    there is none."""
    find = cloud.connection.network.find_network
    where = f"/infrastructure/config/{key}"
    return operations.existing(cloud, "network", name, find, where=where)


class _NetworkBuilder:
    """Makes what the machines share, step by step; each step finds what an earlier try made."""

    def __init__(self, context: LifecycleContext) -> None:
        self.context = context
        self.cloud = context.cloud
        self.config = context.config
        self.names = context.names
        self.description = f"sfcperf, run {self.names.tag}"
        self.subnets: dict[str, str] = {}
        """DATA or MANAGEMENT -> id of the subnet."""
        self.data_prefix = DATA_PREFIX
        self.groups: Mapping[str, dict[str, Any]] = {
            # Packets that leave a chain may have addresses that its functions changed.
            self.names.run: _udp(GPE_PORT) if self.config.overlay else {},
            self.names.of(MANAGEMENT): {
                "protocol": "tcp",
                "port_range_min": SSH_PORT,
                "port_range_max": SSH_PORT,
            },
        }
        """Security groups of the data and the management network -> what each lets in."""
        if self.config.management_network is None and self.config.external_network is None:
            raise InputError(
                "no network is configured through which to reach the VMs",
                where="/infrastructure/config",
                hint='set "management_network", or "external_network" for one of the run\'s own',
            )
        self.extensions = self.cloud.network_extensions()

    @property
    def network(self) -> Any:
        """openstacksdk's calls of neutron."""
        return self.cloud.connection.network

    def journal(self, *, own_data: bool) -> None:
        """Journal all that may be made, before any of it is. `own_data`: whether the run makes the
        data network."""
        wanted: list[NamedResource] = [(Kind.SECURITY_GROUP, name) for name in self.groups]
        wanted.append((Kind.KEYPAIR, self.names.run))
        if own_data:
            wanted += [(kind, self.names.of(DATA)) for kind in (Kind.NETWORK, Kind.SUBNET)]
        if self.config.management_network is None:
            own = self.names.of(MANAGEMENT)
            wanted += [(kind, own) for kind in (Kind.NETWORK, Kind.SUBNET, Kind.ROUTER)]
        self.context.intend(wanted)

    def keypair(self, public_key: str) -> None:
        """Make the key pair, in place of one with another key, which an earlier process of this run
        may have made."""
        compute, name = self.cloud.connection.compute, self.names.run
        found = self.cloud.call(
            f"looking for key pair {name}",
            lambda: next((pair for pair in compute.keypairs() if pair.name == name), None),
        )
        if found is not None and found.public_key.split()[:2] != public_key.split()[:2]:
            operations.delete(self.cloud, Kind.KEYPAIR, name, name)
        operations.create(
            self.cloud, Kind.KEYPAIR, name, compute.create_keypair, public_key=public_key
        )

    def data(self, prefix: str, network_id: str | None) -> Any:
        """Return the data network, and note its prefix and subnet: one of the run's own, or, with
        `network_id`, that of existing endpoints."""
        self.data_prefix = prefix
        if network_id is None:
            return self._own_network(DATA, prefix, gateway=False)
        find = self.network.find_network
        existing = operations.existing(self.cloud, "network", network_id, find, where="/endpoints")
        subnets = self._subnets(existing)
        if not subnets:
            raise EnvironmentLacks(
                f"the endpoints' network {existing.name} has no IPv4 subnet", where="/endpoints"
            )
        self.subnets[DATA] = subnets[0].id
        self.data_prefix = subnets[0].cidr
        return existing

    def management(self, data_prefix: str) -> Any:
        """Return the management network: the configured one, or one of the run's own behind a
        router."""
        if self.config.management_network is not None:
            return find_network(self.cloud, "management_network", self.config.management_network)
        assert self.config.external_network is not None
        outside = find_network(self.cloud, "external_network", self.config.external_network)
        taken = IPv4Network(data_prefix)
        prefix = next(p for p in MANAGEMENT_PREFIXES if not taken.overlaps(IPv4Network(p)))
        own = self._own_network(MANAGEMENT, prefix, gateway=True)
        self._router(outside.id)
        return own

    def _own_network(self, which: str, prefix: str, *, gateway: bool) -> Any:
        """Make a network with one subnet, DATA or MANAGEMENT. The cloud assigns addresses from the
        upper half of it, so that those of endpoints in the lower half stay free."""
        name = self.names.of(which)
        filtered = which == DATA and self.config.overlay
        made = self._network(name, port_security=filtered)
        hosts = IPv4Network(prefix)
        # The last address of the network is that for broadcasts.
        last = hosts.num_addresses - 2
        body: dict[str, Any] = {
            "network_id": made.id,
            "ip_version": 4,
            "cidr": prefix,
            "enable_dhcp": False,
            "allocation_pools": [{"start": str(hosts[(last + 2) // 2]), "end": str(hosts[last])}],
        }
        if not gateway:
            body["gateway_ip"] = None
        elif self.config.dns_servers:
            body["dns_nameservers"] = list(self.config.dns_servers)
        subnet = operations.create(
            self.cloud, Kind.SUBNET, name, self.network.create_subnet, **body
        )
        self.subnets[which] = id_of(subnet)
        return made

    def _network(self, name: str, *, port_security: bool) -> Any:
        """Make a network; without `port_security`, it has none if the project may choose."""
        fields = {"description": self.description}
        call = self.network.create_network
        if "port-security" in self.extensions and not port_security:
            off = {**fields, "is_port_security_enabled": False}
            try:
                return operations.create(self.cloud, Kind.NETWORK, name, call, **off)
            except CloudError as error:
                if error.status != 403:
                    raise
                self.cloud.log(
                    f"openstack: the project may not disable port security in {name}; security "
                    "groups may drop packets that come back from a chain"
                )
        return operations.create(self.cloud, Kind.NETWORK, name, call, **fields)

    def check_apart(self, data: Any, management: Any) -> None:
        """Raises DeploymentError if addresses overlap: a machine in both networks would answer
        through the wrong one."""
        if data.id == management.id:
            raise DeploymentError(
                f"the endpoints are in the management network {management.name}",
                where="/infrastructure/config/management_network",
                hint="chains need a network of their own",
            )
        for subnet in self._subnets(management):
            if IPv4Network(subnet.cidr).overlaps(IPv4Network(self.data_prefix)):
                raise DeploymentError(
                    f"the endpoints' network {self.data_prefix} overlaps {subnet.cidr} of the "
                    f"management network {management.name}",
                    where="/endpoints",
                    hint="choose another management network, or give client and server an "
                    "`address` each where the run makes their network",
                )

    def _subnets(self, network: Any) -> list[Any]:
        """List the IPv4 subnets of a network."""
        return self.cloud.call(
            f"listing subnets of {network.name}",
            lambda: list(self.network.subnets(network_id=network.id, ip_version=4)),
        )

    def _router(self, outside: str) -> None:
        """Make a router to the external network, and connect the management network to it."""
        name = self.names.of(MANAGEMENT)
        router = operations.create(
            self.cloud,
            Kind.ROUTER,
            name,
            self.network.create_router,
            description=self.description,
            external_gateway_info={"network_id": outside},
        )
        subnet = self.subnets[MANAGEMENT]

        def interface() -> Any:
            """Return the router's port in the subnet; None if it has none."""
            ports = self.network.ports(device_id=router.id)
            inside = (p for p in ports if any(ip["subnet_id"] == subnet for ip in p.fixed_ips))
            return next(inside, None)

        self.cloud.ensure(
            f"connecting network {name} to router {name}",
            interface,
            lambda: self.network.add_interface_to_router(router, subnet),
        )

    def security_group(self, name: str, lets_in: Mapping[str, Any]) -> str:
        """Make a security group with one rule for incoming IPv4, and return its id. `lets_in`:
        protocol and ports of the rule, empty for all. Everything may go out by default."""
        call = self.network.create_security_group
        group = operations.create(
            self.cloud, Kind.SECURITY_GROUP, name, call, description=self.description
        )

        def rule() -> Any:
            """Return the rule if the group has it; else None."""
            rules = self.network.security_group_rules(security_group_id=group.id)
            sought = ("ingress", None, lets_in.get("protocol"))
            fitting = (r for r in rules if (r.direction, r.remote_group_id, r.protocol) == sought)
            return next(fitting, None)

        self.cloud.ensure(
            f"opening security group {name}",
            rule,
            lambda: self.network.create_security_group_rule(
                security_group_id=group.id, direction="ingress", ether_type="IPv4", **lets_in
            ),
        )
        return id_of(group)

    def has_port_security(self, network: Any) -> bool:
        """Whether security groups filter its ports, as they do unless it is switched off."""
        return "security-group" in self.extensions and (
            "port-security" not in self.extensions or network.is_port_security_enabled is not False
        )


def _udp(port: int) -> dict[str, Any]:
    """Return the properties of a rule for datagrams to this port."""
    return {"protocol": "udp", "port_range_min": port, "port_range_max": port}


def check_mtu(
    networks: RunNetworks, mtu: int, added: int, where: str, *, encapsulation: str = "NSH"
) -> None:
    """Raises DeploymentError if packets of endpoints with this MTU do not fit into the data network
    with the `added` bytes of an encapsulation. `where`: JSON pointer to what sets the MTU."""
    most = networks.data_mtu
    if not most or mtu + added <= most:
        return
    encapsulated = f", which become {mtu + added} with {encapsulation}" if added else ""
    raise DeploymentError(
        f"the data network of this cloud carries packets of {most} bytes at most, but endpoints "
        f"send packets of up to {mtu} bytes{encapsulated}",
        where=where,
        hint=f"set it to {most - added} or less, on all infrastructures that are compared",
    )


def check_firewall(networks: RunNetworks, protocol: str) -> None:
    """Raises DeploymentError if the cloud's firewall filters the ports of endpoints, unless the
    chain takes UDP alone.

    networking-sfc takes packets before the firewall and delivers them behind it, unless the last
    function is on another hypervisor. So the firewall sees one direction of a connection, and drops
    replies of TCP and ICMP to requests that it has not seen. `protocol`: the classifier's.
    """
    if networks.data_id in networks.security_groups and protocol != "udp":
        raise DeploymentError(
            "the project may not disable port security in the run's network, so that the cloud's "
            "firewall drops packets that leave a chain",
            where="/infrastructure/config/chaining",
            hint='set it to "overlay", or ask the cloud\'s operator for the permission '
            "create_network:port_security_enabled",
        )
