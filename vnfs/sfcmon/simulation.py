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
    """Settings of a simulation."""

    window_s: float
    threshold: float
    """Heavy hitters are the sources with at least this share of a window's packets."""
    thresholds: Thresholds
    """Thresholds that the simulated data plane compares with."""
    sizes: Sizes = field(default_factory=Sizes)
    target_flows: int | None = None
    """Adapt the threshold so that about this many flows are reported; None: it stays."""
    spi: int = 1
    """SPI of packets that come without an NSH; `si` is their SI."""
    si: int = 255
    nsh_only: bool = False
    """Do not monitor frames without an NSH, but count them."""
    registers: bool = False
    """Report all registers of each window."""

    def command(self, trace: str) -> list[str]:
        """Return the command line of the tool."""
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
    """What the simulator reports after the last window."""

    frames: int
    left_out: LeftOutCounts
    """Those of the frames that are not monitored."""
    late: int
    """Frames with an earlier time than the window that was open. They count in that window."""
    truncated: bool
    """Whether the trace ends within a packet."""
    read_s: float
    """CPU time for reading and parsing. `sketch_s` is that in the sketches, `truth_s` that for
    counting exactly."""
    sketch_s: float
    truth_s: float


def simulate(trace: Path | str, simulation: Simulation) -> Iterator[Window | TraceEnd]:
    """Yield each window of a trace (`-` is standard input), then the end, which says that all of
    it was read. Raises InputError if the trace cannot be read, EnvironmentLacks if the simulator
    is not compiled."""
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
    """Return the content that the tool is to read instead of a file that it cannot read itself;
    None if it can read the file."""
    if path.suffix == ".parquet":
        from sfcperf.vnfs.sfcmon.parquet import records

        return records(path)
    return _decompressed(path) if path.suffix == ".gz" else None


def _decompressed(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) as file:
            while part := file.read(_PART_BYTES):
                yield part
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"the trace cannot be decompressed: {error}", where=str(path)) from error


def _lines(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the tool's lines. The wait for them can be ended by Ctrl-C."""
    rest = b""
    while waiting.poll({output.fileno(): select.POLLIN}) and (
        part := os.read(output.fileno(), _PART_BYTES)
    ):
        *lines, rest = (rest + part).split(b"\n")
        yield from lines


@contextmanager
def _running(command: list[str], feed: Iterator[bytes] | None) -> Iterator[IO[bytes]]:
    """Run the tool and give its output. Its complaints become an InputError at the end."""
    with system_errors_as(SfcperfError, "the simulator cannot be started", where=TOOL):
        process = subprocess.Popen(
            command,
            stdin=None if feed is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=without_secrets(),
            # Ctrl-C is for this process, which ends the tool. A tool that reads the terminal stays
            # in the group of processes, because only that group may read it.
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
    """Writes a trace to the simulator's standard input, in a thread."""

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
            # The simulator has ended; it says itself why.
            return
        except Exception as error:
            self.error = error
