"""sfc-heavy-hitter on a trace, and the model on the same."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.dataplane import binaries
from sfcperf.vnfs.heavy_hitter import compile as compiling
from sfcperf.vnfs.heavy_hitter.model import HeavyHitters, Settings

ENGINES = ("native", "swx")
BY_HAND = "by_hand"
"""Engine swx with the program of benchmarks/heavy_hitter/engines.py that no compiler wrote."""
_BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "heavy_hitter" / "_heavy_hitter"
_SPECS = {"swx": compiling.SPEC, BY_HAND: _BENCHMARK / "hand_written.spec"}
_NS_PER_S = 10**9
_PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)
_HEAD = struct.Struct("<IIII")


@dataclass(frozen=True)
class Clock:
    """When frames come, and how time is divided."""

    step_ns: int = 0
    """From one frame to the next."""
    window_ms: int = 0
    """0: one window for all."""
    first_epoch: int = 0

    def epoch(self, number: int) -> int:
        """Of a frame."""
        passed = number * self.step_ns // (self.window_ms * 10**6) if self.window_ms else 0
        return self.first_epoch + passed & 0xFFFFFFFF


@dataclass
class Outcome:
    """What an engine, or the model, made of a trace."""

    frames: list[tuple[int, bytes]]
    """Those that left, and by which port."""
    counters: dict[str, int]
    """Without those that are 0."""
    cells: list[tuple[int, int, int]]
    """Row, column and count of those of the last epoch that are not 0."""
    reports: list[dict[str, Any]]
    lost_reports: int = 0


def write_pcap(path: Path, frames: Sequence[bytes], step_ns: int = 0) -> None:
    """A capture of Ethernet frames, with times in nanoseconds."""
    write_timed_pcap(path, [(number * step_ns, frame) for number, frame in enumerate(frames)])


def write_timed_pcap(path: Path, frames: Iterable[tuple[int, bytes]]) -> None:
    """A capture of Ethernet frames with their times [ns]."""
    with path.open("wb") as file:
        file.write(_PCAP)
        for time_ns, frame in frames:
            time = divmod(time_ns, _NS_PER_S)
            file.write(_HEAD.pack(*time, len(frame), len(frame)) + frame)


def read_pcap(path: Path) -> list[tuple[int, bytes]]:
    """Frames that an engine let through, and by which port."""
    data, frames = path.read_bytes()[len(_PCAP) :], []
    while data:
        port, _, length, _ = _HEAD.unpack_from(data)
        frames.append((port, data[_HEAD.size : _HEAD.size + length]))
        data = data[_HEAD.size + length :]
    return frames


def command(engine: str, settings: Settings, trace: str | Path, output: Path) -> list[object]:
    """Command line; `trace`: a file, or - for standard input."""
    words: list[object] = [binaries.find("sfc-heavy-hitter"), "--engine"]
    words += ["swx", "--spec", _SPECS[engine]] if engine in _SPECS else [engine]
    words += ["--rows", settings.rows, "--columns", settings.columns, "--seed", settings.seed]
    words += ["--threshold", settings.threshold, "--action", settings.action.value]
    words += ["--mark-dscp", settings.mark_dscp]
    for flag in ("conservative", "nsh_only", "reflect"):
        words += [f"--{flag.replace('_', '-')}"] if getattr(settings, flag) else []
    return [*words, "--trace", trace, "--write", output, "--cells"]


def processed(
    folder: Path,
    engine: str,
    frames: Sequence[bytes],
    settings: Settings,
    clock: Clock,
    *options: object,
) -> Outcome:
    """What an engine makes of frames. `options`: further ones of the tool."""
    write_pcap(folder / "in.pcap", frames, clock.step_ns)
    words = command(engine, settings, folder / "in.pcap", folder / "out.pcap")
    words += ["--first-epoch", clock.first_epoch]
    words += ["--window-ms", clock.window_ms] if clock.window_ms else []
    words += options
    argv = [str(word) for word in words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    end = events.pop()
    assert end["frames"] == len(frames)
    return Outcome(
        frames=read_pcap(folder / "out.pcap"),
        counters={name: count for name, count in end["counters"].items() if count},
        cells=sorted((row, column, count) for row, column, count in events.pop()["cells"]),
        reports=events,
        lost_reports=end["lost_reports"],
    )


def modelled(frames: Sequence[bytes], settings: Settings, clock: Clock) -> Outcome:
    """What the model makes of them."""
    model = HeavyHitters(settings)
    left = []
    for number, frame in enumerate(frames):
        epoch = clock.epoch(number)
        if epoch != model.epoch or not number:
            model.enter(epoch)
        if (leaving := model.process(frame)) is not None:
            left.append(leaving)
    reports = [
        {
            "event": "heavy_hitter",
            "epoch": epoch,
            "source": str(flow.src),
            "destination": str(flow.dst),
            "protocol": flow.proto,
            "source_port": flow.src_port,
            "destination_port": flow.dst_port,
        }
        for epoch, flow in model.reports
    ]
    return Outcome(left, dict(model.counters), sorted(model.sketch.counts()), reports)
