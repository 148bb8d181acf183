"""Sff: classifier, SFF and SFC proxies of one node, by one of the data planes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from sfcperf.drivers.sff.layout import Layout, NodeLayout
from sfcperf.hosts.base import Host
from sfcperf.workflow.model import Scenario

UNPARSED = "unparsed"
"""Reason, in SffCounts, of drops of what the classifier cannot parse."""


class Sff(ABC):
    """The data plane of one node: classifier, SFF and SFC proxies (RFC 7665, section 4).

    Order of calls: `start`; once all veths and links of the node are there, `connect`; then any of
    the others; `stop`."""

    def __init__(self, host: Host, node: NodeLayout, layout: Layout, scenario: Scenario) -> None:
        """`host` is in the node's network namespace and in the SFF's control group."""
        self.host = host
        self.node = node
        self.layout = layout
        self.scenario = scenario

    def start(self) -> None:
        """Start what does not need the ports. Raises DeploymentError."""
        return

    @abstractmethod
    def connect(self) -> None:
        """Take the ports and forward between them. Raises DeploymentError."""

    @abstractmethod
    def packets_by_path(self) -> Mapping[tuple[int, int], int]:
        """(SPI, SI) -> packets that the SFF has looked up with them since it started. Raises
        DeploymentError, MeasurementError."""

    @abstractmethod
    def unparsed(self) -> int:
        """Return how many frames from endpoints the SFF has dropped since it started because its
        classifier cannot parse them. Raises DeploymentError, MeasurementError."""

    def watched_at(self) -> list[str] | None:
        """Say where sfc-sfcmon sees what this SFF looks up, in words of its command line
        (`sfc-sfcmon --help`). None: nowhere."""
        return None

    @abstractmethod
    def problem(self) -> str | None:
        """Return None while the SFF forwards, else what is wrong."""

    def show_packets(self, shown: bool) -> None:
        """Let captures at the ports see every packet, or no longer. Data planes that packet
        sockets see anyway have nothing to do. Raises DeploymentError."""
        return

    @abstractmethod
    def stop(self) -> None:
        """End its processes; what they configured goes with the namespace."""
