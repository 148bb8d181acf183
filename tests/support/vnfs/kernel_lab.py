"""A VNF of the kernel between two raw ends, to be sent packets that nobody would send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scapy.layers.l2 import Ether
from scapy.packet import Packet

from sfcperf.vnfs.base import NetworkFunction, RunningFunction
from sfcperf.workflow.defaults import with_defaults
from support.network.wires import Lab, Port, eventually
from support.vnfs.attached import between_ends

CLIENT, SERVER = "198.18.0.1", "198.18.1.1"


class Between:
    """A function with a raw end on each side."""

    def __init__(self, lab: Lab, kind: type[NetworkFunction], knobs: Mapping[str, Any]) -> None:
        self.lab = lab
        self.host = lab.host("vnf")
        self.client, self.ingress = lab.join((lab.host("client"), "eth0"), (self.host, "in0"))
        self.server, self.egress = lab.join((lab.host("server"), "eth0"), (self.host, "out0"))
        self.kind = kind
        client, server = (CLIENT, self.client), (SERVER, self.server)
        self.attachment = between_ends(
            "vnf-1", client, self.ingress, self.egress, server, lab.outputs
        )
        self.knobs = with_defaults(kind.parameters, knobs)
        self.function: RunningFunction = self.restart()

    def restart(self) -> RunningFunction:
        """Start the function, anew when it has been stopped."""
        started = self.kind.start(self.host, self.attachment, self.knobs)
        self.lab.at_end(started.stop)
        return started

    def check_loss_of_rules(self, told: str) -> None:
        """It says that its rules are gone; ended, it has taken away those of a new start too."""
        assert self.function.problem() is None
        self.host.run(["nft", "flush", "ruleset"], timeout_s=10)
        assert str(self.function.problem()).startswith(told)
        self.restart()
        self.function.stop()
        assert self.host.run(["nft", "list", "ruleset"], timeout_s=10).text == ""

    def there(self, *packets: Packet) -> list[Packet]:
        """Send from the client; what reaches the server, in order."""
        return self._cross(self.client, self.ingress, self.server, packets)

    def back(self, *packets: Packet) -> list[Packet]:
        """Send from the server; what reaches the client, in order."""
        return self._cross(self.server, self.egress, self.client, packets)

    def there_after(self, packets: list[Packet], count: int) -> list[Packet]:
        """As `there`, until so many have arrived, whenever that is."""
        sender, receiver = self.client.wire(), self.server.wire()
        near = self.ingress.mac
        try:
            sender.send([bytes(Ether(src=self.client.mac, dst=near) / p) for p in packets])
            arrived: list[bytes] = []

            def enough() -> bool:
                arrived.extend(receiver.drain())
                return len(arrived) >= count

            assert eventually(enough)
            return [Ether(frame) for frame in arrived]
        finally:
            sender.close()
            receiver.close()

    def _cross(
        self, start: Port, near: Port, end: Port, packets: tuple[Packet, ...]
    ) -> list[Packet]:
        """All that arrives until the function has seen everything and the wire is still."""
        sender, receiver = start.wire(), end.wire()
        seen = self.function.counters()["received"]
        try:
            sender.send([bytes(Ether(src=start.mac, dst=near.mac) / packet) for packet in packets])
            assert eventually(lambda: self.function.counters()["received"] >= seen + len(packets))
            return [Ether(frame) for frame in receiver.drain()]
        finally:
            sender.close()
            receiver.close()
