"""An overlay in namespaces: each is a VM with one network card, behind a switch with port security
that lets in UDP 4790 and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from sfcperf.drivers.openstack.compute.guest import Guest
from sfcperf.drivers.openstack.compute.servers import Machine
from sfcperf.drivers.openstack.description import describe
from sfcperf.drivers.openstack.model.config import PARAMETERS, Config
from sfcperf.drivers.openstack.model.specs import DATA, MANAGEMENT, MachinePlan, MachineSpec
from sfcperf.drivers.openstack.network.ports import Port
from sfcperf.drivers.openstack.overlay.deployment import OverlayDeployment
from sfcperf.drivers.openstack.overlay.layout import Nic, lay_out
from sfcperf.drivers.openstack.traversal.proof import prove
from sfcperf.drivers.sff.layout import GPE_OVERHEAD
from sfcperf.hosts.guest_meter import GuestMeter
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.workflow.defaults import with_defaults
from sfcperf.workflow.model import Scenario
from support.network.remote_like import RemoteLike
from support.network.wires import Lab, ip, space

CARD = "ens4"
WIRE_MTU = 1474
"""1400 bytes and the encapsulation, to the byte."""
TAG = "abcdef"
_NO_NATIVE_XDP = 9000
"""MTU of the other end, for which a veth refuses native XDP."""


class _Vm(RemoteLike):
    """As SshHost."""

    jump = None

    def close(self) -> None:
        """Nothing is open."""


class OverlayLab:
    """Endpoints and functions of scenarios, each in a VM that later scenarios use again."""

    def __init__(
        self, lab: Lab, functions: Sequence[str], cards: Literal["native", "generic"] = "native"
    ) -> None:
        """`cards`: the XDP that network cards take."""
        self._lab = lab
        self.switch = _silent(lab.host("switch"))
        bridge = ("link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", space(self.switch), *bridge)
        ip("-n", space(self.switch), "link", "set", "br0", "up")
        self.vms: dict[str, NamespaceHost] = {}
        self.guests: dict[str, Guest] = {}
        rules = []
        for number, name in enumerate(("client", "server", *functions), start=1):
            address = f"198.18.0.{number}"
            mac = self._plug(name, f"p{number}", _NO_NATIVE_XDP if cards == "generic" else WIRE_MTU)
            rules.append(
                f"iifname p{number} ether saddr {mac} ip saddr {address} udp dport 4790 counter "
                "accept"
            )
            self.guests[name] = self._guest(name, mac, address)
        self._filter(rules)

    def deploy(self, scenario: Scenario) -> OverlayDeployment:
        """Prepare a scenario, whose functions have VMs of these names."""
        names = [spec.name for spec in scenario.chain.functions]
        guests = {name: self.guests[name] for name in ("client", "server", *names)}
        nics = {
            name: Nic(CARD, guest.port(DATA).mac, guest.port(DATA).address)
            for name, guest in guests.items()
        }
        wanted = with_defaults(PARAMETERS, {"management_network": "m", "chaining": "overlay"})
        deployed = OverlayDeployment(
            scenario=scenario,
            client=guests["client"],
            server=guests["server"],
            functions={name: guests[name] for name in names},
            config=Config(**wanted),
            outputs=self._lab.outputs / "outputs",
            prefix_length=24,
            images={},
            kept=self._lab.outputs / "kept",
            run_id="r",
            services={},
            layout=lay_out(scenario, TAG, nics, WIRE_MTU),
        )
        self._lab.at_end(deployed.stop)
        deployed.prepare()
        return deployed

    def dropped(self) -> int:
        """Packets that the switch has not let through."""
        text = self.switch.run(["nft", "list", "counter", "bridge", "f", "dropped"], timeout_s=10)
        return int(text.text.partition("packets ")[2].split()[0])

    def interfaces(self, name: str) -> list[str]:
        """Interfaces of a VM."""
        lines = ip("-n", space(self.vms[name]), "-o", "link").splitlines()
        return [line.split(": ")[1].partition("@")[0] for line in lines]

    def _plug(self, name: str, port: str, mtu: int) -> str:
        """Make a VM. Its card has the address that an image may have given it."""
        vm = _silent(self._lab.host(name))
        card, _ = self._lab.join((vm, CARD), (self.switch, port))
        ip("-n", space(self.switch), "link", "set", port, "mtu", str(mtu), "master", "br0")
        ip("-n", space(vm), "address", "add", f"198.18.0.{len(self.vms) + 1}/24", "dev", CARD)
        self.vms[name] = vm
        return card.mac

    def _guest(self, name: str, mac: str, address: str) -> Guest:
        host: Any = _Vm(self.vms[name])
        role: Any = "endpoint" if name in ("client", "server") else "function"
        spec = MachineSpec(role, name, name, "", None, 1, 64, None, None, overlay=True)
        # No management network: functions here have no interface of their own for it.
        ports = {MANAGEMENT: Port("", "", "127.0.0.1"), DATA: Port("", mac, address)}
        machine = Machine(MachinePlan(name, spec, address), "", ports, 0.0)
        return Guest(machine, host, GuestMeter(host), {DATA: CARD}, 0.0, 1, 64)

    def _filter(self, rules: Sequence[str]) -> None:
        lines = [
            "table bridge f {",
            "counter dropped {}",
            "chain c { type filter hook forward priority 0;",
            *rules,
            'counter name "dropped" drop',
            "}",
            "}",
        ]
        text = "\n".join(lines).encode()
        self.switch.run(["nft", "-f", "-"], timeout_s=10, stdin=text)


def _silent(host: NamespaceHost) -> NamespaceHost:
    """`host`, whose kernel looks for no routers of IPv6, as it would by its own timer: between the
    packets that a test expects."""
    off = "net.ipv6.conf.default.disable_ipv6=1"
    host.run(["sysctl", "-q", "-w", off], timeout_s=10)
    return host


def prove_shown(deployed: OverlayDeployment, made: Deployment, folder: Path) -> TraversalProof:
    """As the driver does."""
    made.show_packets(True)
    try:
        return prove(
            made.client,
            made.server,
            made.functions,
            {name: deployed.endpoint_interface(name).mac for name in ("client", "server")},
            deployed.scenario,
            folder,
            sff_ports={name: deployed.sff_ports(name) for name in deployed.functions},
            settle_s=0,
        )
    finally:
        made.show_packets(False)


def described(deployed: OverlayDeployment) -> Deployment:
    """As probes and monitors see it."""
    return describe("d0001", deployed, {})


assert WIRE_MTU == 1400 + GPE_OVERHEAD
