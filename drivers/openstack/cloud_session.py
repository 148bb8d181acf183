"""Region: the cloud as one run uses it: ground, life cycle, and the pool of guests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf.drivers.base import DriverContext
from sfcperf.drivers.openstack.api.cloud import Cloud
from sfcperf.drivers.openstack.api.parallel import outcomes
from sfcperf.drivers.openstack.cleanup import journal_cleanup, workdirs
from sfcperf.drivers.openstack.compute import diagnostics
from sfcperf.drivers.openstack.compute.flavors import Flavors
from sfcperf.drivers.openstack.compute.guest import Guest, connect, management_address, reach
from sfcperf.drivers.openstack.compute.machine_pool import Pool
from sfcperf.drivers.openstack.description import Diagnostics
from sfcperf.drivers.openstack.lifecycle import lifecycle
from sfcperf.drivers.openstack.lifecycle.base import Ground, Machine, Workshop
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.names import Names
from sfcperf.drivers.openstack.model.specs import DATA, PREFIX_LENGTH, ChainPlan, MachinePlan, Shape
from sfcperf.drivers.openstack.network import floating, networks
from sfcperf.drivers.openstack.planning.endpoint_options import Standing
from sfcperf.drivers.openstack.planning.machine_specs import needs
from sfcperf.drivers.openstack.planning.validation import addresses, data_prefix
from sfcperf.drivers.openstack.resources.resource_kinds import Kind
from sfcperf.drivers.openstack.scenario_deployment import Site
from sfcperf.errors import SfcperfError
from sfcperf.hosts.ssh_keys import make_key
from sfcperf.hosts.ssh_pins import USER_DATA
from sfcperf.workflow.model import Scenario


class Region:
    """Everything that a run has in one cloud."""

    def __init__(self, context: DriverContext, config: Config) -> None:
        self._context = context
        self._config = config
        self.cloud = Cloud(config.cloud, context.log)
        names = Names(context.tag)
        self._teller = diagnostics.teller(self.cloud, config)
        self._workshop = Workshop(self.cloud, config, names, context.journal, context.log)
        self._lifecycle = lifecycle(config.lifecycle)(self._workshop)
        self._flavors = Flavors(self.cloud)
        self._pool = Pool(names)
        self._ground: Ground | None = None
        self._gate: Guest | None = None
        self._standing: dict[Standing, Guest] = {}

    def site(self, scenario: Scenario, outputs: Path) -> Site:
        """Guests for a scenario: those that stand where they fit, new ones for the rest."""
        wanted = needs(scenario, self._config)
        ends = (wanted.client, wanted.server)
        standing = [self._reach(end) if isinstance(end, Standing) else None for end in ends]
        asked: list[tuple[Shape, str | None]] = [
            # In a network that was there before, the cloud knows which addresses are free.
            (end, None if any(standing) else address)
            for end, address in zip(ends, addresses(scenario, self._context.tag), strict=True)
            if isinstance(end, Shape)
        ]
        asked += [(shape, None) for shape in wanted.functions]
        self._free_addresses(asked)
        chosen, plans = self._pool.assign(asked)
        made = {guest.name: guest for guest in self._make(plans, scenario)}
        guests = iter([each if isinstance(each, Guest) else made[each.name] for each in chosen])
        client, server = (there or next(guests) for there in standing)
        functions = {spec.name: next(guests) for spec in scenario.chain.functions}
        length = PREFIX_LENGTH if self._ground is None else self._ground.data_prefix_length
        site = Site(scenario, client, server, functions, self._config, outputs, length)
        site.images = {shape.image: self._image(shape.image) for shape in wanted.machines}
        return site

    def chain(self, site: Site) -> None:
        """Lead packets through the site's functions."""
        if not site.functions:
            return
        chain = site.scenario.chain
        plan = ChainPlan(
            client=site.client.name,
            server=site.server.name,
            functions=tuple(guest.name for guest in site.functions.values()),
            match=chain.match,
            symmetric=chain.reverse == "symmetric",
        )
        machines = {guest.name: guest.machine for guest in site.guests.values()}
        site.chain = self._lifecycle.chain(plan, machines)

    def unchain(self) -> None:
        """Packets go straight from client to server."""
        self._lifecycle.unchain()

    def diagnostics(self, site: Site) -> Diagnostics:
        """What the cloud itself can say of the machines."""
        machines = {name: guest.machine for name, guest in site.guests.items() if guest.made}
        return diagnostics.of(self._teller, machines)

    def _image(self, name: str) -> Mapping[str, str | None]:
        """What the name stood for at the time."""
        image = self._flavors.image(name)
        digest = f"{image.hash_algo}:{image.hash_value}" if image.hash_value else image.checksum
        return {"id": image.id, "hash": digest}

    def facts(self) -> Mapping[str, Any]:
        """For the run's manifest."""
        return {"lifecycle": self._config.lifecycle, **self.cloud.facts()}

    def discard(self, site: Site) -> None:
        """Machines that packets did not cross as they should: the next try has new ones."""
        self._replace([guest for guest in site.guests.values() if guest.made])

    def _replace(self, guests: Sequence[Guest]) -> None:
        if self._gate is not None and self._gate in guests:
            # All others are reached through it.
            guests, self._gate = self._pool.guests, None
        for guest in guests:
            guest.host.close()
        self._context.log(f"openstack: replacing {', '.join(guest.name for guest in guests)}")
        self._remove([guest.machine for guest in guests])

    def close(self) -> None:
        """Remove all that the run has in the cloud, by the journal."""
        for guest in (*self._pool.guests, *self._standing.values()):
            guest.host.close()
            self._pool.drop(guest.name)
        self._standing.clear()
        left = self._context.journal.outstanding()
        with closing(self._teller), closing(self.cloud):
            journal_cleanup.remove(self.cloud, left)
            self._context.journal.removed(left)
        self._ground = self._gate = None

    def _make(self, plans: Sequence[MachinePlan], scenario: Scenario) -> list[Guest]:
        """At the same time. What answers stays in the pool even when others fail."""
        if not plans:
            return []
        key, public = make_key(self._context.state_dir)
        if self._ground is None:
            network = next((g.port(DATA).network_id for g in self._standing.values()), None)
            self._ground = networks.prepare_ground(
                self._workshop, USER_DATA, public, data_prefix(scenario, self._context.tag), network
            )
        try:
            machines = self._lifecycle.make(plans, self._ground)
            self._open_gate(machines, key)
        except SfcperfError:
            # What did not come up in time is not waited for again: the next try is a fresh one.
            with suppress(SfcperfError):
                self._abandon(plans)
            raise
        jobs = outcomes(*(partial(self._connect, machine, key) for machine in machines))
        for job in jobs:
            if job.exception() is None:
                self._pool.add(job.result())
        failed = [m for m, job in zip(machines, jobs, strict=True) if job.exception() is not None]
        if failed:
            # A machine that does not answer is not tried again: the next one is new.
            self._remove(failed)
        return [job.result() for job in jobs]

    def _free_addresses(self, asked: Sequence[tuple[Shape, str | None]]) -> None:
        """An endpoint's address is held by the machine of an earlier scenario that has another
        shape: there is room for one of them only."""
        wanted = {address: shape for shape, address in asked if address is not None}
        for guest in self._pool.guests:
            plan = guest.machine.plan
            if plan.address in wanted and plan.shape != wanted[plan.address]:
                self._replace([guest])

    def _abandon(self, plans: Sequence[MachinePlan]) -> None:
        """Remove what has come of them, by the journal."""
        names = tuple(plan.name for plan in plans)
        made = [
            each
            for each in self._context.journal.outstanding()
            if each.name in names or each.name.startswith(tuple(f"{name}-" for name in names))
        ]
        journal_cleanup.remove(self.cloud, made)
        self._context.journal.removed(made)
        for name in names:
            self._pool.drop(name)

    def _remove(self, machines: Sequence[Machine]) -> None:
        names = {machine.plan.name for machine in machines}
        for name in names:
            self._pool.drop(name)
        left = self._context.journal.outstanding()
        gates = [r for r in left if r.kind == Kind.FLOATING_IP and r.name in names]
        if gates:
            # It would outlive the machine, and the next gate takes another one.
            journal_cleanup.remove(self.cloud, gates)
            self._context.journal.removed(gates)
        self._lifecycle.remove(machines)

    def _reach(self, standing: Standing) -> Guest:
        if standing not in self._standing:
            workdir = workdirs.folder(self._workshop.names.of(standing.name))
            self._context.journal.intend([workdirs.resource(standing, workdir)])
            self._standing[standing] = reach(self._workshop, standing, workdir)
        return self._standing[standing]

    def _open_gate(self, machines: Sequence[Machine], key: Path) -> None:
        """Without a management network that we are in ourselves, the first client is the way to
        all other machines; the client is among the first that are made."""
        if self._config.external_network is None or self._gate is not None:
            return
        # Any will do; the client is among them unless it is a machine that stood already.
        client = min(machines, key=lambda machine: machine.plan.shape.vnf != "client")
        address = floating.address(self._workshop, client)
        self._gate = connect(self._workshop, client, key, address=address, jump=None)

    def _connect(self, machine: Machine, key: Path) -> Guest:
        gate = self._gate
        if gate is not None and gate.name == machine.plan.name:
            return gate
        jump = None if gate is None else gate.host
        address = management_address(machine)
        return connect(self._workshop, machine, key, address=address, jump=jump)
