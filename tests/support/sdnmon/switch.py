"""An Open vSwitch in a namespace, whose controller is reached through sfc-sdnmon-agent."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.drivers.local.openvswitch import Interface, OpenVSwitch, create_database
from sfcperf.hosts.namespace import NamespaceHost
from support.network.wires import Lab, Port
from support.sdnmon.agent import Agent
from support.sdnmon.openflow import VERSION_1_5, Connection, Controller
from support.sdnmon.tool import Tool, bpf_file_system

BRIDGE = "br0"
MAC = "02:00:00:00:01:00"


@dataclass
class Bench:
    """A switch with two ports, an agent that runs, and a controller that listens."""

    lab: Lab
    host: NamespaceHost
    senders: list[Port]
    ports: list[Port]
    """Of the switch."""
    tool: Tool
    agent: Agent
    controller: Controller
    folder: Path
    opened: list[Connection] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(port.interface for port in self.ports)

    def vsctl(self, *words: str) -> str:
        argv = ["ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=10", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    def ofctl(self, *words: str, version: str = "OpenFlow15") -> str:
        """To the bridge, without the agent."""
        argv = ["ovs-ofctl", "-O", version, words[0], f"unix:{self.folder}/{BRIDGE}.mgmt"]
        done = subprocess.run([*argv, *words[1:]], check=True, capture_output=True, text=True)
        return done.stdout

    def connect(self) -> None:
        """Have the switch connect to the agent, without long pauses between its attempts."""
        self.vsctl(
            *("--", "set-controller", BRIDGE, self.agent.address),
            *("--", "set", "controller", BRIDGE, "max_backoff=1000"),
        )

    def accepted(self, version: int = VERSION_1_5) -> Connection:
        """The switch's connection, by the agent, after HELLO."""
        connection = self.controller.accept(version)
        self.opened.append(connection)
        connection.greet()
        return connection

    def send(self, frames: Sequence[bytes], port: int = 0) -> None:
        wire = self.senders[port].wire()
        wire.send(frames)
        wire.close()


@contextmanager
def bench(
    folder: Path, *, command: Sequence[str] = (), options: Sequence[str] = ()
) -> Iterator[Bench]:
    """Everything that a test needs; nothing is left."""
    with Lab(folder) as lab, bpf_file_system(folder) as pins:
        host, sender = lab.host("switch"), lab.host("sender")
        pairs = [lab.join((sender, f"s{n}"), (host, f"p{n}")) for n in range(2)]
        tool = Tool(pins / "switch", host)
        create_database(host, folder / "empty.db")
        switch = OpenVSwitch(host, folder)
        agent = Agent(host, folder, tool.state, command)
        controller = Controller(agent.controller)
        ports = [pair[1] for pair in pairs]
        made = Bench(lab, host, [p[0] for p in pairs], ports, tool, agent, controller, folder)
        try:
            switch.start(folder / "empty.db")
            interfaces = [Interface(BRIDGE, p.interface, n + 1) for n, p in enumerate(ports)]
            switch.configure({BRIDGE: MAC}, interfaces)
            agent.start(*options)
            yield made
        finally:
            for connection in made.opened:
                connection.close()
            agent.stop()
            switch.stop()
            controller.close()
            tool("off")
