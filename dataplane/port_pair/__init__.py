"""PortPair: connects an NSH-aware function with one interface to the two ports of its port pair."""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.ip_batch import ip_batch

FUNCTION_INTERFACE = "sfc-nsh"
"""Interface that the function gets."""
FUNCTION_MAC = "02:73:66:63:6e:66"
"""Its MAC address. Only this host sees it."""
_INSIDE = "sfc-ports"
_COMMAND_TIMEOUT_S = 30.0
_MOST_GSO_SEGMENTS = 65_535
"""Linux's default."""


class PortPair(StatsProcess):
    """A veth pair, one end of which the function has, and an sfc-port-pair process that leads NSH
    frames between the other end and two ports."""

    binary: ClassVar[str] = "sfc-port-pair"

    _settings: PortSettings

    @classmethod
    def launch(cls, host: Host, name: str, ports: tuple[str, str], mtu: int) -> PortPair:
        """Connect the ports (ingress, egress) of a function to FUNCTION_INTERFACE, which is new.
        `mtu`: of all these interfaces, bytes of a packet behind their Ethernet header: the NSH with
        all that follows it. Raises DeploymentError, EnvironmentLacks."""
        lines = [
            f"link add {_INSIDE} mtu {mtu} type veth peer name {FUNCTION_INTERFACE} mtu {mtu} "
            f"address {FUNCTION_MAC}",
            # The kernel has nothing to send there; IPv6 would look for routers.
            f"link set dev {_INSIDE} addrgenmode none up",
            f"link set dev {FUNCTION_INTERFACE} addrgenmode none up",
        ]
        failed, hint = f"{name}: its ports cannot be connected to it", kernel_hint(host)
        settings = PortSettings(host, ports)
        try:
            remove(host)
            settings.set(mtu)
            ip_batch(host, lines)
        except MeasurementError as error:
            settings.restore()
            raise error.as_kind(DeploymentError, failed, hint=hint) from error
        options = ["--ingress", ports[0], "--egress", ports[1]]
        options += ["--inside", _INSIDE, "--function", FUNCTION_INTERFACE]
        pair = cls.spawn(f"{name}-ports", host, options)
        pair._settings = settings
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
        self._settings.restore()
        with suppress(MeasurementError):
            remove(self._host)


class PortSettings:
    """Sets the MTU of a function's ports, and what else they need for NSH; `restore` sets it back,
    because the next function on the host may have other needs."""

    def __init__(self, host: Host, ports: tuple[str, str]) -> None:
        self._host = host
        self._ports = ports
        self._before: dict[str, str] = {}
        """Port -> its MTU before."""

    def set(self, mtu: int, more: str = "") -> None:
        """Bring the ports up with this MTU; `more`: further settings of `ip link`. Raises
        MeasurementError."""
        for port in self._ports:
            # /sys shows the interfaces of another network namespace.
            argv = ["ip", "-o", "link", "show", "dev", port]
            shown = self._host.run(argv, timeout_s=_COMMAND_TIMEOUT_S).text
            self._before[port] = shown.partition(" mtu ")[2].split()[0]
        ip_batch(self._host, [f"link set dev {port} mtu {mtu} {more} up" for port in self._ports])

    def restore(self) -> None:
        """Set back the MTU, and let packets wait to be cut by the network card again. Harmless when
        called again, or when the host is gone."""
        lines = [
            f"link set dev {port} mtu {mtu} gso_max_segs {_MOST_GSO_SEGMENTS}"
            for port, mtu in self._before.items()
        ]
        self._before.clear()
        if lines:
            with suppress(MeasurementError):
                ip_batch(self._host, lines)


def remove(host: Host) -> None:
    """Remove a veth pair that is there; its other end goes with it. Raises MeasurementError."""
    host.run(["ip", "link", "delete", "dev", _INSIDE], timeout_s=_COMMAND_TIMEOUT_S, check=False)


def kernel_hint(host: Host) -> str:
    """Say what the kernel of a host must have for NSH at its ports."""
    needed = "veth and BPF filters of clsact (modules veth, sch_ingress, cls_bpf)"
    return f"the kernel of {host.name} must have {needed}"
