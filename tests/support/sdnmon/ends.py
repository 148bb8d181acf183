"""An agent between two ends that are the test's own, without a switch."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sfcperf.hosts.namespace import NamespaceHost
from support.sdnmon.agent import Agent
from support.sdnmon.openflow import (
    HELLO,
    MULTIPART_REPLY,
    MULTIPART_REQUEST,
    PATIENCE_S,
    PORT_DESC,
    VERSION_1_5,
    Connection,
    Controller,
)
from support.sdnmon.tool import Tool, bpf_file_system


def introduce(switch: Connection, controller: Connection) -> None:
    """HELLO of both ends, and the switch's answer to the agent: it has no ports."""
    for end in (switch, controller):
        end.send(HELLO)
    for end in (switch, controller):
        end.receive(lambda message: message.type == HELLO)
    asked = switch.receive(lambda message: message.type == MULTIPART_REQUEST)
    switch.send(MULTIPART_REPLY, struct.pack("!HHI", PORT_DESC, 0, 0), asked.xid)


@dataclass
class Ends:
    agent: Agent
    tool: Tool
    controller: Controller
    opened: list[Connection] = field(default_factory=list)

    def connected(self, version: int = VERSION_1_5) -> tuple[Connection, Connection]:
        """A new channel, whose ends have said nothing: the switch's and the controller's."""
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(PATIENCE_S)
        stream.connect(self.agent.address.removeprefix("unix:"))
        pair = Connection(stream, version), self.controller.accept(version)
        self.opened += pair
        return pair

    def introduced(self, version: int = VERSION_1_5) -> tuple[Connection, Connection]:
        """A new channel after HELLO."""
        pair = self.connected(version)
        introduce(*pair)
        return pair


@contextmanager
def ends(
    folder: Path, *, command: Sequence[str] = (), options: Sequence[str] = ()
) -> Iterator[Ends]:
    """The agent runs in this network namespace."""
    with bpf_file_system(folder) as pins:
        tool = Tool(pins / "switch")
        agent = Agent(NamespaceHost("here", None, folder), folder, tool.state, command)
        controller = Controller(agent.controller)
        made = Ends(agent, tool, controller)
        try:
            agent.start(*options)
            yield made
        finally:
            for connection in made.opened:
                connection.close()
            agent.stop()
            controller.close()
            tool("off")
