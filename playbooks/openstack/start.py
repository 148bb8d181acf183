"""Start the cloud's services in their order; runs inside of the namespaces."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks
from sfcperf.playbooks.openstack import databases, furniture, identity, nodes
from sfcperf.playbooks.openstack.command import run, tail
from sfcperf.playbooks.openstack.layout import (
    EXTERNAL_GATEWAY,
    MANAGEMENT_GATEWAY,
    Layout,
    node_name,
)
from sfcperf.playbooks.openstack.pristine import Pristine
from sfcperf.playbooks.openstack.services import (
    HTTP_PORTS,
    RABBITMQ_PORT,
    in_node,
    listens,
    of_node,
    speaks_http,
)
from sfcperf.playbooks.openstack.supervisor import Supervisor

if TYPE_CHECKING:
    from openstack.connection import Connection

APIS = ("neutron-server", "nova-api", "glance-api", "heat-api", "tacker-server")
AFTER_IDENTITY = (
    *("neutron-server", "nova-conductor", "nova-api", "glance-api", "nova-scheduler"),
    *("maintenance", "tacker-conductor", "heat-engine", "heat-api", "tacker-server"),
)
AFTER_NEUTRON = ("neutron-ovs-agent", "nova-compute", "neutron-dhcp-agent", "neutron-l3-agent")
"""A first report that an agent sends before the server listens is lost, and costs a minute."""
AFTER_NEUTRON_IN_NODES = AFTER_NEUTRON[:2]
ANSWERS_WITHIN_S = 180.0
ANEW = "make openstack-down openstack-up; from nothing: make openstack-down WIPE=1 openstack-up"


class Start:
    """One start of the cloud."""

    def __init__(self, layout: Layout, say: Callable[[str], None]) -> None:
        self._layout = layout
        self._say = say
        self._supervisor = Supervisor()
        self._pristine = Pristine(layout)
        self._is_new = not self._pristine.is_loaded
        self._further = range(2, layout.node_count + 1)
        """Numbers of the nodes beside the first one."""

    def run(self) -> None:
        """All of it; what runs already stays as it is.

        Raises `EnvironmentLacks` with the service that does not come up and the end of its log.
        """
        self._foundations()
        self._databases()
        self._identity()
        self._supervisor.start(*AFTER_IDENTITY)
        self._answers("neutron-server")
        # nova-compute ends at once without it, and says less about why.
        for number in (1, *self._further):
            ready = _ok(*in_node(number, "virsh", "--connect", "qemu:///system", "list"))
            self._wait(of_node("libvirtd", number), ready)
        self._supervisor.start(*self._agents)
        for name in APIS:
            self._answers(name)
        self._say("the APIs answer")
        self._furniture()

    def _foundations(self) -> None:
        layout = self._layout
        database = "/etc/openvswitch/conf.db"
        log = layout.log / "openvswitch.log"
        run(["sh", "-c", f"test -e {database} || ovsdb-tool create {database}"], log)
        databases.create_server(layout)
        self._supervisor.start("mariadb", "rabbitmq", "ovsdb-server")
        self._wait("ovsdb-server", _ok("ovs-vsctl", "--timeout=2", "--no-wait", "init"))
        self._supervisor.start("ovs-vswitchd", "taps", "libvirtd")
        self._wait("ovs-vswitchd", _ok("ovs-appctl", "-t", "ovs-vswitchd", "version"))
        for bridge, address in (("br-mgmt", MANAGEMENT_GATEWAY), ("br-ext", EXTERNAL_GATEWAY)):
            netdev = ("--", "set", "bridge", bridge, "datapath_type=netdev")
            run(["ovs-vsctl", "--timeout=10", "--may-exist", "add-br", bridge, *netdev], log)
            run(["ip", "address", "replace", f"{address}/24", "dev", bridge], log)
            run(["ip", "link", "set", bridge, "up"], log)

        if self._further:
            self._nodes()

    @property
    def _agents(self) -> tuple[str, ...]:
        """Services that start after neutron's server, of all nodes."""
        further = [
            of_node(name, number) for number in self._further for name in AFTER_NEUTRON_IN_NODES
        ]
        return (*AFTER_NEUTRON, *further)

    def _nodes(self) -> None:
        """Make the further nodes, each with its switch and libvirtd, and wires to the first one."""
        nodes.open_services(self._layout)
        self._supervisor.start(*(of_node("node", number) for number in self._further))
        for number in self._further:
            self._wait(of_node("node", number), partial(nodes.is_there, number))
            nodes.connect(self._layout, number)
            database = "/etc/openvswitch/conf.db"
            make = ("sh", "-c", f"test -e {database} || ovsdb-tool create {database}")
            run([*in_node(number, *make)], self._layout.log / "nodes.log")
            self._supervisor.start(of_node("ovsdb-server", number))
        for number in self._further:
            init = in_node(number, "ovs-vsctl", "--timeout=2", "--no-wait", "init")
            self._wait(of_node("ovsdb-server", number), _ok(*init))
            names = ("ovs-vswitchd", "taps", "libvirtd")
            self._supervisor.start(*(of_node(name, number) for name in names))
        for number in self._further:
            version = in_node(number, "ovs-appctl", "-t", "ovs-vswitchd", "version")
            self._wait(of_node("ovs-vswitchd", number), _ok(*version))
            nodes.join_bridges(self._layout, number)
        self._say(f"{count_text(len(self._further), 'further node')} joined the first one")

    def _databases(self) -> None:
        self._wait("mariadb", databases.answers)
        databases.grant()
        if not self._is_new:
            return
        if self._pristine.is_there:
            self._pristine.load()
            self._say("restored the databases of a new cloud")
            return
        databases.migrate(self._layout)
        self._say("made the databases by the services' migrations")

    def _identity(self) -> None:
        if not self._pristine.is_loaded:
            identity.keys(self._layout)
        self._supervisor.start("keystone", "placement")
        self._wait("rabbitmq", lambda: listens(RABBITMQ_PORT))
        self._answers("keystone")
        self._say("Keystone answers")
        if not self._pristine.is_loaded:
            identity.populate()

    def _furniture(self) -> None:
        cloud = identity.connection()
        self._workers_report(cloud)
        self._say("agents and the hypervisor have reported")
        if not self._pristine.is_loaded:
            furniture.flavors(cloud)
            furniture.networks(cloud)
        changed = furniture.images(cloud, self._layout)
        if changed:
            self._say("guest images are in Glance")
        # A cloud that others have used since is not as it was made.
        if self._is_new and (changed or not self._pristine.is_loaded):
            self._pristine.save()

    def _workers_report(self, cloud: Connection) -> None:
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        hosts = [node_name(number) for number in (1, *self._further)]
        while missing := furniture.missing_workers(cloud, hosts):
            self._fail_if_ended(AFTER_IDENTITY + self._agents)
            if time.monotonic() > deadline:
                raise EnvironmentLacks(
                    f"not up after {ANSWERS_WITHIN_S:g} s: {', '.join(sorted(missing))}",
                    where=str(self._layout.log),
                    hint=ANEW,
                )
            time.sleep(0.5)

    def _answers(self, name: str) -> None:
        self._wait(name, lambda: speaks_http(HTTP_PORTS[name]))

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Until the service is ready; one that has ended will not be."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not ready():
            self._fail_if_ended((name,))
            if time.monotonic() > deadline:
                raise self._failure(name, f"does not answer after {ANSWERS_WITHIN_S:g} s")
            time.sleep(0.2)

    def _fail_if_ended(self, names: tuple[str, ...]) -> None:
        states = self._supervisor.states()
        for name in names:
            if states[name].word in ("EXITED", "FATAL"):
                raise self._failure(name, f"has ended ({states[name].said})")

    def _failure(self, name: str, how: str) -> EnvironmentLacks:
        log = self._layout.log / f"{name}.log"
        return EnvironmentLacks(f"{name} {how}; the end of {log}:\n{tail(log)}", hint=ANEW)


def _ok(*command: str) -> Callable[[], bool]:
    return lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0
