"""OverlayNode: a VM as a node of an overlay, with its SFF and the attachments behind it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sfcperf.dataplane import binaries
from sfcperf.dataplane.sff.process import SffProcess
from sfcperf.drivers.sff.ebpf import QUEUE_PACKETS, EbpfSff, outer_mtu
from sfcperf.drivers.sff.ebpf_tables import TAP
from sfcperf.drivers.sff.layout import Layout, Port
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.ip_batch import ip_batch
from sfcperf.plugins import Requirement
from sfcperf.workflow.model import Scenario

TOOLS = ("ip", "ethtool", "tc")
"""Commands that are called in the VM."""
_COMMAND_TIMEOUT_S = 30.0


def requirements() -> list[Requirement]:
    """Require what SFFs in VMs need of this machine, which copies it to them."""
    from sfcperf.environment.tools import tool

    return [
        binaries.requirement(SffProcess.binary),
        tool("ethtool", "ethtool"),
        tool("tc", "iproute2"),
    ]


class OverlayNode:
    """An SFF on a host, between its network card and what is attached: from `launch` until
    `stop`."""

    def __init__(self, host: Host, layout: Layout, scenario: Scenario, name: str, mtu: int) -> None:
        """`name`: of the node, which is that of its instance. `mtu`: of endpoints, bytes of IP
        packet."""
        self._host, self._layout, self._mtu = host, layout, mtu
        self._name = name
        self._ports = layout.ports(name)
        self.card_xdp = ""
        """How the SFF is attached to the network card: by `native` or `generic` XDP; empty before
        `launch`."""
        self.sff = EbpfSff(host, layout.nodes[name], layout, scenario, ebpf_nodes=())

    def launch(self) -> None:
        """Create the attachments, and start the SFF. What an earlier one has left is removed
        before. Raises DeploymentError, EnvironmentLacks."""
        try:
            self._remove()
            ip_batch(self._host, self._lines())
            for port in self._ports:
                self._prepare(port)
            self.sff.connect()
            self.card_xdp = self.sff.attached()[self._layout.lan[self._name]]
        except (DeploymentError, MeasurementError) as error:
            self.stop()
            raise error.as_kind(
                DeploymentError,
                f"{self._name}: the SFF in its VM does not start",
                hint=error.hint
                or f"the kernel of {self._host.name} must have veth, XDP and BPF filters of clsact "
                "(modules veth, sch_ingress, cls_bpf)",
            ) from error
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the SFF, and remove the attachments. Harmless when called again; never raises
        MeasurementError."""
        self.sff.stop()
        with suppress(MeasurementError):
            self._remove()

    def _lines(self) -> Iterator[str]:
        """Yield lines of `ip` that make the attachments and bring up the network card. This has no
        address, also if the image gave it the one that the endpoint gets, and sends nothing by
        itself."""
        card = self._layout.lan[self._name]
        yield f"link set dev {card} addrgenmode none mtu {self._layout.wire_mtu} up"
        yield f"address flush dev {card}"
        mtu = outer_mtu(self._layout)
        for port in self._ports:
            inner_mtu = self._layout.mtu(port, self._mtu)
            yield (
                f"link add {port.outer} mtu {mtu} type veth peer name {port.inner} mtu {inner_mtu} "
                f"address {port.mac}"
            )
            for end in (port.outer, port.inner):
                yield f"link set dev {end} addrgenmode none up"

    def _prepare(self, port: Port) -> None:
        """Have the instance finish its packets before it sends them: XDP frames have no room to
        note that a checksum is missing, or that a packet is to be cut. Endpoints get GRO, with
        which a veth takes XDP frames, and a queue."""
        is_end = port in (self._layout.client, self._layout.server)
        features = {"tx": "off", "tso": "off", "gso": "off", "gro": "on" if is_end else "off"}
        argv = ["ethtool", "-K", port.inner]
        for name, word in features.items():
            argv += [name, word]
        self._host.run(argv, timeout_s=_COMMAND_TIMEOUT_S)
        if is_end:
            argv = ["tc", "qdisc", "replace", "dev", port.inner, "root", "pfifo"]
            argv += ["limit", str(QUEUE_PACKETS)]
            self._host.run(argv, timeout_s=_COMMAND_TIMEOUT_S)

    def _remove(self) -> None:
        """Remove attachments and tap that are there; the other ends of veth pairs go with them."""
        names = (TAP[0], *(port.outer for port in self._ports))
        ip_batch(self._host, (f"link delete dev {name}" for name in names), force=True)
