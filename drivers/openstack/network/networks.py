"""Ground: the key pair and the networks that a run's machines stand on.

Subnets have no DHCP: the config drive tells guests their addresses, and no boot waits for an
agent. The data network is of the cloud's own type for projects (networking-sfc's Open vSwitch
driver steers on VXLAN and GRE only), without a gateway and, where the project may, without port
security: what crosses a function bears addresses that are not the function's.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any

from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.errors import CloudError
from sfcperf.drivers.openstack.api.parallel import each
from sfcperf.drivers.openstack.lifecycle.base import Ground, Workshop
from sfcperf.drivers.openstack.resources import operations
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.errors import DeploymentError, EnvironmentLacks, InputError

DATA, MANAGEMENT = "data", "management"
"""Names of the networks, subnets and router behind the run's prefix."""
SSH_PORT = 22
DATA_PREFIX = "10.0.0.0/24"
MANAGEMENT_PREFIXES = ("192.168.213.0/24", "172.29.213.0/24")
"""Of a management network of our own: the first that does not meet the data network's."""


def prepare_ground(
    workshop: Workshop,
    user_data: str,
    public_key: str,
    data_prefix: str = DATA_PREFIX,
    data_network_id: str | None = None,
) -> Ground:
    """Make, or find, what all machines of the run share. Everything is journaled before.

    `public_key` is a line as in authorized_keys; `data_prefix` holds the endpoints' addresses.
    `data_network_id` is the network of endpoints that were there before; None: one is made.
    Raises DeploymentError, InputError when no management network is to be had.
    """
    groundwork = _Groundwork(workshop)
    groundwork.journal(own_data=data_network_id is None)
    _, data, management = each(
        lambda: groundwork.keypair(public_key),
        lambda: groundwork.data(data_prefix, data_network_id),
        lambda: groundwork.management(data_prefix),
    )
    groundwork.check_mtu(data)
    groundwork.check_apart(data, management)
    guards = {
        net.id: groundwork.security_group(name, rule)
        for net, (name, rule) in zip((data, management), groundwork.groups.items(), strict=True)
        if groundwork.is_guarded(net)
    }
    return Ground(
        data_network_id=data.id,
        data_subnet_id=groundwork.subnets[DATA],
        management_network_id=management.id,
        key_name=workshop.names.run,
        user_data=user_data,
        data_prefix_length=IPv4Network(groundwork.data_prefix).prefixlen,
        guards=guards,
    )


def existing(cloud: Cloud, key: str, name: str) -> Any:
    """A network by name or id, as the configuration says under `key`. Raises EnvironmentLacks when
    there is none."""
    network = cloud.connection.network
    found = cloud.call(
        f"looking for network {name}", lambda: network.find_network(name, ignore_missing=True)
    )
    if found is None:
        raise EnvironmentLacks(
            f"the cloud has no network {name}, or does not show it to this project",
            where=f"/infrastructure/config/{key}",
            hint="`openstack network list` shows those that there are",
        )
    return found


class _Groundwork:
    """The steps, each of which finds what an earlier try has made."""

    def __init__(self, workshop: Workshop) -> None:
        self.cloud = workshop.cloud
        self.config = workshop.config
        self.names = workshop.names
        self.workshop = workshop
        self.subnets: dict[str, str] = {}
        """Name of a network of our own -> id of its subnet."""
        self.data_prefix = DATA_PREFIX
        self.groups: Mapping[str, dict[str, Any]] = {
            # What comes out of a chain bears addresses that its functions may have changed.
            self.names.run: {},
            self.names.of(MANAGEMENT): {
                "protocol": "tcp",
                "port_range_min": SSH_PORT,
                "port_range_max": SSH_PORT,
            },
        }
        """Security groups of the data and the management network -> what each lets in."""
        config = self.config
        if config.management_network is None and config.external_network is None:
            raise InputError(
                "it is not said by which network the VMs are reached",
                where="/infrastructure/config",
                hint='set "management_network", or "external_network" for one of the run\'s own',
            )
        network = self.cloud.connection.network
        self.extensions = self.cloud.call(
            "listing neutron's extensions", lambda: {each.alias for each in network.extensions()}
        )

    @property
    def network(self) -> Any:
        """openstacksdk's calls of neutron."""
        return self.cloud.connection.network

    def journal(self, *, own_data: bool) -> None:
        """All that may be made, before any of it is."""
        wanted = [(Kind.SECURITY_GROUP, name) for name in self.groups]
        wanted.append((Kind.KEYPAIR, self.names.run))
        if own_data:
            wanted += [(kind, self.names.of(DATA)) for kind in (Kind.NETWORK, Kind.SUBNET)]
        if self.config.management_network is None:
            own = self.names.of(MANAGEMENT)
            wanted += [(kind, own) for kind in (Kind.NETWORK, Kind.SUBNET, Kind.ROUTER)]
        resources = [operations.resource(self.cloud, kind, name) for kind, name in wanted]
        self.workshop.journal.intend(resources)

    def keypair(self, public_key: str) -> None:
        """One of an earlier life of this run has another key: it is replaced."""
        compute, name = self.cloud.connection.compute, self.names.run
        found = self.cloud.call(
            f"looking for key pair {name}",
            lambda: next((pair for pair in compute.keypairs() if pair.name == name), None),
        )
        if found is not None and found.public_key.split()[:2] != public_key.split()[:2]:
            operations.delete(self.cloud, Kind.KEYPAIR, name, name)
        operations.ensure(
            self.cloud,
            Kind.KEYPAIR,
            name,
            lambda: compute.create_keypair(name=name, public_key=public_key),
        )

    def data(self, prefix: str, network_id: str | None) -> Any:
        """A network of our own, or the one where the endpoints are."""
        self.data_prefix = prefix
        if network_id is None:
            return self.own_network(DATA, prefix, gateway=False)
        there = existing(self.cloud, "endpoints", network_id)
        subnets = self._subnets(there)
        if not subnets:
            raise EnvironmentLacks(
                f"the endpoints' network {there.name} has no IPv4 subnet", where="/endpoints"
            )
        self.subnets[DATA] = subnets[0].id
        self.data_prefix = subnets[0].cidr
        return there

    def own_network(self, which: str, prefix: str, *, gateway: bool) -> Any:
        """A network with one subnet."""
        name = self.names.of(which)
        made = self._network(name)
        hosts = IPv4Network(prefix)
        body: dict[str, Any] = {
            "name": name,
            "network_id": made.id,
            "ip_version": 4,
            "cidr": prefix,
            "enable_dhcp": False,
            "allocation_pools": [
                {"start": str(hosts[hosts.num_addresses // 2]), "end": str(hosts[-2])}
            ],
        }
        if not gateway:
            body["gateway_ip"] = None
        elif self.config.dns_servers:
            body["dns_nameservers"] = list(self.config.dns_servers)
        subnet = operations.ensure(
            self.cloud, Kind.SUBNET, name, lambda: self.network.create_subnet(**body)
        )
        self.subnets[which] = operations.identity(subnet)
        return made

    def _network(self, name: str) -> Any:
        """Without port security where there is a choice."""
        body: dict[str, Any] = {"name": name, "description": self._description()}
        if "port-security" in self.extensions:
            try:
                return self._ensured_network({**body, "is_port_security_enabled": False})
            except CloudError as error:
                if error.status != 403:
                    raise
                self.workshop.log(
                    f"openstack: the project may not switch port security off in {name}; security "
                    "groups may drop what comes back from a chain"
                )
        return self._ensured_network(body)

    def _ensured_network(self, body: dict[str, Any]) -> Any:
        return operations.ensure(
            self.cloud,
            Kind.NETWORK,
            body["name"],
            lambda: self.network.create_network(**body),
        )

    def management(self, data_prefix: str) -> Any:
        """The configured network, or one of our own behind a router."""
        if self.config.management_network is not None:
            return existing(self.cloud, "management_network", self.config.management_network)
        assert self.config.external_network is not None
        outside = existing(self.cloud, "external_network", self.config.external_network)
        taken = IPv4Network(data_prefix)
        prefix = next(p for p in MANAGEMENT_PREFIXES if not taken.overlaps(IPv4Network(p)))
        own = self.own_network(MANAGEMENT, prefix, gateway=True)
        self._router(outside.id)
        return own

    def check_apart(self, data: Any, management: Any) -> None:
        """Raises DeploymentError: a machine in two networks of the same addresses answers by the
        wrong one."""
        if data.id == management.id:
            raise DeploymentError(
                f"the endpoints are in the management network {management.name}",
                where="/infrastructure/config/management_network",
                hint="chains need a network of their own",
            )
        for subnet in self._subnets(management):
            if IPv4Network(subnet.cidr).overlaps(IPv4Network(self.data_prefix)):
                raise DeploymentError(
                    f"the endpoints' network {self.data_prefix} meets {subnet.cidr} of the "
                    f"management network {management.name}",
                    where="/endpoints",
                    hint="take another management network, or give client and server an "
                    "`address` each where the run makes their network",
                )

    def _subnets(self, network: Any) -> list[Any]:
        return self.cloud.call(
            f"listing subnets of {network.name}",
            lambda: list(self.network.subnets(network_id=network.id, ip_version=4)),
        )

    def _router(self, outside: str) -> None:
        name = self.names.of(MANAGEMENT)
        router = operations.ensure(
            self.cloud,
            Kind.ROUTER,
            name,
            lambda: self.network.create_router(
                name=name,
                description=self._description(),
                external_gateway_info={"network_id": outside},
            ),
        )
        subnet = self.subnets[MANAGEMENT]

        def interface() -> Any:
            ports = self.network.ports(device_id=router.id)
            inside = (p for p in ports if any(ip["subnet_id"] == subnet for ip in p.fixed_ips))
            return next(inside, None)

        self.cloud.ensure(
            f"leading network {name} to router {name}",
            interface,
            lambda: self.network.add_interface_to_router(router, subnet),
        )

    def security_group(self, name: str, lets_in: Mapping[str, Any]) -> str:
        """One with one rule for what comes in over IPv4; out goes everything by default."""
        group = operations.ensure(
            self.cloud,
            Kind.SECURITY_GROUP,
            name,
            lambda: self.network.create_security_group(name=name, description=self._description()),
        )

        def rule() -> Any:
            rules = self.network.security_group_rules(security_group_id=group.id)
            fitting = (
                r
                for r in rules
                if r.direction == "ingress"
                and r.remote_group_id is None
                and r.protocol == lets_in.get("protocol")
            )
            return next(fitting, None)

        self.cloud.ensure(
            f"opening security group {name}",
            rule,
            lambda: self.network.create_security_group_rule(
                security_group_id=group.id, direction="ingress", ether_type="IPv4", **lets_in
            ),
        )
        return operations.identity(group)

    def is_guarded(self, network: Any) -> bool:
        """Whether ports in it are behind security groups, as they are unless it says otherwise."""
        may_say = "port-security" in self.extensions
        return "security-group" in self.extensions and (
            not may_say or network.is_port_security_enabled is not False
        )

    def check_mtu(self, network: Any) -> None:
        """Raises DeploymentError when the endpoints' packets would not fit."""
        if network.mtu and network.mtu < self.config.mtu:
            raise DeploymentError(
                f"networks of this cloud carry packets of {network.mtu} bytes at most, and the "
                f"endpoints are to send {self.config.mtu}",
                where="/infrastructure/config/mtu",
                hint=f"set it to {network.mtu} or less, on all infrastructures that are compared",
            )

    def _description(self) -> str:
        return f"sfcperf, run {self.names.tag}"
