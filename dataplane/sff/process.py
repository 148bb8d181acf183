"""Starts sfc-sff, changes its tables and reads its counters."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from sfcperf import retry
from sfcperf.dataplane.stats_process import StatsProcess
from sfcperf.errors import DeploymentError, MeasurementError, errors_as
from sfcperf.hosts.base import Host, Process

BINARY = "sfc-sff"
TAP_HEADER_BYTES = 16
"""Length of the header in front of a frame that goes round by the tap (entries.h)."""
RELOAD_TIMEOUT_S = 15.0
"""Long enough for a VM that is emulated on a busy machine."""
_POLL_S = 0.0005


class SffProcess(StatsProcess):
    """An sfc-sff in a node's network namespace, from `launch` until `stop`. Its BPF programs leave
    with the process."""

    binary = BINARY

    def __init__(self, name: str, host: Host, stats: Path, process: Process) -> None:
        super().__init__(name, host, stats, process)
        self._tables = _tables_file(name, host)

    @classmethod
    def launch(cls, name: str, host: Host, tables: str) -> Self:
        """Start sfc-sff with these tables (README.md) and wait until it forwards. Raises
        DeploymentError."""
        file = _tables_file(name, host)
        _write(host, tables, file)
        running = cls.spawn(name, host, ["--tables", str(file)])
        try:
            running.wait_ready()
        except BaseException:
            running.stop()
            raise
        return running

    def change(self, tables: str) -> None:
        """Make sfc-sff use these tables from now on: all of them at once, or none. Raises
        DeploymentError if it refuses them, has ended or does not answer, and MeasurementError if
        its counters cannot be read."""
        before = self.fresh()["loads"]
        _write(self._host, tables, self._tables)
        self._process.send_signal(signal.SIGHUP)
        event = None

        def loaded() -> bool:
            nonlocal event
            # sfc-sff writes its counters by itself when it has read the tables.
            event = self._counted()
            ended = self._process.poll() is not None
            return ended or (event is not None and event["loads"] > before)

        retry.until(loaded, timeout_s=RELOAD_TIMEOUT_S, period_s=_POLL_S)
        if event is None or event["loads"] == before:
            raise DeploymentError(f"{self._name}: {self.binary} does not take new tables")
        if event["refused"]:
            raise DeploymentError(f"{self._name}: {event['refused']}")

    def counters(self) -> Mapping[str, int]:
        """Return how many frames were counted since the start, until now.

        `received` at all ports; `forwarded` along paths; `bypassed`, between endpoints or in
        transit; `dropped`, and `dropped_REASON` per reason (README.md); `hop_spiN_siM` and
        `hop_spiN_siM_bytes` per SPI and SI, bytes of frames as they came in. Raises
        MeasurementError.
        """
        event = self.fresh()
        counters = {name: event[name] for name in ("received", "forwarded", "bypassed", "dropped")}
        counters |= {f"dropped_{reason}": count for reason, count in event["drops"].items()}
        for hop in event["hops"]:
            name = f"hop_spi{hop['spi']}_si{hop['si']}"
            counters |= {name: hop["packets"], f"{name}_bytes": hop["bytes"]}
        return counters


def _write(host: Host, tables: str, file: Path) -> None:
    """Write the tables to a file of the host. Raises DeploymentError."""
    with tempfile.TemporaryDirectory() as folder, errors_as(DeploymentError, MeasurementError):
        local = Path(folder) / file.name
        local.write_text(tables)
        host.put(local, file)


def _tables_file(name: str, host: Host) -> Path:
    """Return where the tables of this sfc-sff are written, for it to read."""
    return host.workdir / f"{name}.tables"
