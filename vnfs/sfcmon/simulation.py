"""Runs the simulator `sfcmon-simulate` on a trace."""

from __future__ import annotations

import gzip
import json
import os
import select
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from sfcperf import waiting
from sfcperf.dataplane import binaries
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import InputError, SfcperfError, system_errors_as
from sfcperf.packets.left_out import LeftOutCounts
from sfcperf.vnfs.sfcmon.report import Window
from sfcperf.vnfs.sfcmon.settings import Sizes, Thresholds, share_register

TOOL = "sfcmon-simulate"
STDIN = "-"
_NS_PER_S = 1_000_000_000
_PART_BYTES = 1 << 20


@dataclass(frozen=True)
class Simulation:
    """How a trace is simulated: window, thresholds and sizes."""

    window_s: float
    threshold: float
    """Heavy hitters are the sources with at least this share of a window's packets."""
    thresholds: Thresholds
    """What the data plane compares with."""
    sizes: Sizes = field(default_factory=Sizes)
    target_flows: int | None = None
    """Adapt the number of packets from which flows are reported, so that about so many are; None:
    do not adapt it."""
    spi: int = 1
    """Path of packets that come without an NSH."""
    si: int = 255
    nsh_only: bool = False
    """Whether frames without an NSH are only counted, and not monitored."""
    registers: bool = False
    """Whether windows have all registers."""

    def command(self, trace: str) -> list[str]:
        """Return the command line of the tool. `trace` is a file, or STDIN."""
        sizes, limits = self.sizes, self.thresholds
        options = {
            "window": round(self.window_s * _NS_PER_S),
            "truth": share_register(self.threshold),
            "share": limits.share,
            "eval": limits.eval,
            "packets": limits.packets,
            "cms-rows": sizes.cms_rows,
            "cms-columns": sizes.cms_columns,
            "bloom-bits": sizes.bloom_bits,
            "bloom-hashes": sizes.bloom_hashes,
            "iblt-cells": sizes.iblt_cells,
            "iblt-hashes": sizes.iblt_hashes,
            "spi": self.spi,
            "si": self.si,
        }
        if self.target_flows is not None:
            options["adaptive"] = self.target_flows
        flags = [f"--{f.replace('_', '-')}" for f in ("nsh_only", "registers") if getattr(self, f)]
        words = [f"--{name}={value}" for name, value in options.items()]
        return [str(binaries.find(TOOL)), *words, *flags, "--", trace]


@dataclass(frozen=True)
class TraceEnd:
    """What is known of a trace after its last window."""

    frames: int
    left_out: LeftOutCounts
    """Frames that are not monitored, among all."""
    late: int
    """Frames with an earlier time than the window that was open; they count in that window."""
    truncated: bool
    """Whether the trace ends within a packet."""
    read_s: float
    """CPU time for reading and parsing."""
    sketch_s: float
    """CPU time in the sketches."""
    truth_s: float
    """CPU time for counting exactly."""


def simulate(trace: Path | str, simulation: Simulation) -> Iterator[Window | TraceEnd]:
    """Yield each window of a trace (`-` is standard input), then a TraceEnd, when all of the trace
    was read. Raises InputError if it cannot be read, EnvironmentLacks if the simulator is not
    compiled."""
    feed = _parts(Path(trace))
    command = simulation.command(str(trace) if feed is None else STDIN)
    end: TraceEnd | None = None
    with _running(command, feed) as output:
        for line in _lines(output):
            document = json.loads(line)
            if document.pop("event") == "window":
                yield Window.read(document, simulation.sizes)
            else:
                end = TraceEnd(**document | {"left_out": LeftOutCounts(document["left_out"])})
    if end is None:
        raise SfcperfError("it has not said how the trace ended", where=TOOL)
    yield end


def _parts(path: Path) -> Iterator[bytes] | None:
    """Return the content of a trace in a form that the tool can read, in parts; None if it can read
    the file itself."""
    if path.suffix == ".parquet":
        from sfcperf.vnfs.sfcmon.parquet import records

        return records(path)
    return _decompressed(path) if path.suffix == ".gz" else None


def _decompressed(path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file in parts. Raises InputError."""
    try:
        with gzip.open(path) as file:
            while part := file.read(_PART_BYTES):
                yield part
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the trace cannot be decompressed: {error}", where=str(path)) from error


def _lines(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the tool's lines until its output ends, and wait for them so that Ctrl-C ends the
    wait."""
    rest = b""
    while waiting.poll({output.fileno(): select.POLLIN}) and (
        part := os.read(output.fileno(), _PART_BYTES)
    ):
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


@contextmanager
def _running(command: list[str], feed: Iterator[bytes] | None) -> Iterator[IO[bytes]]:
    """Run the tool and give its output; kill it if the block raises. `feed` is written to its
    standard input; None: it has that of this process. What it complains about becomes an InputError
    after the block."""
    with system_errors_as(SfcperfError, "the simulator cannot be started", where=TOOL):
        process = subprocess.Popen(
            command,
            stdin=None if feed is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=without_secrets(),
            # The tool has a process group of its own, because Ctrl-C is for this process, which
            # ends the tool. If the tool reads standard input, it stays in this group, since it may
            # read a terminal.
            process_group=None if command[-1] == STDIN and feed is None else 0,
        )
    assert process.stdout is not None
    assert process.stderr is not None
    feeder = None if feed is None else _Feeder(feed, process)
    try:
        yield process.stdout
        complaint = process.stderr.read().decode(errors="replace").strip()
        status = process.wait()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
        if feeder is not None:
            feeder.join()
    if feeder is not None and feeder.error is not None:
        raise feeder.error
    if status != 0:
        raise InputError(complaint.removeprefix(f"{TOOL}: ") or f"{TOOL} ended with {status}")


class _Feeder(threading.Thread):
    """A thread that writes a trace to the simulator, from its making on. `error` is what made it
    stop too early, or None."""

    def __init__(self, parts: Iterator[bytes], process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.error: Exception | None = None
        self._parts = parts
        self._process = process
        self.start()

    def run(self) -> None:
        assert self._process.stdin is not None
        try:
            with self._process.stdin as stdin:
                for part in self._parts:
                    stdin.write(part)
        except BrokenPipeError:
            # The simulator has ended, and says why.
            return
        except Exception as error:
            self.error = error
