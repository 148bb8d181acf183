"""A running bmv2 switch with a raw Ethernet end at each of its ports.

Its ports, addresses and paths are those of SffBench, so that the model of sfc-sff says what has to
become of frames here as well.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import finsy
from finsy.p4entity import P4CounterEntry, P4Entity, P4TableEntry
from scapy.packet import Packet

from sfcperf.vnfs.sfcmon.bmv2.programs import DROP_REASONS, Program
from sfcperf.vnfs.sfcmon.bmv2.switch import Bmv2Switch
from support.network.wires import InLab, Wire, eventually, ip, space
from support.vnfs.sff_bench import (
    CLIENT,
    FAR_ADDRESS,
    FAR_NODE,
    FAR_SERVER,
    GPE_SF,
    GPE_SF_ADDRESS,
    INTERFACE_MTU,
    MTU,
    NODE,
    NODE_ADDRESS,
    NSH_SF,
    PLAIN_SF,
    PORT_BACK,
    PORT_CLIENT,
    PORT_GPE,
    PORT_LINK,
    PORT_NSH,
    PORT_PLAIN,
    PORT_SERVER,
    SERVER,
)

BATCH = 100
"""Frames that fit in the queues on their way."""
PORT_SERVICE = 8
"""Where the switch is the SF."""
NUMBERS = {
    PORT_CLIENT: 1,
    PORT_SERVER: 2,
    PORT_SERVICE: 64,
    PORT_NSH: 128,
    PORT_PLAIN: 256,
    PORT_BACK: 257,
    PORT_LINK: 384,
    PORT_GPE: 385,
}
"""Ports of the bench -> ports of the switch, which say of what kind they are."""
TO: Mapping[str, tuple[str, dict[str, Any]]] = {
    "nsh": ("to_nsh", {"port": NUMBERS[PORT_NSH], "mac": NSH_SF}),
    "plain": ("to_plain", {"port": NUMBERS[PORT_PLAIN], "mac": PLAIN_SF}),
    "gpe": ("to_gpe", {"port": NUMBERS[PORT_GPE], "mac": GPE_SF, "address": GPE_SF_ADDRESS}),
    "link": ("to_gpe", {"port": NUMBERS[PORT_LINK], "mac": FAR_NODE, "address": FAR_ADDRESS}),
    "end": ("end", {"port": NUMBERS[PORT_SERVER]}),
    "end-gpe": ("end_gpe", {"port": NUMBERS[PORT_LINK], "mac": FAR_NODE, "address": FAR_ADDRESS}),
}
"""Actions of the table `paths`, without `from`; keys are those of SffBench."""


class ControlPlane:
    """A P4Runtime client that is primary; it loads the program."""

    def __init__(self, address: str, program: Program) -> None:
        options = finsy.SwitchOptions(p4info=program.p4info, p4blob=program.json, p4force=True)
        self._runner = asyncio.Runner()
        self._switch = finsy.Switch("switch", address, options)
        self._runner.run(self._open())

    async def _open(self) -> None:
        await self._switch.__aenter__()

    def close(self) -> None:
        self._runner.run(self._switch.__aexit__(None, None, None))
        self._runner.close()

    def insert(self, entries: Iterable[P4TableEntry]) -> None:
        self._runner.run(self._switch.insert(list(entries)))

    def modify(self, entries: Iterable[P4TableEntry]) -> None:
        self._runner.run(self._switch.modify(list(entries)))

    def delete(self, entries: Iterable[P4TableEntry]) -> None:
        self._runner.run(self._switch.delete(list(entries)))

    def read(self, entity: P4Entity) -> list[Any]:
        async def entities() -> list[Any]:
            return [each async for each in self._switch.read(entity)]

        return self._runner.run(entities())


class Bmv2Bench(InLab):
    """One node: endpoints 1 and 2, SFs 3 (NSH), 4 and 5 (plain), 7 (VXLAN-GPE), link 6; at port 8
    the switch is the SF itself."""

    def __init__(self, program: Program = Program.SKETCHES) -> None:
        self.program = program
        super().__init__()

    def _make(self) -> None:
        self._join()
        interfaces = {number: f"p{port}" for port, number in NUMBERS.items()}
        self.switch = Bmv2Switch.launch(self.node, interfaces)
        self.lab.at_end(self.switch.stop)
        self.registers = self.switch.registers()
        self.lab.at_end(self.registers.close)
        self.control = ControlPlane(self.switch.address, self.program)
        self.lab.at_end(self.control.close)
        self._configure()

    def _join(self) -> None:
        self.node, self.ends = self.lab.host("switch"), self.lab.host("ends")
        ip("-n", space(self.node), "link", "set", "lo", "up")
        self.wires: dict[int, Wire] = {}
        for port in NUMBERS:
            ends = self.lab.join((self.ends, f"e{port}"), (self.node, f"p{port}"))
            for end in ends:
                here = space(end.host)
                ip("-n", here, "link", "set", end.interface, "mtu", str(INTERFACE_MTU + 16))
            self.wires[port] = ends[0].wire()
            self.lab.at_end(self.wires[port].close)

    def _configure(self) -> None:
        node = finsy.Action("set_node", mac=NODE, address=NODE_ADDRESS)
        self.control.modify([P4TableEntry("node", action=node, is_default_action=True)])
        stations = {
            CLIENT: finsy.Action("deliver", port=NUMBERS[PORT_CLIENT]),
            SERVER: finsy.Action("deliver", port=NUMBERS[PORT_SERVER]),
            FAR_SERVER: finsy.Action(
                "deliver_gpe", port=NUMBERS[PORT_LINK], mac=FAR_NODE, address=FAR_ADDRESS
            ),
        }
        routes = {FAR_ADDRESS: PORT_LINK, GPE_SF_ADDRESS: PORT_GPE}
        self.control.insert(
            [
                *(
                    P4TableEntry("stations", match=finsy.Match(mac=mac), action=action)
                    for mac, action in stations.items()
                ),
                *(
                    P4TableEntry(
                        "routes",
                        match=finsy.Match(address=address),
                        action=finsy.Action("relay", port=NUMBERS[port]),
                    )
                    for address, port in routes.items()
                ),
                *(
                    P4TableEntry(
                        "mtus",
                        match=finsy.Match(port=number),
                        action=finsy.Action("limit", bytes=MTU),
                    )
                    for number in NUMBERS.values()
                ),
            ]
        )

    def exchange(self, port: int, frames: Sequence[Packet | bytes]) -> dict[int, list[bytes]]:
        """Send frames into a port, and give what comes out of all ports. Each frame must leave or
        be counted as dropped."""
        out: dict[int, list[bytes]] = {leaves: [] for leaves in NUMBERS}
        for start in range(0, len(frames), BATCH):
            batch = [bytes(frame) for frame in frames[start : start + BATCH]]
            dropped_before, left_before = sum(self.drops().values()), _count(out)
            self.wires[port].send(batch)

            def all_seen() -> bool:
                for leaves, wire in self.wires.items():
                    out[leaves] += wire.waiting()
                dropped = sum(self.drops().values()) - dropped_before  # noqa: B023
                return dropped + _count(out) - left_before >= len(batch)  # noqa: B023

            assert eventually(all_seen), f"{len(batch)} frames, {_count(out) - left_before} left"
        return out

    def one(self, port: int, frame: Packet | bytes) -> tuple[int, bytes]:
        """The only frame that comes out for a frame, and where."""
        out = self.exchange(port, [frame])
        [(leaves, answer)] = [(port, answer) for port, all_ in out.items() for answer in all_]
        return leaves, answer

    def drops(self) -> Counter[str]:
        """Dropped frames by reason, only those that there are."""
        cells = self.control.read(P4CounterEntry("drops"))
        return Counter(
            {DROP_REASONS[cell.index - 1]: cell.packet_count for cell in cells if cell.packet_count}
        )

    def paths(self, paths: Mapping[tuple[int, int], str], came_from: int = 0) -> None:
        """Add paths: (SPI, SI) -> key of `TO`. `came_from`: a port of the switch; 0: any."""
        self.control.insert(
            P4TableEntry(
                "paths",
                match=finsy.Match(spi=spi, si=si),
                action=finsy.Action(TO[to][0], **TO[to][1], **{"from": came_from}),
            )
            for (spi, si), to in paths.items()
        )


def _count(out: Mapping[int, Sequence[bytes]]) -> int:
    return sum(map(len, out.values()))
