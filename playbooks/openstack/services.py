"""The services of the cloud: the command of each, and whether it answers."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from sfcperf.playbooks.openstack.layout import DATABASE_PORT, RUN, SOURCES, Layout, node_name

PYTHON = "/usr/bin/python3"
"""The distribution's: its libraries are what its OpenStack runs with."""

RABBITMQ_PORT = 5672
HTTP_PORTS: Mapping[str, int] = {
    "keystone": 5000,
    "placement": 8778,
    "glance-api": 9292,
    "nova-api": 8774,
    "neutron-server": 9696,
    "heat-api": 8004,
    "tacker-server": 9890,
    "maintenance": 12347,
}
"""Of 127.0.0.1."""
NODE_PORTS = (RABBITMQ_PORT, *(HTTP_PORTS[n] for n in ("keystone", "placement", "glance-api")))
NODE_PORTS += (HTTP_PORTS["nova-api"], HTTP_PORTS["neutron-server"])
"""What further nodes reach at their own 127.0.0.1 too."""


@dataclass(frozen=True)
class Service:
    """One process (group) that the supervisor looks after."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def command_line(self) -> str:
        """As the supervisor's configuration wants it: split like a shell does, % doubled."""
        quoted = (f'"{word}"' if " " in word else word for word in self.command)
        return " ".join(quoted).replace("%", "%%")


def services(layout: Layout) -> tuple[Service, ...]:
    """All of them, in the order in which they are started."""
    further = range(2, layout.node_count + 1)
    nodes = (service for number in further for service in _node(layout, number))
    return (*_foundations(layout), *_openstack(layout), *_tacker(layout), *nodes)


def in_node(number: int, *command: str) -> tuple[str, ...]:
    """A command in the namespaces of a node."""
    return command if number == 1 else ("sh", str(SOURCES / "in-node.sh"), str(number), *command)


def of_node(name: str, number: int) -> str:
    """Name of a node's service."""
    return name if number == 1 else f"{name}-{number}"


def _node(layout: Layout, number: int) -> tuple[Service, ...]:
    """A further node: a hypervisor with a switch and its agent, in namespaces of its own."""
    state = str(layout.of_node(number))
    holder = (
        *("unshare", "--net", "--mount", "--uts", "--propagation", "private"),
        *("sh", str(SOURCES / "node.sh"), state, str(number), node_name(number)),
    )
    served = (*_switch(), _taps(), _libvirtd(layout, number), *_compute(layout, number))
    return (
        Service(of_node("node", number), holder),
        *(
            Service(of_node(each.name, number), in_node(number, *each.command), each.environment)
            for each in served
        ),
    )


def _switch() -> tuple[Service, ...]:
    sockets = "unix:/run/openvswitch/db.sock"
    return (
        Service(
            "ovsdb-server",
            (
                *("ovsdb-server", "/etc/openvswitch/conf.db", f"--remote=p{sockets}"),
                "--pidfile=/run/openvswitch/ovsdb-server.pid",
            ),
        ),
        Service(
            "ovs-vswitchd",
            ("ovs-vswitchd", sockets, "--pidfile=/run/openvswitch/ovs-vswitchd.pid"),
        ),
    )


def _taps() -> Service:
    return Service("taps", ("sh", str(SOURCES / "taps.sh")))


def _libvirtd(layout: Layout, number: int) -> Service:
    configuration = layout.etc_of_node(number) / "libvirtd.conf"
    return Service("libvirtd", ("libvirtd", "--config", str(configuration)))


def _compute(layout: Layout, number: int) -> tuple[Service, ...]:
    """nova-compute, and the agent of the switch."""
    etc = layout.etc_of_node(number)
    agent = "neutron.cmd.eventlet.plugins.ovs_neutron_agent"
    return (
        _python("nova-compute", "nova.cmd.compute", etc / "nova-compute.conf"),
        _python("neutron-ovs-agent", agent, etc / "neutron.conf", etc / "ml2.ini"),
    )


def _foundations(layout: Layout) -> tuple[Service, ...]:
    rabbit = layout.state / "rabbitmq"
    return (
        *_switch(),
        Service(
            "mariadb",
            (
                *("mariadbd", "--no-defaults", "--user=root", f"--datadir={layout.state}/mariadb"),
                *(f"--socket={RUN}/mariadb.sock", f"--pid-file={RUN}/mariadb.pid"),
                *("--bind-address=127.0.0.1", f"--port={DATABASE_PORT}", "--skip-name-resolve"),
                *("--skip-log-bin", "--max-connections=500", "--performance-schema=off"),
                "--character-set-server=utf8mb3",
                # Nothing needs to outlive a power cut.
                *("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync"),
                *("--innodb-doublewrite=0", "--innodb-buffer-pool-size=256M"),
            ),
        ),
        Service(
            "rabbitmq",
            ("/usr/lib/rabbitmq/bin/rabbitmq-server",),
            {
                "HOME": str(rabbit),
                "RABBITMQ_NODENAME": "sfcperf@localhost",
                "RABBITMQ_MNESIA_BASE": f"{rabbit}/mnesia",
                "RABBITMQ_LOG_BASE": f"{layout.log}/rabbitmq",
                "RABBITMQ_CONFIG_FILE": f"{layout.etc}/rabbitmq",
                "RABBITMQ_CONF_ENV_FILE": f"{layout.etc}/rabbitmq-env.conf",
                "RABBITMQ_ENABLED_PLUGINS_FILE": f"{layout.etc}/rabbitmq-plugins",
                "RABBITMQ_PID_FILE": f"{RUN}/rabbitmq.pid",
                "RABBITMQ_IO_THREAD_POOL_SIZE": "8",
                # Schedulers that wait without spinning: two processors are all there may be.
                "RABBITMQ_SERVER_START_ARGS": "+S 2:2 +sbwt none",
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                    "-kernel inet_dist_use_interface {127,0,0,1}"
                ),
                "ERL_EPMD_ADDRESS": "127.0.0.1",
            },
        ),
        _taps(),
        _libvirtd(layout, 1),
    )


def _openstack(layout: Layout) -> tuple[Service, ...]:
    nova, glance, heat = (layout.etc / f"{name}.conf" for name in ("nova", "glance", "heat"))
    neutron = (layout.etc / "neutron.conf", layout.etc / "ml2.ini")
    agents = "neutron.cmd.eventlet.agents"
    keystone = {"OS_KEYSTONE_CONFIG_FILES": f"{layout.etc}/keystone.conf"}
    placement = {"OS_PLACEMENT_CONFIG_DIR": f"{layout.etc}/placement"}
    return (
        _wsgi("keystone", "/usr/bin/keystone-wsgi-public", keystone),
        _wsgi("placement", "/usr/bin/placement-api", placement),
        _python("neutron-server", "neutron.cmd.eventlet.server", *neutron),
        _python("nova-conductor", "nova.cmd.conductor", nova),
        _python("nova-api", "nova.cmd.api", nova),
        _python("glance-api", "glance.cmd.api", glance),
        _python("nova-scheduler", "nova.cmd.scheduler", nova),
        *_compute(layout, 1),
        _python("neutron-dhcp-agent", f"{agents}.dhcp", *neutron, layout.etc / "dhcp_agent.ini"),
        _python("neutron-l3-agent", f"{agents}.l3", *neutron, layout.etc / "l3_agent.ini"),
        _python("heat-engine", "heat.cmd.engine", heat),
        _python("heat-api", "heat.cmd.api", heat),
    )


def _tacker(layout: Layout) -> tuple[Service, ...]:
    arguments = ("--config-file", str(layout.etc / "tacker.conf"))
    return (
        Service("maintenance", (PYTHON, str(SOURCES / "maintenance.py"))),
        Service("tacker-conductor", (str(layout.tacker / "bin/tacker-conductor"), *arguments)),
        Service("tacker-server", (str(layout.tacker / "bin/tacker-server"), *arguments)),
    )


def _python(name: str, module: str, *configuration: object) -> Service:
    """A service whose package brings no program (its init script does), or one for systemd."""
    files = (word for path in configuration for word in ("--config-file", str(path)))
    return Service(name, (PYTHON, str(SOURCES / "launch.py"), module, name, *files))


def _wsgi(name: str, program: str, environment: Mapping[str, str]) -> Service:
    return Service(
        name,
        (
            *("uwsgi-core", "--plugin", "python3", "--master", "--die-on-term"),
            *("--processes", "2", "--threads", "1", "--enable-threads", "--lazy-apps"),
            *("--thunder-lock", "--need-app", "--buffer-size", "65535", "--disable-logging"),
            *("--http-socket", f"127.0.0.1:{HTTP_PORTS[name]}", "--wsgi-file", program),
            *("--add-header", "Connection: close"),
        ),
        environment,
    )


def listens(port: int) -> bool:
    """Whether the port takes connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 2.0).close()
    except OSError:
        return False
    return True


def speaks_http(port: int) -> bool:
    """Whether a request is answered, by whatever but an error of the server's own."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        asked.request("GET", "/")
        return asked.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
