"""What the endpoints themselves lost during a measurement: loss that is not the chain's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sfcperf.counts import count_text
from sfcperf.errors import MeasurementError
from sfcperf.hosts.procfs import interface_counters, protocol_counters
from sfcperf.management.deployment import Deployment, Endpoint


@dataclass(frozen=True)
class EndpointLosses:
    """Losses in the endpoints themselves. `read` gives the kernels' counts so far; `since` gives
    what was lost between two such readings."""

    sndbuf_errors: int
    """Datagrams that the client's kernel gave up before the wire. Datagrams that a qdisc or a
    device refused count here as well (net/ipv4/udp.c)."""
    tx_drops: int
    """Packets that the client's interface refused."""
    rcvbuf_errors: int
    """Datagrams that the server's tool was too slow to read."""

    @classmethod
    def read(cls, deployment: Deployment) -> EndpointLosses:
        """Read the counters as they are now. Raises MeasurementError when an endpoint lacks its
        interface."""
        client, server = deployment.client, deployment.server
        return cls(
            _udp_counters(client)["SndbufErrors"],
            _dropped_so_far(client),
            _udp_counters(server)["RcvbufErrors"],
        )

    def since(self, earlier: EndpointLosses) -> EndpointLosses:
        """Return what was lost between the reading `earlier` and this one."""
        return EndpointLosses(
            self.sndbuf_errors - earlier.sndbuf_errors,
            self.tx_drops - earlier.tx_drops,
            self.rcvbuf_errors - earlier.rcvbuf_errors,
        )

    def notes(self) -> dict[str, int]:
        """Return the counters by the names that they have in the record of a trial."""
        return {
            "sender_lost_datagrams": self.sndbuf_errors,
            "sender_interface_drops": self.tx_drops,
            "receiver_lost_datagrams": self.rcvbuf_errors,
        }

    def of_interface(self, client: Endpoint, tolerated: float = 0) -> list[str]:
        """Say why the numbers of a test of any protocol should not be believed: the client's
        interface refused packets. Nothing is said if these are at most `tolerated`."""
        if self.tx_drops <= tolerated:
            return []
        dropped = count_text(self.tx_drops, "packet")
        return [f"the sender's interface {client.interface} dropped {dropped}"]

    def of_udp(
        self, client: Endpoint, tolerated_sender: float = 0, tolerated_receiver: float = 0
    ) -> list[str]:
        """Say why the numbers of a test of UDP should not be believed: an endpoint itself lost
        datagrams. Up to `tolerated_...` losses at each end are not mentioned."""
        reasons = self.of_interface(client, tolerated_sender)
        if self.sndbuf_errors > tolerated_sender:
            reasons.append(
                f"the sender itself lost {count_text(self.sndbuf_errors, 'datagram')} before the "
                "wire (UDP SndbufErrors)"
            )
        if self.rcvbuf_errors > tolerated_receiver:
            reasons.append(
                f"the receiver was too slow and lost {count_text(self.rcvbuf_errors, 'datagram')} "
                "that the chain had delivered (UDP RcvbufErrors)"
            )
        return reasons


def _udp_counters(endpoint: Endpoint) -> Mapping[str, int]:
    """Return what the endpoint's kernel has counted of UDP so far, by name (`SndbufErrors`)."""
    return protocol_counters(endpoint.host.read_text("/proc/net/snmp"), "Udp")


def _dropped_so_far(endpoint: Endpoint) -> int:
    """Return how many packets the endpoint's interface has refused to send so far. Raises
    MeasurementError when the endpoint lacks the interface."""
    counters = interface_counters(endpoint.host.read_text("/proc/net/dev"))
    if endpoint.interface not in counters:
        raise MeasurementError(f"the {endpoint.name} has no interface {endpoint.interface}")
    return counters[endpoint.interface].tx_drops
