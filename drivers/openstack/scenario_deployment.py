"""Site: one scenario on guests that stand: endpoints made ready, functions started."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sfcperf import plugins
from sfcperf.drivers.openstack.api.parallel import each, outcomes
from sfcperf.drivers.openstack.compute.guest import COMMAND_TIMEOUT_S, Guest
from sfcperf.drivers.openstack.model.config import Config
from sfcperf.drivers.openstack.model.specs import DATA, EGRESS, INGRESS
from sfcperf.errors import DeploymentError, MeasurementError, SfcperfError
from sfcperf.hosts.carry import equip
from sfcperf.hosts.provision import install
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.workflow.model import FunctionSpec, Scenario

OWN_TOOLS = ("ip", "tcpdump", "ping", "sysctl")
"""What the driver itself calls in guests."""
_ROOM = ("net.core.rmem_max=4194304", "net.core.wmem_max=4194304")
"""Room in sockets, as on a machine that was set up for runs: with less, a receiver of UDP loses
datagrams that the chain has delivered."""

_EMPTY = """
for each in "$1"/*; do
	case ${each##*/} in bin|carried|programs) ;; *) rm -rf "$each" ;; esac
done
"""
"""Files of an earlier scenario go; tools that were carried stay."""


class Site:
    """What stands of a scenario; `stop` gives the guests back."""

    def __init__(
        self,
        scenario: Scenario,
        client: Guest,
        server: Guest,
        functions: Mapping[str, Guest],
        config: Config,
        outputs: Path,
        prefix_length: int,
    ) -> None:
        """`functions` by instance, in forward order; `prefix_length` of the data network."""
        self.scenario = scenario
        self.client = client
        self.server = server
        self.functions = functions
        self.mtu = config.mtu
        self._prefix_length = prefix_length
        self._provision = config.provision
        self.running: dict[str, RunningFunction] = {}
        self.chain: Mapping[str, Any] = {}
        self.images: Mapping[str, Mapping[str, str | None]] = {}
        """Name -> id, and digest of the content where the cloud tells it."""
        self.carried: dict[str, list[str]] = {}
        """Instance -> tools that it lacked."""
        self.ready = False
        """Whether `prepare` has done all."""
        self._outputs = outputs

    @property
    def guests(self) -> dict[str, Guest]:
        """By instance."""
        return {"client": self.client, "server": self.server, **self.functions}

    def prepare(self) -> None:
        """Tools, addresses, functions: all guests at the same time. Raises DeploymentError."""
        try:
            each(
                partial(self._endpoint, "client", self.client, self.server),
                partial(self._endpoint, "server", self.server, self.client),
                *(partial(self._function, spec) for spec in self.scenario.chain.functions),
            )
        except MeasurementError as error:
            raise DeploymentError(error.message, where=error.where, hint=error.hint) from error
        self.ready = True

    def stop(self) -> None:
        """End functions, and whatever else runs in the guests; the guests stand."""
        errors = []
        while self.running:
            _, running = self.running.popitem()
            try:
                running.stop()
            except SfcperfError as error:
                errors.append(error)
        # Those that others are reached through come last.
        jumps = {id(guest.host.jump) for guest in self.guests.values()}
        others = [guest for guest in self.guests.values() if id(guest.host) not in jumps]
        gates = [guest for guest in self.guests.values() if id(guest.host) in jumps]
        for some in (others, gates):
            closed = outcomes(*(guest.host.close for guest in some))
            errors += [e for job in closed if isinstance(e := job.exception(), SfcperfError)]
        if errors:
            raise errors[0]

    def _endpoint(self, name: str, guest: Guest, other: Guest) -> None:
        self._equip(name, guest, self._probe_tools())
        if not guest.made:
            return
        interface, own = guest.interfaces[DATA], guest.port(DATA).address
        lines = (
            f"link set dev {interface} mtu {self.mtu} up",
            f"address replace {own}/{self._prefix_length} dev {interface}",
            # No ARP while it is measured.
            f"neighbour replace {other.port(DATA).address} lladdr {other.port(DATA).mac} nud "
            f"permanent dev {interface}",
        )
        batch = ("\n".join(lines) + "\n").encode()
        guest.host.run(["ip", "-batch", "-"], stdin=batch, timeout_s=COMMAND_TIMEOUT_S)
        guest.host.run(["sysctl", "-q", "-w", *_ROOM], timeout_s=COMMAND_TIMEOUT_S)

    def _function(self, spec: FunctionSpec) -> None:
        guest = self.functions[spec.name]
        kind: type[NetworkFunction] = plugins.load("vnf", spec.type)
        self._equip(spec.name, guest, kind.tools(spec.knobs))
        client, server = self.client.port(DATA), self.server.port(DATA)
        outputs = self._outputs / spec.name
        outputs.mkdir(parents=True, exist_ok=True)
        attachment = Attachment(
            name=spec.name,
            interfaces=(guest.interfaces[INGRESS], guest.interfaces[EGRESS]),
            macs=(guest.port(INGRESS).mac, guest.port(EGRESS).mac),
            encapsulation="none",
            address=None,
            client=(client.address, client.mac),
            server=(server.address, server.mac),
            vcpus=tuple(range(min(spec.resources.vcpus, guest.vcpus))),
            mtu=self.mtu,
            outputs=outputs,
        )
        self.running[spec.name] = kind.start(guest.host, attachment, spec.knobs)

    def _equip(self, name: str, guest: Guest, tools: tuple[str, ...]) -> None:
        empty = ["sh", "-c", _EMPTY, "sh", str(guest.host.workdir)]
        guest.host.run(empty, timeout_s=COMMAND_TIMEOUT_S)
        wanted = tuple(dict.fromkeys((*OWN_TOOLS, *tools, *self._monitor_tools())))
        if self._provision == "ansible" and guest.made:
            self.carried[name] = list(install(guest.host, wanted, self._outputs / "ansible" / name))
        else:
            self.carried[name] = list(equip(guest.host, wanted))

    def _probe_tools(self) -> tuple[str, ...]:
        probes = (plugins.load("probe", spec.probe) for spec in self.scenario.probes)
        return tuple(name for probe in probes for name in probe.tools())

    def _monitor_tools(self) -> tuple[str, ...]:
        monitors = (plugins.load("monitor", spec.monitor) for spec in self.scenario.monitors)
        return tuple(name for monitor in monitors for name in monitor.tools())
