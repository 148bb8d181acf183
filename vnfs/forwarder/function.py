"""The forwarder as a VNF type: decrements the SI and returns the packet (paper, section IV)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.plugins import Requirement, choice, commands, object_schema
from sfcperf.vnfs import kernel_forwarding
from sfcperf.vnfs.base import Attachment, NetworkFunction, RunningFunction
from sfcperf.vnfs.kernel_forwarding import KernelForwarding
from sfcperf.vnfs.nsh_forwarding import NshForwarding

BINARY = "sfc-forwarder"
ATTACH_TIMEOUT_S = 10.0


def attach_pass(host: Host, interfaces: list[str]) -> None:
    """Give the SFF's ends of veths an XDP program that passes everything, in native mode.

    Frames that a forwarder returns by XDP_TX on a veth are delivered only to an end with a program.
    One process attaches it to all of them and ends; the program stays until the interfaces go.
    Raises DeploymentError.
    """
    if not interfaces:
        return
    argv = [host.program(binaries.find(BINARY)), "--attach-pass", *interfaces]
    try:
        host.run(argv, timeout_s=ATTACH_TIMEOUT_S)
    except MeasurementError as error:
        raise DeploymentError(
            f"the SFF's ports cannot carry an XDP program: {error.message}",
            where=host.name,
            hint='set the forwarder\'s knob "engine" to "userspace"',
        ) from error


class RunningForwarder(NshForwarding):
    """An sfc-forwarder process, and its XDP program, which forwards."""

    binary = BINARY


class UserspaceForwarder(RunningForwarder):
    """An sfc-forwarder process that forwards by itself."""

    def data_plane_pids(self) -> tuple[int, ...]:
        """Return the id of the process."""
        return self.pids()


class PlainForwarder(KernelForwarding):
    """A host whose kernel forwards plain IP."""

    def facts(self) -> Mapping[str, Any]:
        """Return the engine `kernel`, which is not the one that was asked for."""
        return {"engine": "kernel"}


class Forwarder(NetworkFunction):
    """Decrements the service index of each NSH packet and returns it to its SFF. Where the
    infrastructure chains plain IP, the kernel forwards from one interface to the other."""

    name = "forwarder"
    title = "NSH forwarder: decrements the service index and returns the packet"
    nsh_aware = True
    plain_ip = True
    interfaces = 1
    # Frames are taken before tc: by XDP, or by a packet socket that gets its copy first.
    kernel_path = False
    parameters = object_schema(
        {
            "engine": choice(
                "`xdp` works in the driver's receive path: it is the fastest, but the VNF's vCPUs "
                "do not limit it. `userspace` runs one thread on each of the VNF's vCPUs. With "
                "plain IP, the kernel forwards, whichever engine you request.",
                ["xdp", "userspace"],
                default="xdp",
            )
        }
    )

    @classmethod
    def requirements(cls, knobs: Mapping[str, Any]) -> list[Requirement]:
        """Require the compiled tool."""
        return [binaries.requirement(BINARY)]

    @classmethod
    def tools(cls, knobs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the commands that plain IP needs; NSH needs none."""
        return commands(kernel_forwarding.requirements())

    @classmethod
    def peer_needs_xdp(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True with the engine `xdp`, whose frames return by XDP_TX."""
        return str(knobs["engine"]) == "xdp"

    @classmethod
    def carried_by_process(cls, knobs: Mapping[str, Any]) -> bool:
        """Return True with the engine `userspace`."""
        return str(knobs["engine"]) == "userspace"

    @classmethod
    def start(cls, host: Host, attachment: Attachment, knobs: Mapping[str, Any]) -> RunningFunction:
        """Start sfc-forwarder on the ingress interface and wait until it forwards; in plain IP,
        let the kernel forward."""
        if attachment.encapsulation == "none":
            return PlainForwarder.launch(host, attachment, knobs)
        engine = str(knobs["engine"])
        options = ["--engine", engine, "--interface", attachment.interfaces[0]]
        kind = UserspaceForwarder if engine == "userspace" else RunningForwarder
        if engine == "userspace" and attachment.vcpus:
            options += ["--cpus", ",".join(map(str, attachment.vcpus))]
        running = kind.spawn(attachment.name, host, options)
        with kernel_forwarding.all_or_nothing(running):
            running.wait_ready()
        return running
