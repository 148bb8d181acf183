"""A switch, and the process that controls it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

from sfcperf.errors import DeploymentError, MeasurementError
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import NamespaceHost
from sfcperf.vnfs.kernel_forwarding import deploying
from sfcperf.vnfs.sfcmon.bmv2.programs import Program
from sfcperf.vnfs.sfcmon.bmv2.switch import BINARY, Bmv2Switch
from sfcperf.vnfs.sfcmon.bmv2.switch_settings import Settings
from sfcperf.vnfs.sfcmon.running import RunningSfcmon

LEAST_MEMORY_MIB = 128
"""Memory that a switch needs with its queues full."""
_MODULE = "sfcperf.vnfs.sfcmon.bmv2_engine"
_NOT_OURS = "encapsulation"
"""Reason for which an SF drops frames without an NSH. The kernel has got these as well, so they
count as passed."""
_starts = itertools.count()
"""Numbers for names of files: each start has files of its own."""


@dataclass(frozen=True)
class PacketCounts:
    """What a switch has counted since its start."""

    ways: Mapping[str, int]
    """Packets by how they left (programs.WAYS)."""
    drops: Mapping[str, int]
    """Packets by why they were dropped (programs.DROP_REASONS)."""
    paths: Mapping[tuple[int, int], tuple[int, int]]
    """(SPI, SI) -> packets that were looked up with them, and the bytes of their frames."""


class Controller(RunningSfcmon):
    """The process that controls a switch."""

    binary = f"the controller of {BINARY}"

    @classmethod
    def command(cls, host: Host) -> list[str]:
        """Return the command of a module of this package, by this interpreter."""
        # -P: do not import modules from the current folder.
        return [sys.executable, "-P", "-m", _MODULE]

    def counted(self) -> PacketCounts:
        """Return what the switch has counted. Raises MeasurementError."""
        event = self.fresh()
        paths = {(path["spi"], path["si"]): path for path in event["paths"]}
        return PacketCounts(
            ways=event["forwarded"],
            drops=event["drops"],
            paths={key: (path["packets"], path["bytes"]) for key, path in paths.items()},
        )

    def counters(self) -> Mapping[str, int]:
        """Return the counters of a switch that is an SF, as RunningFunction.counters has them. It
        forwards the packets that it has `served`."""
        counted = self.counted()
        drops = dict(counted.drops)
        passed = drops.pop(_NOT_OURS)
        forwarded, dropped = counted.ways["served"], sum(drops.values())
        return {
            "received": forwarded + dropped,
            "forwarded": forwarded,
            "dropped": dropped,
            "passed": passed,
            **{f"dropped_{reason}": count for reason, count in drops.items()},
        }


class ControlledSwitch:
    """A switch, and the process that controls it. `launch` starts both, and `stop` ends them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._switch: Bmv2Switch | None = None
        self._controller: Controller | None = None

    def launch(
        self, name: str, interfaces: Mapping[int, str], settings: Settings, output: Path
    ) -> None:
        """Start both processes and wait until the switch forwards. `settings` need no address yet;
        windows go to `output`. When it raises, `stop` ends what was started. Raises
        EnvironmentLacks, DeploymentError."""
        try:
            with deploying(name, self._host):
                self._switch = Bmv2Switch.launch(self._host, interfaces)
            way = self._switch.reach
            settings = settings.at(self._switch.address, way.thrift_socket)
            self._controller = self._control(name, settings, output, way.folder)
            self._controller.wait_ready()
        except (MeasurementError, DeploymentError) as error:
            message, hint = error.message, error.hint
            if (gone := self._switch_problem()) is not None:
                message, hint = f"{name}: {gone}", None
            raise DeploymentError(message, where=self._host.name, hint=hint) from error

    def _control(self, name: str, settings: Settings, output: Path, folder: Path) -> Controller:
        """Start the process that controls the switch, with the settings in a file of `folder`."""
        file = folder / f"{name}-{next(_starts)}.settings.json"
        file.write_text(settings.text())
        monitors = settings.program != Program.PLAIN.value
        sizes = settings.sizes if monitors else None
        outside = _outside(self._host, folder)
        return Controller.launch(name, outside, [str(file)], sizes, output)

    @property
    def controller(self) -> Controller:
        """The controlling process, which answers for the switch. Raises MeasurementError if either
        process has ended."""
        problem = self.problem()
        if self._controller is None or problem is not None:
            raise MeasurementError(problem or "not started", where=self._host.name)
        return self._controller

    def problem(self) -> str | None:
        """Return None while both processes run, else what is wrong."""
        if self._switch is None or self._controller is None:
            return f"{BINARY} was not started"
        gone = self._switch_problem()
        return self._controller.problem() if gone is None else gone

    def pids(self) -> tuple[int, ...]:
        """Return the id of the switch; the controller is no part of the function."""
        return () if self._switch is None else (self._switch.process.pid,)

    def stop(self) -> None:
        """Stop the controller, which ends its last window, then the switch."""
        if self._controller is not None:
            self._controller.stop()
        if self._switch is not None:
            self._switch.stop()

    def _switch_problem(self) -> str | None:
        """Say what is wrong if the switch has ended; None otherwise."""
        status = None if self._switch is None else self._switch.process.poll()
        if status is None:
            return None
        killed = f"; it needs {LEAST_MEMORY_MIB} MiB of memory" if status == -SIGKILL else ""
        return f"{BINARY} has ended with status {status}{killed}"


def _outside(host: Host, folder: Path) -> NamespaceHost:
    """Return where the controller of a switch on this host runs: on this machine, in the network
    namespace of a switch that is here, and outside the instance's control groups. It is no part of
    the switch, as the controller of the paper is none: it neither takes the switch's CPUs nor
    counts as its memory."""
    space = host.namespace if isinstance(host, NamespaceHost) else None
    return NamespaceHost(host.name, None if space is None else space.name, folder)
