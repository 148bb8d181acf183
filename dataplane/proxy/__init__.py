"""SfcProxy: an SFC proxy (RFC 7665) at the two ports of a function that takes plain IP."""

from __future__ import annotations

from typing import ClassVar

from sfcperf.dataplane.port_pair import PortSettings, kernel_hint
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.merging import Merging


class SfcProxy(StatsProcess):
    """An sfc-proxy process. The function has both ports, and its packets are plain IP."""

    binary: ClassVar[str] = "sfc-proxy"

    _settings: PortSettings
    _merging: Merging

    @classmethod
    def launch(cls, host: Host, name: str, ports: tuple[str, str], mtu: int) -> SfcProxy:
        """Put the proxy in front of a function's ports (ingress, egress). `mtu`: of the ports,
        bytes of a packet behind the Ethernet header: the NSH with all that follows it. Raises
        DeploymentError, EnvironmentLacks."""
        failed = f"{name}: the SFC proxy at its ports does not start"
        settings, merging = PortSettings(host, ports), Merging(host)
        try:
            # A packet that the kernel has merged, or has yet to cut, cannot be put into NSH.
            settings.set(mtu, "gso_max_segs 1")
            for port in ports:
                merging.turn_off(port)
            proxy = cls.spawn(f"{name}-proxy", host, ["--ingress", ports[0], "--egress", ports[1]])
        except MeasurementError as error:
            merging.restore()
            settings.restore()
            raise error.as_kind(DeploymentError, failed) from error
        proxy._settings, proxy._merging = settings, merging
        try:
            proxy.wait_ready()
        except DeploymentError as error:
            proxy.stop()
            raise error.as_kind(DeploymentError, failed, hint=kernel_hint(host)) from error
        except BaseException:
            proxy.stop()
            raise
        return proxy

    def stop(self) -> None:
        """End the process, with which its programs go. Harmless when called again; never raises
        MeasurementError."""
        super().stop()
        self._merging.restore()
        self._settings.restore()
