"""Chunks of traffic: what each round of an experiment simulates."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from glob import glob
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO, TYPE_CHECKING, Any

from sfcperf import waiting
from sfcperf.errors import InputError, MeasurementError, system_errors_as

if TYPE_CHECKING:
    from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace


@dataclass(frozen=True)
class Chunk:
    """The traffic of one round: a trace of its own."""

    source: Path
    facts: Mapping[str, Any]
    """What identifies the trace: how to make it again, or digest and size of the file."""


def synthetic_chunk(seed: int, duration_s: float, packets_per_minute: int, number: int) -> Chunk:
    """Chunk `number`, from 1: the trace of `sfcperf sfcmon generate-trace` with the seed
    `seed + number - 1`. Raises MeasurementError if there is no room for it."""
    from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace

    trace = SyntheticTrace(seed + number - 1, duration_s, packets_per_minute)
    return Chunk(_generated(trace), {"synthetic_trace": asdict(trace)})


_kept: dict[SyntheticTrace, IO[bytes]] = {}
"""The latest trace, if any: trials of one round simulate the same one. Its file has no name, so
that nothing is left behind, however this process ends."""


def _generated(trace: SyntheticTrace) -> Path:
    """Return the path in /proc of a file without a name that holds the trace. The trace is written
    unless it is the latest one. Raises MeasurementError."""
    if trace not in _kept:
        _kept.clear()
        where = gettempdir()
        with system_errors_as(
            MeasurementError,
            "the synthetic trace cannot be written",
            where=where,
            hint="choose a folder with more room by the environment variable TMPDIR",
        ):
            file = TemporaryFile(dir=where)  # noqa: SIM115, kept open
            for part in trace.pcap():
                waiting.check()
                file.write(part)
            file.flush()
        _kept[trace] = file
    return Path(f"/proc/{os.getpid()}/fd/{_kept[trace].fileno()}")


def chunk_of_files(pattern: str, number: int) -> Chunk:
    """Chunk `number`, from 1, of the files that match `pattern`, in the order of their names.

    Raises InputError if there is no such file, or it cannot be read.
    """
    with system_errors_as(InputError, "the trace cannot be found", where=pattern):
        # The name of a file may look like a pattern, which it does not match.
        names = [pattern] if Path(pattern).exists() else glob(pattern)  # noqa: PTH207
        files = sorted(path for path in map(Path, names) if not path.is_dir())
    if not files:
        raise InputError(
            "there is no such trace",
            where=pattern,
            allowed="the absolute path of a file, or a pattern such as /data/caida/*.pcap",
        )
    if number > len(files):
        raise InputError(
            f"round {number} needs trace number {number}, but there "
            f"{'are' if len(files) > 1 else 'is'} {len(files)}",
            where=pattern,
            hint="each round simulates one file: divide a long trace (`editcap -i 60 IN OUT`), or "
            f"set design.rounds to {len(files)}",
        )
    path = files[number - 1]
    with system_errors_as(InputError, "the trace cannot be read", where=path):
        status = path.stat()
        sha256 = _sha256(path, status.st_size, status.st_mtime_ns)
    return Chunk(path, {"trace": str(path), "sha256": sha256, "bytes": status.st_size})


@lru_cache(maxsize=1024)
def _sha256(path: Path, _size: int, _mtime_ns: int) -> str:
    """Return the SHA-256 of a file, read once for all trials. Size and time only make the cache
    miss after the file has changed."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
