"""CloudSession: what one run has in a cloud: networks, machines, and the chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.cleanup import workdirs
from sfcperf.drivers.openstack.cleanup.journal_cleanup import remove_journaled
from sfcperf.drivers.openstack.compute import diagnostics
from sfcperf.drivers.openstack.compute.diagnostics import Diagnostics
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.guest import Guest, connect, connect_existing
from sfcperf.drivers.openstack.compute.machine_pool import MachinePool
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.lifecycle import LIFECYCLES
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import (
    DATA,
    MANAGEMENT,
    PREFIX_LENGTH,
    ChainPlan,
    ExistingMachine,
    MachinePlan,
    MachineSpec,
    ResourceNames,
)
from sfcperf.drivers.openstack.network.networks import (
    RunNetworks,
    check_firewall,
    check_mtu,
    prepare_networks,
)
from sfcperf.drivers.openstack.network.ports import ensure_floating_ip
from sfcperf.drivers.openstack.overlay.deployment import OverlayDeployment
from sfcperf.drivers.openstack.overlay.layout import Nic, lay_out
from sfcperf.drivers.openstack.planning import encapsulation
from sfcperf.drivers.openstack.planning.machine_specs import scenario_machines
from sfcperf.drivers.openstack.planning.validation import addresses, data_prefix
from sfcperf.drivers.openstack.resources.context import Kind, LifecycleContext
from sfcperf.drivers.openstack.scenario_deployment import ScenarioDeployment
from sfcperf.drivers.parallel import outcomes
from sfcperf.drivers.sff.layout import GPE_OVERHEAD, LARGEST_WIRE_MTU
from sfcperf.errors import DeploymentError, SfcperfError
from sfcperf.hosts.ssh import make_key
from sfcperf.hosts.ssh.pins import USER_DATA
from sfcperf.workflow.model import Scenario


class CloudSession:
    """Everything that a run has in one cloud.

    The driver makes it at the first use. For each scenario the driver calls `deploy`, `chain` and
    later `unchain`, then `discard` if the machines may be at fault; at the end `close`. Machines
    are kept in between, for the next scenario.
    """

    def __init__(self, context: DriverContext, config: Config) -> None:
        self._state_dir, self._tag = context.state_dir, context.tag
        self._run_id, self._services = context.run_id, context.services
        self._config = config
        self.cloud = Cloud(config.cloud, context.log)
        self._telemetry = diagnostics.open_telemetry(self.cloud, config)
        self._context = LifecycleContext(
            self.cloud, config, ResourceNames(context.tag), context.journal
        )
        self._lifecycle = LIFECYCLES[config.lifecycle](self._context)
        self._flavors = Flavors(self.cloud)
        self._pool = MachinePool(self._context.names)
        self._networks: RunNetworks | None = None
        """None until the first machine is made."""
        self._jump_host: Guest | None = None
        """The machine with the floating IP, through which all others are reached; None without an
        external network, and while it is not made."""
        self._existing: dict[ExistingMachine, Guest] = {}

    def deploy(self, scenario: Scenario, outputs: Path, kept: Path) -> ScenarioDeployment:
        """Get guests for a scenario: running ones if they match, new ones for the rest. `outputs`:
        folder for what tools on the guests print; `kept`: folder in the results for what functions
        keep there. Raises DeploymentError, EnvironmentLacks."""
        needed = scenario_machines(scenario, self._config)
        ends = (needed.client, needed.server)
        existing = [
            self._connect_existing(end) if isinstance(end, ExistingMachine) else None
            for end in ends
        ]
        requests: list[tuple[MachineSpec, str | None]] = [
            # In a network that the run did not make, the cloud knows which addresses are free.
            (end, None if any(existing) else address)
            for end, address in zip(ends, addresses(scenario, self._tag), strict=True)
            if isinstance(end, MachineSpec)
        ]
        requests += [(spec, None) for spec in needed.functions]
        self._free_addresses(requests)
        chosen, plans = self._pool.assign(requests)
        if plans:
            self._prepare_networks(scenario)
        standing = [guest for guest in existing if guest is not None]
        self._check_mtus(scenario, standing)
        # The ports of existing machines are not ours: we cannot say what they let through.
        if self._networks is not None and not self._config.overlay and len(standing) < len(ends):
            check_firewall(self._networks, scenario.chain.match.ip_proto)
        made = {guest.name: guest for guest in self._make(plans)}
        # In the order of `requests`: endpoints that the run makes, then functions.
        guests = iter([each if isinstance(each, Guest) else made[each.name] for each in chosen])
        client, server = (guest or next(guests) for guest in existing)
        functions = {spec.name: next(guests) for spec in scenario.chain.functions}
        length = PREFIX_LENGTH if self._networks is None else self._networks.data_prefix_length
        images = {spec.image: self._image(spec.image) for spec in needed.specs}
        parts: dict[str, Any] = {
            "scenario": scenario,
            "client": client,
            "server": server,
            "functions": functions,
            "config": self._config,
            "outputs": outputs,
            "prefix_length": length,
            "images": images,
            "kept": kept,
            "run_id": self._run_id,
            "services": self._services,
        }
        if not self._config.overlay:
            return ScenarioDeployment(**parts)
        nics = {
            name: Nic(guest.interfaces[DATA], guest.port(DATA).mac, guest.port(DATA).address)
            for name, guest in {"client": client, "server": server, **functions}.items()
        }
        layout = lay_out(scenario, self._tag, nics, self._wire_mtu())
        return OverlayDeployment(**parts, layout=layout)

    def chain(self, deployment: ScenarioDeployment) -> None:
        """Send packets through the deployment's functions, where SFFs in their machines do not do
        so."""
        if not deployment.functions or self._config.overlay:
            return
        chain = deployment.scenario.chain
        # The port of an existing machine is not ours: we cannot say what it lets through.
        networks = self._networks if deployment.client.made else None
        plan = ChainPlan(
            client=deployment.client.name,
            server=deployment.server.name,
            functions=tuple(guest.name for guest in deployment.functions.values()),
            match=chain.match,
            symmetric=chain.reverse == "symmetric",
            correlation=encapsulation.correlation(deployment.scenario),
            any_address=any_address(deployment.scenario, networks),
        )
        machines = {guest.name: guest.machine for guest in deployment.guests.values()}
        deployment.chain = self._lifecycle.chain(plan, machines)

    def unchain(self) -> None:
        """Remove the chain: packets then go straight from client to server. SFFs in machines are
        not asked: they end with the deployment."""
        if not self._config.overlay:
            self._lifecycle.unchain()

    def diagnostics(self, deployment: ScenarioDeployment) -> Diagnostics:
        """Return what asks the cloud for its measurements of the machines that the run made, by
        instance."""
        guests = deployment.guests.items()
        machines = {name: guest.machine for name, guest in guests if guest.made}
        return diagnostics.of(self._telemetry, machines)

    def facts(self) -> Mapping[str, Any]:
        """Return life cycle and cloud, for the run's manifest."""
        return {"lifecycle": self._config.lifecycle, **self.cloud.facts()}

    def discard(self, deployment: ScenarioDeployment) -> None:
        """Remove the machines that the run made for a deployment, because they may be at fault: the
        next try gets new ones."""
        self._replace([guest for guest in deployment.guests.values() if guest.made])

    def close(self) -> None:
        """Remove all that the run has in the cloud, by the journal, and end the connections, also
        if something cannot be removed. Raises DeploymentError."""
        for guest in (*self._pool.guests, *self._existing.values()):
            guest.host.close()
            self._pool.drop(guest.name)
        self._existing.clear()
        with closing(self._telemetry), closing(self.cloud):
            remove_journaled(self._context, self._context.journal.outstanding())
        self._networks = self._jump_host = None

    def _image(self, name: str) -> Mapping[str, str | None]:
        """Return id and digest of the image that has this name now, because the name may come to
        mean another. The digest is None if the cloud does not tell it."""
        image = self._flavors.image(name)
        digest = f"{image.hash_algo}:{image.hash_value}" if image.hash_value else image.checksum
        return {"id": image.id, "hash": digest}

    def _prepare_networks(self, scenario: Scenario) -> None:
        """Make what all machines share, unless it is there."""
        if self._networks is None:
            _, public = make_key(self._state_dir)
            existing = next((g.port(DATA).network_id for g in self._existing.values()), None)
            prefix = data_prefix(scenario, self._tag)
            self._networks = prepare_networks(self._context, USER_DATA, public, prefix, existing)

    def _check_mtus(self, scenario: Scenario, existing: Sequence[Guest]) -> None:
        """Raises DeploymentError if packets of the endpoints would not fit into the data network.
        `existing`: endpoints that the run did not make, whose MTU it does not set."""
        if self._networks is None:
            return
        if self._config.overlay:
            check_mtu(
                self._networks,
                self._config.mtu,
                GPE_OVERHEAD,
                "/infrastructure/config/mtu",
                encapsulation="NSH in VXLAN-GPE",
            )
            return
        nsh = bool(scenario.chain.functions) and encapsulation.correlation(scenario) == "nsh"
        nsh_bytes = encapsulation.NSH_BYTES if nsh else 0
        if len(existing) < 2:  # the run makes an endpoint
            check_mtu(self._networks, self._config.mtu, nsh_bytes, "/infrastructure/config/mtu")
        for guest in existing:
            mtu = guest.mtu(guest.interfaces[DATA])
            check_mtu(self._networks, mtu, nsh_bytes, f"/endpoints/{guest.name}")

    def _wire_mtu(self) -> int:
        """Return the MTU of network cards in an overlay, bytes of IP packet: that of the data
        network, if the cloud says it, because functions may add to packets."""
        known = 0 if self._networks is None else self._networks.data_mtu
        return min(known or self._config.mtu + GPE_OVERHEAD, LARGEST_WIRE_MTU)

    def _make(self, plans: Sequence[MachinePlan]) -> list[Guest]:
        """Make the planned machines at the same time, connect to them, and return them in the order
        of `plans`. Those that answer stay in the pool even if others fail. Raises the first
        error."""
        if not plans:
            return []
        assert self._networks is not None
        key, _ = make_key(self._state_dir)
        try:
            machines = self._lifecycle.make(plans, self._networks)
            self._connect_jump_host(machines, key)
        except SfcperfError:
            # What did not come up in time is removed, so that the next try starts afresh.
            with suppress(SfcperfError):
                self._remove_planned(plans)
            raise
        jobs = outcomes(*(partial(self._connect, machine, key) for machine in machines))
        failed = []
        for machine, job in zip(machines, jobs, strict=True):
            if job.exception() is None:
                self._pool.add(job.result())
            else:
                failed.append(machine)
        if failed:
            self._remove(failed)
        return [job.result() for job in jobs]

    def _free_addresses(self, requests: Sequence[tuple[MachineSpec, str | None]]) -> None:
        """Remove machines of an earlier scenario that have an endpoint's address, but another
        spec."""
        needed = {address: spec for spec, address in requests if address is not None}
        for guest in self._pool.guests:
            plan = guest.machine.plan
            if plan.address in needed and plan.spec != needed[plan.address]:
                self._replace([guest])

    def _replace(self, guests: Sequence[Guest]) -> None:
        """Remove running machines. If the jump host is one of them, all others go too, because they
        are reached through it."""
        if self._jump_host is not None and self._jump_host in guests:
            guests, self._jump_host = self._pool.guests, None
        for guest in guests:
            guest.host.close()
        self.cloud.log(f"openstack: replacing {', '.join(guest.name for guest in guests)}")
        self._remove([guest.machine for guest in guests])

    def _remove_planned(self, plans: Sequence[MachinePlan]) -> None:
        """Remove what was made for planned machines, and forget them. In the journal these
        resources have a machine's name, or one that begins with it (`NAME-in`)."""
        names = {plan.name for plan in plans}
        prefixes = tuple(f"{name}-" for name in names)
        outstanding = self._context.journal.outstanding()
        made = [
            each for each in outstanding if each.name in names or each.name.startswith(prefixes)
        ]
        remove_journaled(self._context, made)
        for name in names:
            self._pool.drop(name)

    def _remove(self, machines: Sequence[Machine]) -> None:
        """Remove machines with all that belongs to them, and forget them."""
        names = {machine.plan.name for machine in machines}
        for name in names:
            self._pool.drop(name)
        outstanding = self._context.journal.outstanding()
        # A floating IP would outlive the machine, and the next jump host takes another one.
        floating = [r for r in outstanding if r.kind == Kind.FLOATING_IP and r.name in names]
        remove_journaled(self._context, floating)
        self._lifecycle.remove(machines)

    def _connect_existing(self, machine: ExistingMachine) -> Guest:
        """Return an existing machine as a guest. The first call journals the run's folder there,
        and connects."""
        if machine not in self._existing:
            workdir = workdirs.folder(self._context.names.of(machine.name))
            self._context.journal.intend([workdirs.resource(machine, workdir)])
            self._existing[machine] = connect_existing(self._context, machine, workdir)
        return self._existing[machine]

    def _connect_jump_host(self, machines: Sequence[Machine], key: Path) -> None:
        """Make one of these machines the jump host: give it a floating IP, and connect to it. Do
        nothing if there is one already, or no external network."""
        if self._config.external_network is None or self._jump_host is not None:
            return
        # Any machine will do as the jump host. The client is among them unless it is an existing
        # machine.
        jump = min(machines, key=lambda machine: machine.plan.spec.vnf != "client")
        address = ensure_floating_ip(self._context, jump.plan.name, jump.ports[MANAGEMENT])
        self._jump_host = connect(self._context, jump, key, address=address)

    def _connect(self, machine: Machine, key: Path) -> Guest:
        """Connect to a machine through the jump host, if there is one. The jump host itself is
        connected already."""
        jump = self._jump_host
        if jump is not None and jump.name == machine.plan.name:
            return jump
        return connect(self._context, machine, key, jump=None if jump is None else jump.host)


def any_address(scenario: Scenario, networks: RunNetworks | None) -> bool:
    """Whether the chain has to take packets of any address, because probes send some with addresses
    that are not the endpoints'. `networks`: the run's, if it made the client; None: the client is
    an existing machine, and the run cannot say what its port lets through. Raises DeploymentError
    where the cloud would drop such packets: the data network has port security."""
    probes = {name for spec in scenario.probes for name in spec.plugins}
    sending = sorted(name for name in probes if plugins.load("probe", name).other_addresses)
    if sending and networks is not None and networks.data_id in networks.security_groups:
        raise DeploymentError(
            f"the probe {sending[0]} sends packets with addresses of others, which the cloud "
            "drops: the project may not disable port security in the run's network",
            where="/probes",
            hint="ask the cloud's operator for the permission create_network:port_security_enabled",
        )
    return bool(sending)
