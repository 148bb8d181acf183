"""ScenarioDeployment: one scenario on running guests: endpoints set up, functions started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.dataplane.port_pair import FUNCTION_INTERFACE, FUNCTION_MAC, PortPair
from sfcperf.dataplane.proxy import SfcProxy
from sfcperf.drivers.openstack.compute.guest import COMMAND_TIMEOUT_S, Guest
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import DATA, EGRESS, INGRESS, MANAGEMENT
from sfcperf.drivers.openstack.planning import encapsulation
from sfcperf.drivers.parallel import each, outcomes
from sfcperf.errors import DeploymentError, MeasurementError, SfcperfError, errors_as
from sfcperf.hosts.carry import equip
from sfcperf.hosts.ip_batch import ip_batch
from sfcperf.hosts.provision import install
from sfcperf.vnfs.base import Attachment, Management, NetworkFunction, RunningFunction
from sfcperf.vnfs.forwarder.function import attach_pass
from sfcperf.workflow.model import FunctionSpec, Scenario

OWN_TOOLS = ("ip", "tcpdump", "ping", "sysctl", "ethtool")
"""What the driver calls in guests, and probes in all of them."""
_BUFFERS = ("net.core.rmem_max=4194304", "net.core.wmem_max=4194304")
"""Limits of socket buffers, as on a host that is set up for runs: with less, a receiver of UDP
loses datagrams that the chain has delivered."""

_EMPTY = """
for each in "$1"/*; do
	case ${each##*/} in bin|carried|programs) ;; *) rm -rf "$each" ;; esac
done
"""
"""Removes files of an earlier scenario, except copied tools."""


@dataclass(eq=False)
class ScenarioDeployment:
    """Guests and functions of a scenario. CloudSession makes it; the driver calls `prepare`, has
    CloudSession chain the functions, and calls `stop`, after which the guests are free again."""

    scenario: Scenario
    client: Guest
    server: Guest
    functions: Mapping[str, Guest]
    """Guests of the functions by instance, in forward order."""
    config: Config
    outputs: Path
    """Folder on this machine for what functions and tools print."""
    prefix_length: int
    """Length of the data network's prefix."""
    images: Mapping[str, Mapping[str, str | None]]
    """Name -> id of the image, and digest of its content if the cloud tells it."""
    kept: Path
    """Folder in the results for what functions keep there."""
    run_id: str
    services: Mapping[str, str]
    """Services of the run, as in DriverContext."""
    running: dict[str, RunningFunction] = field(default_factory=dict)
    """Functions that were started, by instance."""
    at_ports: dict[str, PortPair | SfcProxy] = field(default_factory=dict)
    """What stands between functions and their ports in a chain with NSH, by instance: with the
    functions that take NSH a PortPair, and with the others an SFC proxy."""
    chain: Mapping[str, Any] = field(default_factory=dict)
    """Facts of the chain; empty until it is made, and without functions."""
    carried: dict[str, list[str]] = field(default_factory=dict)
    """Instance -> tools that it lacked, and got."""
    ready: bool = False
    """Whether `prepare` has succeeded."""

    @property
    def guests(self) -> dict[str, Guest]:
        """All guests of the scenario, by instance."""
        return {"client": self.client, "server": self.server, **self.functions}

    def prepare(self) -> None:
        """Bring tools, set addresses and start functions, in all guests at the same time. Raises
        DeploymentError."""
        with errors_as(DeploymentError, MeasurementError):
            each(
                partial(self._endpoint, "client", self.client, self.server),
                partial(self._endpoint, "server", self.server, self.client),
                *(partial(self._function, spec) for spec in self.scenario.chain.functions),
            )
        self.ready = True

    def stop(self) -> None:
        """End functions, and whatever else runs in the guests; the guests keep running. All are
        ended even if one fails; then raises the first error, an SfcperfError."""
        errors = []
        for started in (self.running, self.at_ports):
            while started:
                _, running = started.popitem()
                try:
                    running.stop()
                except SfcperfError as error:
                    errors.append(error)
        # Connections to jump hosts are closed last, because others are reached through them.
        guests = self.guests.values()
        jump_hosts = {id(guest.host.jump) for guest in guests}
        for last in (False, True):
            some = [guest for guest in guests if (id(guest.host) in jump_hosts) == last]
            closed = outcomes(*(guest.host.close for guest in some))
            errors += [e for job in closed if isinstance(e := job.exception(), SfcperfError)]
        if errors:
            raise errors[0]

    def _endpoint(self, name: str, guest: Guest, other: Guest) -> None:
        """Bring tools to an endpoint's guest, and set up its data interface, unless it is an
        existing machine: the run does not change that."""
        self._equip(name, guest, self._probe_tools())
        if not guest.made:
            return
        interface, own = guest.interfaces[DATA], guest.port(DATA).address
        lines = (
            f"link set dev {interface} mtu {self.config.mtu} up",
            f"address replace {own}/{self.prefix_length} dev {interface}",
            # A permanent neighbour keeps ARP out of measurements.
            f"neighbour replace {other.port(DATA).address} lladdr {other.port(DATA).mac} nud "
            f"permanent dev {interface}",
        )
        ip_batch(guest.host, lines)
        guest.host.run(["sysctl", "-q", "-w", *_BUFFERS], timeout_s=COMMAND_TIMEOUT_S)

    def _function(self, spec: FunctionSpec) -> None:
        """Bring tools to the guest of a function, and start the function there."""
        guest = self.functions[spec.name]
        kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
        self._equip(spec.name, guest, kind.tools(spec.knobs))
        client, server = self.client.port(DATA), self.server.port(DATA)
        outputs = self.outputs / spec.name
        outputs.mkdir(parents=True, exist_ok=True)
        ports = (guest.interfaces[INGRESS], guest.interfaces[EGRESS])
        macs = (guest.port(INGRESS).mac, guest.port(EGRESS).mac)
        chain = encapsulation.correlation(self.scenario)
        nsh = encapsulation.gets_nsh(spec, chain)
        if chain == "nsh":
            self._connect_ports(spec, guest, ports)
        attachment = Attachment(
            name=spec.name,
            interfaces=(FUNCTION_INTERFACE,) if nsh else ports,
            macs=(FUNCTION_MAC,) if nsh else macs,
            encapsulation="nsh-eth" if nsh else "none",
            address=None,
            client=(client.address, client.mac),
            server=(server.address, server.mac),
            vcpus=tuple(range(min(spec.resources.vcpus, guest.vcpus))),
            mtu=self.config.mtu,
            outputs=outputs,
            management=Management(guest.port(MANAGEMENT).address),
            kept=self.kept / spec.name,
            run_id=self.run_id,
            services=self.services,
        )
        self.running[spec.name] = kind.start(guest.host, attachment, spec.knobs)

    def _connect_ports(self, spec: FunctionSpec, guest: Guest, ports: tuple[str, str]) -> None:
        """Connect a function to ports that carry NSH: by FUNCTION_INTERFACE if it takes NSH, else
        behind an SFC proxy. The agent of the cloud has a proxy too, but Open vSwitch refuses its
        flows (`actions are invalid with specified match`)."""
        kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
        mtu = self.config.mtu + encapsulation.NSH_BYTES
        if not kind.nsh_aware:
            self.at_ports[spec.name] = SfcProxy.launch(guest.host, spec.name, ports, mtu)
            return
        pair = PortPair.launch(guest.host, spec.name, ports, mtu)
        self.at_ports[spec.name] = pair
        if kind.peer_needs_xdp(spec.knobs):
            attach_pass(guest.host, [pair.inside])

    def _equip(self, name: str, guest: Guest, tools: tuple[str, ...]) -> None:
        """Remove what an earlier scenario left in the guest, then bring the tools that it lacks."""
        empty = ["sh", "-c", _EMPTY, "sh", str(guest.host.workdir)]
        guest.host.run(empty, timeout_s=COMMAND_TIMEOUT_S)
        wanted = tuple(dict.fromkeys((*OWN_TOOLS, *tools, *self._monitor_tools())))
        if self.config.provision == "ansible" and guest.made:
            self.carried[name] = list(install(guest.host, wanted, self.outputs / "ansible" / name))
        else:
            self.carried[name] = list(equip(guest.host, wanted))

    def _probe_tools(self) -> tuple[str, ...]:
        """Return the commands that the scenario's probes call."""
        names = (name for spec in self.scenario.probes for name in spec.plugins)
        return tuple(tool for name in names for tool in plugins.load("probe", name).tools())

    def _monitor_tools(self) -> tuple[str, ...]:
        """Return the commands that the scenario's monitors call."""
        monitors = (plugins.load("monitor", spec.monitor) for spec in self.scenario.monitors)
        return tuple(name for monitor in monitors for name in monitor.tools())
