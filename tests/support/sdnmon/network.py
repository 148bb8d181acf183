"""Two bridges of an Open vSwitch in a row, each with an agent, and their controller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch, create_database
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import Lab, Port, ip, space
from support.sdnmon.agent import Agent
from support.sdnmon.controller import Controller
from support.sdnmon.tool import Tool, switched

_AT_ONCE = 100
_PORT = 7000
FORWARD = "priority=1,actions=NORMAL"
_BRIDGES = {1: "br1", 2: "br2"}


class BridgeAgent(Agent):
    """The agent before one bridge; `start` starts it again after it was stopped or killed."""

    def __init__(self, host: NamespaceHost, folder: Path, tool: Tool, relay: str) -> None:
        folder.mkdir()
        super().__init__(host, folder, tool.state)
        self.tool = tool
        self._relay = relay
        self.start()

    def start(self, *options: str, relays: Sequence[str] = ()) -> None:
        super().start(*options, relays=relays or [self._relay])


@dataclass
class Network:
    """The switches are 1 and 2; packets cross both from `sender` to `receiver`."""

    controller: Controller
    agents: dict[int, BridgeAgent]
    sender: Port
    receiver: Port
    ports: dict[int, list[str]]
    """Of each switch."""
    openvswitch: OpenVSwitch

    def connect(self, number: int, address: str | None = None) -> None:
        """Let a switch connect to this address alone; None: to its agent."""
        _connect(self.openvswitch, number, address or f"127.0.0.1:{_PORT + number}")

    def send(self, frames: Sequence[bytes]) -> None:
        """And wait until they have crossed both switches. A few at a time: Open vSwitch drops what
        comes while it is busy."""
        here, there = self.sender.wire(), self.receiver.wire()
        for at in range(0, len(frames), _AT_ONCE):
            some = Counter(frames[at : at + _AT_ONCE])
            here.send(some.elements())
            left = some.total()

            def is_last(frame: bytes, some: Counter[bytes] = some) -> bool:
                nonlocal left
                left -= frame in some
                return not left

            there.receive_until(is_last)
        here.close()
        there.close()


@contextmanager
def network(folder: Path, *words: str, forward: bool = True) -> Iterator[Network]:
    """`words`: further options of the controller. `forward`: with flows in the switches."""
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(folder))
        net = lab.host("net")
        ip("-n", space(net), "link", "set", "lo", "up")
        sender, _ = lab.join((lab.host("src"), "s0"), (net, "one0"))
        lab.join((net, "one1"), (net, "two0"))
        receiver, _ = lab.join((lab.host("dst"), "d0"), (net, "two1"))
        ports = {1: ["one0", "one1"], 2: ["two0", "two1"]}
        controller = Controller(folder, *words, namespace=net.namespace)
        stack.callback(controller.end)
        agents = {}
        for number in _BRIDGES:
            tool = stack.enter_context(switched(folder, net))
            relay = f"tcp:127.0.0.1:{_PORT + number}=tcp:{controller.openflow}"
            agents[number] = BridgeAgent(net, folder / f"agent{number}", tool, relay)
            stack.callback(agents[number].stop)
        switch = _open_vswitch(net, folder, ports)
        stack.callback(switch.stop)
        if forward:
            for bridge in _BRIDGES.values():
                switch.add_flows(bridge, [FORWARD])
        yield Network(controller, agents, sender, receiver, ports, switch)


def _open_vswitch(host: NamespaceHost, folder: Path, ports: dict[int, list[str]]) -> OpenVSwitch:
    database = folder / "empty.db"
    create_database(host, database)
    switch = OpenVSwitch(host, folder)
    switch.start(database)
    switch.configure(
        {bridge: f"02:00:00:00:01:{number:02x}" for number, bridge in _BRIDGES.items()},
        [
            Interface(_BRIDGES[number], name, place + 1)
            for number, names in ports.items()
            for place, name in enumerate(names)
        ],
    )
    for number, bridge in _BRIDGES.items():
        switch._vsctl("set", "bridge", bridge, f"other-config:datapath-id={number:016x}")
        _connect(switch, number, f"127.0.0.1:{_PORT + number}")
    return switch


def _connect(switch: OpenVSwitch, number: int, address: str) -> None:
    bridge = _BRIDGES[number]
    switch._vsctl(
        *("--", "set-controller", bridge, f"tcp:{address}"),
        *("--", "set", "controller", bridge, "max_backoff=1000"),
    )
