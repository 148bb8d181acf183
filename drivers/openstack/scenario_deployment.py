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
from sfcperf.drivers.sff.ebpf import EbpfSff
from sfcperf.errors import DeploymentError, MeasurementError, SfcperfError, errors_as
from sfcperf.hosts.carry import equip
from sfcperf.hosts.ip_batch import ip_batch
from sfcperf.hosts.provision import install
from sfcperf.management.deployment import Deployment
from sfcperf.results.files import remove_empty
from sfcperf.vnfs.base import Attachment, Management, RunningFunction, function_type
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

_ENCAPSULATIONS: Mapping[Any, str] = {"nsh": "nsh-eth", "mpls": "mpls", None: "none"}
"""networking-sfc's name of a chain's encapsulation -> ours; None: there is no chain."""


@dataclass(frozen=True)
class EndpointInterface:
    """Where an endpoint sends and receives the chain's packets."""

    name: str
    """Name in the guest."""
    mac: str
    address: str
    """IPv4 address."""


@dataclass(frozen=True)
class Attached:
    """How a function is attached, as in Attachment."""

    interfaces: tuple[str, ...]
    macs: tuple[str, ...]
    encapsulation: str
    sff_mac: str | None = None


@dataclass(eq=False)
class ScenarioDeployment:
    """Guests and functions of a scenario. CloudSession makes it; the driver calls `prepare`, has
    CloudSession chain the functions, and calls `stop`, after which the guests are free again.

    Here the cloud's networking-sfc makes the chain, and functions have a pair of ports.
    OverlayDeployment derives from it."""

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
    sffs: dict[str, EbpfSff] = field(default_factory=dict)
    """SFFs of ours in the guests, by instance."""
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
                partial(self._endpoint, "client", "server"),
                partial(self._endpoint, "server", "client"),
                *(partial(self._function, spec) for spec in self.scenario.chain.functions),
            )
        self.ready = True

    @property
    def encapsulation(self) -> str:
        """Encapsulation towards functions that take one."""
        return _ENCAPSULATIONS[self.chain.get("correlation")]

    def endpoint_interface(self, name: str) -> EndpointInterface:
        """Return the data interface of `client` or `server`."""
        guest = self.guests[name]
        port = guest.port(DATA)
        return EndpointInterface(guest.interfaces[DATA], port.mac, port.address)

    def interfaces(self, function: str) -> tuple[str, ...]:
        """Return the interfaces of a function's guest by which packets enter and leave it."""
        guest = self.functions[function]
        return guest.interfaces[INGRESS], guest.interfaces[EGRESS]

    def sff_ports(self, instance: str) -> tuple[str, ...]:
        """Return the SFF's ends of the attachments of an endpoint or function, where captures see
        all packets; empty if the SFF is not in the guest."""
        return ()

    def gets_nsh(self, function: str) -> bool:
        """Whether a function gets NSH packets."""
        return isinstance(self.at_ports.get(function), PortPair)

    def show_packets(self, shown: bool) -> None:
        """Let captures at the ports of SFFs in guests see every packet, or no longer. Raises
        DeploymentError, MeasurementError."""
        each(*(partial(sff.show_packets, shown) for sff in self.sffs.values()))

    def cross_unshown(self, made: Deployment) -> list[str]:
        """Send marked packets both ways through SFFs in guests, not shown to captures, and say
        which of the SFFs counted too few. `made`: how this is described. Raises DeploymentError."""
        return []

    def unparsed(self) -> dict[str, int]:
        """Return how many frames the classifiers of SFFs in guests could not parse, by SFF. Raises
        DeploymentError, MeasurementError."""
        # Only those of endpoints classify.
        ends = [name for name in ("client", "server") if name in self.sffs]
        counts = each(*(self.sffs[name].unparsed for name in ends))
        return {f"sff@{name}": count for name, count in zip(ends, counts, strict=True)}

    def problems(self) -> list[str]:
        """Say which SFFs in guests do not forward."""
        problems = ((name, sff.problem()) for name, sff in self.sffs.items())
        return [f"the SFF of {name}: {problem}" for name, problem in problems if problem]

    def facts(self) -> Mapping[str, Any]:
        """Return facts for Deployment.facts that not every chaining has."""
        return {}

    def _stopped(self) -> tuple[dict[str, Any], ...]:
        """Return what `stop` ends, in this order."""
        return self.running, self.at_ports

    def stop(self) -> None:
        """End functions, and whatever else runs in the guests; the guests keep running. All are
        ended even if one fails; then raises the first error, an SfcperfError."""
        errors = []
        for started in self._stopped():
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
        remove_empty(self.kept)
        if errors:
            raise errors[0]

    def _endpoint(self, name: str, other: str) -> None:
        """Bring tools to an endpoint's guest, and set up its data interface, unless it is an
        existing machine: the run does not change that."""
        guest = self.guests[name]
        self._equip(name, guest, self._probe_tools())
        if not guest.made:
            return
        self._attach_endpoint(name, guest)
        own, there = self.endpoint_interface(name), self.endpoint_interface(other)
        lines = (
            f"link set dev {own.name} mtu {self.config.mtu} up",
            f"address replace {own.address}/{self.prefix_length} dev {own.name}",
            # A permanent neighbour keeps ARP out of measurements.
            f"neighbour replace {there.address} lladdr {there.mac} nud permanent dev {own.name}",
        )
        ip_batch(guest.host, lines)
        guest.host.run(["sysctl", "-q", "-w", *_BUFFERS], timeout_s=COMMAND_TIMEOUT_S)

    def _function(self, spec: FunctionSpec) -> None:
        """Bring tools to the guest of a function, and start the function there."""
        guest = self.functions[spec.name]
        kind = function_type(spec)
        self._equip(spec.name, guest, kind.tools(spec.knobs))
        client, server = self.endpoint_interface("client"), self.endpoint_interface("server")
        outputs, scratch = self.kept / spec.name, self.outputs / spec.name
        for folder in (outputs, scratch):
            folder.mkdir(parents=True, exist_ok=True)
        attached = self._attach_function(spec, guest)
        attachment = Attachment(
            name=spec.name,
            interfaces=attached.interfaces,
            macs=attached.macs,
            encapsulation=attached.encapsulation,
            address=None,
            sff_mac=attached.sff_mac,
            client=(client.address, client.mac),
            server=(server.address, server.mac),
            vcpus=tuple(range(min(spec.resources.vcpus, guest.vcpus))),
            mtu=self.config.mtu,
            outputs=outputs,
            management=Management(guest.port(MANAGEMENT).address),
            scratch=scratch,
            run_id=self.run_id,
            services=self.services,
        )
        self.running[spec.name] = kind.start(guest.host, attachment, spec.knobs)

    def _attach_endpoint(self, name: str, guest: Guest) -> None:
        """Make the data interface of an endpoint, where it is not its network card."""

    def _attach_function(self, spec: FunctionSpec, guest: Guest) -> Attached:
        """Connect a function to its ports, and return how it is attached."""
        ports = (guest.interfaces[INGRESS], guest.interfaces[EGRESS])
        chain = encapsulation.correlation(self.scenario)
        if chain == "nsh":
            self._connect_ports(spec, guest, ports)
        if encapsulation.gets_nsh(spec, chain):
            return Attached((FUNCTION_INTERFACE,), (FUNCTION_MAC,), "nsh-eth")
        return Attached(ports, (guest.port(INGRESS).mac, guest.port(EGRESS).mac), "none")

    def _connect_ports(self, spec: FunctionSpec, guest: Guest, ports: tuple[str, str]) -> None:
        """Connect a function to ports that carry NSH: by FUNCTION_INTERFACE if it takes NSH, else
        behind an SFC proxy. The agent of the cloud has a proxy too, but Open vSwitch refuses its
        flows (`actions are invalid with specified match`)."""
        kind = function_type(spec)
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
        own = (*OWN_TOOLS, *self._own_tools())
        wanted = tuple(dict.fromkeys((*own, *tools, *self._monitor_tools())))
        if self.config.provision == "ansible" and guest.made:
            self.carried[name] = list(install(guest.host, wanted, self.outputs / "ansible" / name))
        else:
            self.carried[name] = list(equip(guest.host, wanted))

    def _own_tools(self) -> tuple[str, ...]:
        """Return commands that not every chaining calls in guests."""
        return ()

    def _probe_tools(self) -> tuple[str, ...]:
        """Return the commands that the scenario's probes call."""
        names = (name for spec in self.scenario.probes for name in spec.plugins)
        return tuple(tool for name in names for tool in plugins.load("probe", name).tools())

    def _monitor_tools(self) -> tuple[str, ...]:
        """Return the commands that the scenario's monitors call."""
        monitors = (plugins.load("monitor", spec.monitor) for spec in self.scenario.monitors)
        return tuple(name for monitor in monitors for name in monitor.tools())
