"""Start the cloud's services in their order; runs inside of the namespaces."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from collections.abc import Callable

from sfcperf.errors import EnvironmentLacks
from sfcperf.playbooks.openstack import databases, furniture, identity
from sfcperf.playbooks.openstack.command import run, tail
from sfcperf.playbooks.openstack.layout import (
    EXTERNAL_GATEWAY,
    MANAGEMENT_GATEWAY,
    Layout,
)
from sfcperf.playbooks.openstack.pristine import Pristine
from sfcperf.playbooks.openstack.services import PORTS
from sfcperf.playbooks.openstack.supervisor import Supervisor

APIS = ("neutron-server", "nova-api", "glance-api", "heat-api", "tacker-server")
AFTER_IDENTITY = (
    *("neutron-server", "nova-conductor", "nova-api", "glance-api", "nova-scheduler"),
    *("maintenance", "tacker-conductor", "heat-engine", "heat-api", "tacker-server"),
)
AFTER_NEUTRON = ("neutron-ovs-agent", "nova-compute", "neutron-dhcp-agent", "neutron-l3-agent")
"""A first report that an agent sends before the server listens is lost, and costs a minute."""
ANSWERS_WITHIN_S = 180.0


class Start:
    """One start of the cloud."""

    def __init__(self, layout: Layout, say: Callable[[str], None]) -> None:
        self._layout = layout
        self._say = say
        self._supervisor = Supervisor()
        self._pristine = Pristine(layout)

    def run(self) -> None:
        """All of it; what runs already stays as it is.

        Raises `EnvironmentLacks` with the service that does not come up and the end of its log.
        """
        self._foundations()
        self._databases()
        self._identity()
        for name in AFTER_IDENTITY:
            self._supervisor.start(name)
        self._answers("neutron-server")
        for name in AFTER_NEUTRON:
            self._supervisor.start(name)
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
        for name in ("mariadb", "rabbitmq", "ovsdb-server"):
            self._supervisor.start(name)
        self._wait("ovsdb-server", _ok("ovs-vsctl", "--timeout=2", "--no-wait", "init"))
        self._supervisor.start("ovs-vswitchd")
        self._supervisor.start("libvirtd")
        self._wait("ovs-vswitchd", _ok("ovs-appctl", "-t", "ovs-vswitchd", "version"))
        for bridge, address in (("br-mgmt", MANAGEMENT_GATEWAY), ("br-ext", EXTERNAL_GATEWAY)):
            netdev = ("--", "set", "bridge", bridge, "datapath_type=netdev")
            run(["ovs-vsctl", "--timeout=10", "--may-exist", "add-br", bridge, *netdev], log)
            run(["ip", "address", "replace", f"{address}/24", "dev", bridge], log)
            run(["ip", "link", "set", bridge, "up"], log)

    def _databases(self) -> None:
        self._wait("mariadb", databases.answers)
        databases.grant()
        if self._pristine.is_loaded:
            return
        if self._pristine.is_there:
            self._pristine.load()
            self._say("databases as they were when the cloud was made")
            return
        databases.migrate(self._layout)
        self._say("databases made by the services' migrations")

    def _identity(self) -> None:
        if not self._pristine.is_loaded:
            identity.keys(self._layout)
        for name in ("keystone", "placement"):
            self._supervisor.start(name)
        self._wait("rabbitmq", lambda: _listens(PORTS["rabbitmq"]))
        self._answers("keystone")
        self._say("Keystone answers")
        if not self._pristine.is_loaded:
            identity.populate()

    def _furniture(self) -> None:
        cloud = identity.connection()
        furniture.wait_for_workers(cloud)
        self._say("agents and the hypervisor have reported")
        if not self._pristine.is_loaded:
            furniture.flavors(cloud)
            furniture.networks(cloud)
        if furniture.images(cloud, self._layout) or not self._pristine.is_loaded:
            self._say("guest images are in Glance")
            self._pristine.save()

    def _answers(self, name: str) -> None:
        self._wait(name, lambda: _speaks_http(PORTS[name]))

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Until the service is ready, or has ended."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not ready():
            state = self._supervisor.state(name)
            late = time.monotonic() > deadline
            if state.word in ("EXITED", "FATAL") or late:
                log = self._layout.log / f"{name}.log"
                how = f"does not answer after {ANSWERS_WITHIN_S:g} s" if late else "ended"
                raise EnvironmentLacks(
                    f"{name} {how} ({state.word.lower()}: {state.said}); the end of {log}:\n"
                    f"{tail(log)}",
                    hint="make openstack-down, then make openstack-up; anew from nothing: "
                    "make openstack-down WIPE=1",
                )
            time.sleep(0.2)


def _ok(*command: str) -> Callable[[], bool]:
    return lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 2.0).close()
    except OSError:
        return False
    return True


def _speaks_http(port: int) -> bool:
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        asked.request("GET", "/")
        return asked.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
