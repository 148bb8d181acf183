"""PortPair: connects an NSH-aware function with one interface to the two ports of its port pair."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host

FUNCTION_INTERFACE = "sfc-nsh"
"""Interface that the function gets."""
FUNCTION_MAC = "02:73:66:63:6e:66"
"""Its MAC address. Only this host sees it."""
_INSIDE = "sfc-ports"
_COMMAND_TIMEOUT_S = 30.0


class PortPair(StatsProcess):
    """A veth pair, one end of which the function has, and an sfc-port-pair process that leads NSH
    frames between the other end and two ports."""

    binary: ClassVar[str] = "sfc-port-pair"

    @classmethod
    def launch(cls, host: Host, name: str, ports: tuple[str, str], mtu: int) -> PortPair:
        """Connect the ports (ingress, egress) of a function to FUNCTION_INTERFACE, which is new.
        `mtu`: of all these interfaces, bytes of a packet behind their Ethernet header: the NSH with
        all that follows it. Raises DeploymentError, EnvironmentLacks."""
        lines = [
            f"link add {_INSIDE} mtu {mtu} type veth peer name {FUNCTION_INTERFACE} mtu {mtu} "
            f"address {FUNCTION_MAC}",
            *(f"link set dev {port} mtu {mtu} up" for port in ports),
            # The kernel has nothing to send there; IPv6 would look for routers.
            f"link set dev {_INSIDE} addrgenmode none up",
            f"link set dev {FUNCTION_INTERFACE} addrgenmode none up",
        ]
        failed, hint = f"{name}: its ports cannot be connected to it", kernel_hint(host)
        try:
            remove(host)
            ip_batch(host, lines)
        except MeasurementError as error:
            raise error.as_kind(DeploymentError, failed, hint=hint) from error
        options = ["--ingress", ports[0], "--egress", ports[1]]
        options += ["--inside", _INSIDE, "--function", FUNCTION_INTERFACE]
        pair = cls.spawn(f"{name}-ports", host, options)
        try:
            pair.wait_ready()
        except DeploymentError as error:
            pair.stop()
            raise error.as_kind(DeploymentError, failed, hint=hint) from error
        except BaseException:
            pair.stop()
            raise
        return pair

    @property
    def inside(self) -> str:
        """Interface at the other end of the function's veth pair."""
        return _INSIDE

    def stop(self) -> None:
        """End the process, and remove the veth pair. Harmless when called again; never raises
        MeasurementError."""
        super().stop()
        with suppress(MeasurementError):
            remove(self._host)


def remove(host: Host) -> None:
    """Remove a veth pair that is there; its other end goes with it. Raises MeasurementError."""
    host.run(["ip", "link", "delete", "dev", _INSIDE], timeout_s=_COMMAND_TIMEOUT_S, check=False)


def kernel_hint(host: Host) -> str:
    """Say what the kernel of a host must have for NSH at its ports."""
    needed = "veth and BPF filters of clsact (modules veth, sch_ingress, cls_bpf)"
    return f"the kernel of {host.name} must have {needed}"


def ip_batch(host: Host, lines: list[str]) -> None:
    """Run lines of `ip -batch`. Raises MeasurementError."""
    batch = ("\n".join(lines) + "\n").encode()
    host.run(["ip", "-batch", "-"], stdin=batch, timeout_s=_COMMAND_TIMEOUT_S)
