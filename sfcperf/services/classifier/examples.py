"""Examples: records of a trace whose label is known, in two parts: one trains, one tests.

The chain's windows begin at other times than those of the capture. So the records that train come
from overlapping windows, which show each flow at several places in a window.

Lengths that train are rounded to the middle of a step, so that a tree divides them only at
multiples of the step. Otherwise it would learn the length of a name, which is no property of an
attack: the requests of an HTTP flood are a byte longer if the server's address has another digit.
Times are rounded for the same reason: a chain delays packets by some milliseconds, each by another
time.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfcperf.dataplane import binaries
from sfcperf.errors import InputError
from sfcperf.packets.five_tuple import Flow
from sfcperf.packets.left_out import LeftOutCounts
from sfcperf.packets.pcap_file import frames
from sfcperf.services.classifier import records
from sfcperf.services.classifier.features import EARLY, FEATURES, seen
from sfcperf.services.classifier.records import Record
from sfcperf.traffic.labels import Labels
from sfcperf.traffic.split import trains
from sfcperf.vnfs.ids.features import COLUMNS
from sfcperf.vnfs.ids.function import BINARY

OVERLAP = 8
"""In how many windows a packet is, if the window is long enough for so many panes."""
_SHORTEST_PANE_MS = 100
LENGTH_STEP = 8
"""Step to which lengths that train are rounded, bytes."""
TIME_STEP_US = 20_000
"""Step to which times that train are rounded, microseconds."""
_LENGTHS = [
    FEATURES.index(column.name)
    for column in COLUMNS
    if column.unit == "bytes" and not column.name.endswith("hlen")
]
"""Places, in the features, of lengths of packets and of their sums; header lengths are left out."""
_TIMES = [FEATURES.index(column.name) for column in COLUMNS if column.unit == "µs"]
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Extraction:
    """Parameters by which the chain's IDS makes records of flows. Times are in milliseconds.

    Time is divided into panes of equal length. A window consists of whole panes, and one begins
    with each pane; if windows do not overlap, a pane is a window."""

    window_ms: int
    slide_ms: int
    """Time from the start of a window to that of the next, which is the length of a pane; 0: that
    of the window, so that windows do not overlap."""
    early_packets: int
    """Packets after which a flow gets an early record, before its window ends; 0: no early records
    at all, whatever `early_flows`."""
    early_flows: int
    """When a client has begun this many flows in one pane that have no early record yet, all of
    them get one at once; 0: flows get early records only by `early_packets`."""

    @property
    def overlapping(self) -> Extraction:
        """The same parameters, with panes so short that each packet is in OVERLAP windows.

        Panes are whole milliseconds, and at least _SHORTEST_PANE_MS: a packet is in fewer windows
        if the window cannot be divided so. If it cannot be divided at all, or its panes are as
        short already, nothing changes."""
        pane_ms = next(
            (
                self.window_ms // parts
                for parts in range(OVERLAP, 1, -1)
                if self.window_ms % parts == 0 and self.window_ms // parts >= _SHORTEST_PANE_MS
            ),
            0,
        )
        if 0 < self.slide_ms <= pane_ms:
            return self
        return replace(self, slide_ms=pane_ms or self.slide_ms)


@dataclass(frozen=True)
class Examples:
    """Records whose label is known."""

    features: NDArray[np.int64]
    """A row for each record, the columns being `features.FEATURES`."""
    labels: NDArray[np.str_]
    """Label of each record: `benign`, or the kind of the attack."""

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each record. All labels weigh the same together, so attacks of few flows are
        not outvoted by floods. The mean is 1."""
        kinds, places, counts = np.unique(self.labels, return_inverse=True, return_counts=True)
        weights: NDArray[np.float64] = (len(self.labels) / (len(kinds) * counts))[places]
        return weights


def joined(found: Sequence[Examples]) -> Examples:
    """Join several sets of examples, at least one, into one set."""
    return Examples(
        np.concatenate([each.features for each in found]),
        np.concatenate([each.labels for each in found]),
    )


@dataclass
class CapturedFrames:
    """The frames of a capture, as the IDS counts them."""

    number: int = 0
    left_out: LeftOutCounts = field(default_factory=LeftOutCounts)
    """Frames that are in no record, by reason."""


@dataclass(frozen=True)
class ExampleSplit:
    """The examples of a trace, split by flow into those that train and those that test."""

    training: Examples
    test: Examples
    """Examples of flows that do not train, in windows as the chain has them."""
    captured: CapturedFrames
    """The counted frames of the trace."""


def extracted(
    pcap: Path, how: Extraction, captured: CapturedFrames | None = None
) -> Iterator[Record]:
    """Yield the records that the IDS makes of a capture. At the end, the counts of its frames are
    added to `captured`. Raises InputError for a file that is no capture or is damaged."""
    command = [str(binaries.find(BINARY)), "--pcap", str(pcap)]
    command += ["--window-ms", str(how.window_ms), "--early-packets", str(how.early_packets)]
    command += ["--early-flows", str(how.early_flows)]
    if how.slide_ms:
        command += ["--slide-ms", str(how.slide_ms)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env={}) as process:
        assert process.stdout is not None and process.stderr is not None
        yield from map(records.parse, process.stdout)
        complaint = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise InputError(f"no records can be made of the capture: {complaint}", where=str(pcap))
    if captured is not None:
        # The last line on stderr has the counts of frames.
        end = json.loads(complaint.splitlines()[-1])
        captured.number = end["frames"]
        captured.left_out |= end["left_out"]


def parts(pcap: Path, labels: Labels, how: Extraction, seed: int, share: float) -> ExampleSplit:
    """Make the examples of a trace. `share` (0 to 1) of its flows train, the others test; `seed`
    decides which. With a share of 1, no example tests. Raises InputError for damaged files."""
    start_ns = next((time_ns for time_ns, _ in frames(pcap)), 0)
    training, captured = _Collected(labels, start_ns), CapturedFrames()
    for record in _that_train(pcap, how, captured):
        flow = flow_of(record)
        if trains(flow, seed, share):
            training.add(record, flow)
    test = _Collected(labels, start_ns)
    for record in extracted(pcap, how) if share < 1 else ():
        flow = flow_of(record)
        if not trains(flow, seed, share):
            test.add(record, flow)
    return ExampleSplit(_rounded(training.examples()), test.examples(), captured)


def _that_train(pcap: Path, how: Extraction, captured: CapturedFrames) -> Iterator[Record]:
    """Yield the records of overlapping windows. With `early_flows`, a flow of a burst has its early
    record before it has `early_packets`. Alone, the flow would have had another early record, which
    is yielded as an example as well."""
    yield from extracted(pcap, how.overlapping, captured)
    if how.early_flows:
        alone = extracted(pcap, replace(how, early_flows=0))
        yield from (record for record in alone if record.kind == EARLY)


def _rounded(found: Examples) -> Examples:
    """Round lengths and times to the middle of their step. A tree divides half-way between two
    neighbouring values: with these whole numbers, that is at the last value of a step."""
    features = found.features.copy()
    for places, step in ((_LENGTHS, LENGTH_STEP), (_TIMES, TIME_STEP_US)):
        features[:, places] -= features[:, places] % step - (step // 2 - 1)
    return Examples(features, found.labels)


def flow_of(record: Record) -> Flow:
    """The 5-tuple of a record's flow; its source is the client."""
    # The first five columns, in the order of the fields of `Flow`.
    columns = record.features
    return Flow(columns[0], columns[1], columns[2], columns[3], columns[4])


class _Collected:
    """Collects the records of a trace that have a label. Call `add` for each record, then
    `examples`."""

    def __init__(self, labels: Labels, start_ns: int) -> None:
        """`start_ns`: time of the trace's first frame, from which times of labels count."""
        self._labels = labels
        self._start_ns = start_ns
        self._features: list[list[int]] = []
        self._found: list[str] = []

    def add(self, record: Record, flow: Flow) -> None:
        """Add a record if its first and its last packet have the same label: the time of a label
        may begin or end between them."""
        label = self._label(flow, record.first_ns)
        if label is not None and label == self._label(flow, record.last_ns):
            self._features.append(seen(record.kind, record.features))
            self._found.append(label)

    def _label(self, flow: Flow, time_ns: int) -> str | None:
        """Label of a flow at a time; None if no label says anything of it."""
        return self._labels.of(flow, (time_ns - self._start_ns) / _NS_PER_S)

    def examples(self) -> Examples:
        features = np.array(self._features, dtype=np.int64).reshape(-1, len(FEATURES))
        return Examples(features, np.array(self._found, dtype=np.str_))
