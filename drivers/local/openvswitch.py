"""A separate Open vSwitch: userspace datapath, own database, sockets, log and namespace.

It does not use or affect the system's Open vSwitch.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf import retry
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host, Process

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
OPENFLOW = "OpenFlow15"
START_TIMEOUT_S = 10.0
COMMAND_TIMEOUT_S = 10


@dataclass(frozen=True)
class Interface:
    """A port of a bridge."""

    bridge: str
    name: str
    ofport: int
    settings: tuple[str, ...] = ()
    """Further `column=value` of the OVSDB Interface table."""
    own_qdisc: bool = False
    """Keep the interface's queueing discipline, which Open vSwitch removes by default."""


def create_database(host: Host, file: Path) -> None:
    """Create an empty database, which is copied for every switch of a run."""
    host.run(["ovsdb-tool", "create", str(file), str(SCHEMA)], timeout_s=COMMAND_TIMEOUT_S)


class OpenVSwitch:
    """A switch of its own: one ovsdb-server and one ovs-vswitchd.

    Order of calls: `start`, `configure`, then any of the others, and `stop`. All that talk to the
    daemons raise DeploymentError.
    """

    def __init__(self, host: Host, folder: Path) -> None:
        """`host` has the datapath's ports; `folder` is for database, sockets and logs."""
        self._host = host
        self._folder = folder
        self._processes: dict[str, Process] = {}

    def start(self, empty_database: Path) -> None:
        """Start both daemons; `configure` waits until they work. Raises DeploymentError."""
        database = self._folder / "conf.db"
        shutil.copy(empty_database, database)
        self._spawn(
            "ovsdb-server",
            str(database),
            f"--remote=punix:{self._folder}/db.sock",
            f"--unixctl={self._folder}/ovsdb-server.ctl",
        )
        self._await(self._folder / "db.sock")
        # --no-wait, because the daemon whose answer ovs-vsctl would await starts next.
        self._vsctl("--no-wait", "init")
        self._spawn(
            "ovs-vswitchd",
            f"unix:{self._folder}/db.sock",
            f"--unixctl={self._folder}/ovs-vswitchd.ctl",
        )

    def configure(self, bridges: dict[str, str], interfaces: Sequence[Interface]) -> None:
        """Create bridges (name -> MAC address) and their ports in one transaction, and wait until
        the switch has them. Raises DeploymentError, also for a port that cannot be opened."""
        command: list[str] = []
        for bridge, mac in bridges.items():
            command += ["--", "add-br", bridge, "--", "set", "bridge", bridge]
            command += ["datapath_type=netdev", "fail_mode=secure", f"protocols={OPENFLOW}"]
            command += [f'other_config:hwaddr="{mac}"']
        for interface in interfaces:
            command += ["--", "add-port", interface.bridge, interface.name]
            command += ["--", "set", "interface", interface.name]
            command += [f"ofport_request={interface.ofport}", *interface.settings]
            if interface.own_qdisc:
                # With this type of QoS Open vSwitch leaves queueing disciplines alone.
                qos = f"@noop{interface.ofport}"
                command += ["--", f"--id={qos}", "create", "qos", "type=linux-noop"]
                command += ["--", "set", "port", interface.name, f"qos={qos}"]
        self._vsctl(*command)
        self._check_ports(interfaces)

    def export(self, bridges: Sequence[str], kind: str, collector: str, one_in: int) -> None:
        """Have bridges export one packet in `one_in` to a collector, IP:PORT, by the protocol
        `kind`, `sflow` or `ipfix`. Raises DeploymentError."""
        target = f'targets="{collector}"'
        settings = {
            "sflow": ["agent=lo", target, f"sampling={one_in}", "polling=0", "header=128"],
            "ipfix": [target, f"sampling={one_in}"],
        }
        command = ["--", "--id=@exporter", "create", kind, *settings[kind]]
        for bridge in bridges:
            command += ["--", "set", "bridge", bridge, f"{kind}=@exporter"]
        self._vsctl(*command)

    def end_export(self, bridges: Sequence[str]) -> None:
        """End the export by sFlow and IPFIX from these bridges. Raises DeploymentError."""
        command: list[str] = []
        for bridge in bridges:
            command += ["--", "clear", "bridge", bridge, "sflow", "ipfix"]
        self._vsctl(*command)

    def add_flows(self, bridge: str, flows: Sequence[str]) -> None:
        """Install flows, all or none. Raises DeploymentError."""
        target = self.listens_at(bridge)
        argv = ["ovs-ofctl", f"-O{OPENFLOW}", "--bundle", "add-flows", target, "-"]
        self._run(argv, stdin="\n".join(flows) + "\n")

    def set_neighbour(self, bridge: str, address: str, mac: str) -> None:
        """Set the MAC address of a tunnel's next hop, without ARP."""
        self._appctl("tnl/neigh/set", bridge, address, mac)

    def await_routes(self, prefixes: Sequence[str]) -> None:
        """Wait until the switch knows the kernel's routes to these prefixes: it learns them
        asynchronously, and drops packets for tunnels until then. Raises DeploymentError."""

        def known() -> bool:
            return all(prefix in self._appctl("ovs/route/show") for prefix in prefixes)

        if not retry.until(known, timeout_s=START_TIMEOUT_S, period_s=0.005):
            raise DeploymentError(f"Open vSwitch does not see the routes to {prefixes}")

    def packets_by_path(self, bridge: str) -> dict[tuple[int, int], int]:
        """(SPI, SI) -> packets that the bridge has looked up with them in its table 10, the SFF's
        (`sff.flows`)."""
        # Statistics of cached flows reach OpenFlow with a delay; a purge updates them now.
        self._appctl("revalidator/purge")
        dump = self._run(["ovs-ofctl", f"-O{OPENFLOW}", "dump-flows", self.listens_at(bridge)])
        found = re.findall(r"table=10, n_packets=(\d+),.*nsh_spi=(\w+),nsh_si=(\d+) actions=", dump)
        return {(int(spi, 0), int(si)): int(packets) for packets, spi, si in found}

    def dropped(self, bridge: str, cookie: int) -> int:
        """Return how many packets the flows with this cookie have dropped."""
        # A purge makes the next packets slower, so it is done only where something was dropped of
        # late.
        if "actions:drop" in self._appctl("dpctl/dump-flows"):
            self._appctl("revalidator/purge")
        argv = ["ovs-ofctl", f"-O{OPENFLOW}", "dump-flows", self.listens_at(bridge)]
        dump = self._run([*argv, f"cookie={cookie:#x}/-1"])
        return sum(map(int, re.findall(r"n_packets=(\d+)", dump)))

    def problem(self) -> str | None:
        """Return None while both daemons run, else what is wrong."""
        for daemon, process in self._processes.items():
            status = process.poll()
            if status is not None:
                return f"{daemon} ended with {status}{self._last_line(daemon)}"
        return None

    def stop(self) -> None:
        """Kill the daemons; they have no state to save."""
        for process in self._processes.values():
            process.stop(grace_s=0.0)
        self._processes.clear()

    def _spawn(self, daemon: str, *arguments: str) -> None:
        """Start a daemon, whose log and output go to files in the folder."""
        log = self._folder / f"{daemon}.log"
        console = self._folder / f"{daemon}.err"
        # OVS_RUNDIR is the only way to choose the folder of the bridges' sockets.
        argv = ["env", f"OVS_RUNDIR={self._folder}", daemon, *arguments]
        argv += ["--no-chdir", f"--log-file={log}", "-vconsole:err"]
        self._processes[daemon] = self._host.spawn(argv, stdout=console, stderr=console)

    def _await(self, address: Path) -> None:
        """Wait until a daemon listens at a socket. Raises DeploymentError if a daemon ends, or does
        not listen within START_TIMEOUT_S."""

        def decided() -> bool:
            return self.problem() is not None or _accepts(address)

        retry.until(decided, timeout_s=START_TIMEOUT_S, period_s=0.002)
        if not _accepts(address):
            raise DeploymentError(
                f"Open vSwitch does not start: {self.problem() or f'no {address.name}'}",
                hint="`sfcperf doctor` checks what it needs",
            )

    def _check_ports(self, interfaces: Sequence[Interface]) -> None:
        """Raise DeploymentError if the switch could not open one of these ports."""
        listing = self._vsctl(
            "--format=csv", "--no-headings", "--columns=name,error", "list", "interface"
        )
        names = {interface.name for interface in interfaces}
        for line in listing.splitlines():
            name, _, error = line.partition(",")
            if name.strip('"') in names and error.strip('"') not in ("", "[]"):
                raise DeploymentError(f"Open vSwitch cannot open the port {name}: {error}")

    def _vsctl(self, *arguments: str) -> str:
        database = f"--db=unix:{self._folder}/db.sock"
        return self._run(["ovs-vsctl", database, f"--timeout={COMMAND_TIMEOUT_S}", *arguments])

    def listens_at(self, bridge: str) -> str:
        """Return where OpenFlow controllers can connect to, `unix:/path`."""
        return f"unix:{self._folder}/{bridge}.mgmt"

    def _appctl(self, *arguments: str) -> str:
        target = f"--target={self._folder}/ovs-vswitchd.ctl"
        return self._run(["ovs-appctl", target, *arguments])

    def _run(self, argv: Sequence[str], stdin: str | None = None) -> str:
        """Run a command and return what it prints. Raises DeploymentError, which names a daemon
        that has ended, since that explains the failure."""
        try:
            return self._host.run(
                argv,
                # A second more, so that ovs-vsctl ends by its own timeout first.
                timeout_s=COMMAND_TIMEOUT_S + 1,
                stdin=None if stdin is None else stdin.encode(),
            ).text
        except MeasurementError as error:
            problem = self.problem()
            raise DeploymentError(
                f"{problem}; {error.message}" if problem else error.message
            ) from error

    def _last_line(self, daemon: str) -> str:
        """Return the last line that a daemon printed, for the end of a message; empty if there is
        none."""
        try:
            lines = (self._folder / f"{daemon}.err").read_text().strip().splitlines()
        except OSError:
            return ""
        return f": {lines[-1]}" if lines else ""


def _accepts(address: Path) -> bool:
    """Whether a daemon listens at the socket. Its file is no sign: it exists before the daemon
    listens."""
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(str(address))
        except OSError:
            return False
    return True
