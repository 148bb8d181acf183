"""What SFCMon reported of a window, and how right it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfcperf.dataplane.nsh.frame import Reason
from sfcperf.dataplane.nsh.packet import unpadded
from sfcperf.sketches.iblt import Iblt
from sfcperf.sketches.listing import Listing, listing
from sfcperf.vnfs.sfcmon.settings import MOST_PACKETS, Sizes, Thresholds

METRICS = ("accuracy", "precision", "recall", "fpr")
"""Names of the scores, in the order of Fig. 3 of the paper."""


@dataclass(frozen=True)
class Source:
    """A source that was reported as a heavy hitter."""

    address: str
    spi: int
    si: int
    packets: int
    """Packets of the whole window, counted exactly."""
    is_heavy_hitter: bool
    """Whether it is one by the whole window."""


@dataclass(frozen=True)
class Score:
    """Reported sources against exact counts; a flow is a source (section 3.2 of the paper)."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def accuracy(self) -> float | None:
        """Share of the sources that were judged rightly; None if there are no sources."""
        right = self.true_positives + self.true_negatives
        return _share(right, self.false_positives + self.false_negatives)

    @property
    def precision(self) -> float | None:
        """Share of the reported sources that are heavy hitters; None if none was reported."""
        return _share(self.true_positives, self.false_positives)

    @property
    def recall(self) -> float | None:
        """Share of the heavy hitters that were reported; None if there are none."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def fpr(self) -> float | None:
        """Share of the other sources that were reported; None if there are none."""
        return _share(self.false_positives, self.true_negatives)

    def metrics(self) -> dict[str, float | None]:
        """The four shares above by name."""
        return {name: getattr(self, name) for name in METRICS}


def _share(part: int, rest: int) -> float | None:
    """Return the share of `part` in both together; None if both are 0."""
    return part / (part + rest) if part + rest else None


@dataclass(frozen=True)
class Window:
    """A window of a trace that has packets."""

    index: int
    """Number of the window, from 0 at the first packet of the trace; windows without packets have a
    number too."""
    begin_ns: int
    last_ns: int
    """Time of the latest packet."""
    packets: int
    """Packets that were monitored."""
    bytes: int
    """Bytes of their IP packets."""
    sources: int
    """Number of different sources."""
    unparsed: Mapping[str, int]
    """Frames that were not monitored, by reason."""
    thresholds: Thresholds
    """What packets were compared with in this window."""
    heavy_hitters: tuple[Source, ...]
    """Reported sources, those with most packets first."""
    score: Score
    registers: Mapping[str, Any]
    """Registers as in the golden vectors; `cms` and `bloom` only if they were requested."""
    sizes: Sizes

    @classmethod
    def read(cls, document: Mapping[str, Any], sizes: Sizes) -> Window:
        """Make a window from a line that `sfcmon-simulate` printed, parsed. `sizes`: those with
        which it ran."""
        names = (reason.name.lower() for reason in Reason)
        counts = ("true_positives", "false_positives", "false_negatives", "true_negatives")
        registers = ("packets", "unparsed", "cms", "bloom", "iblt")
        return cls(
            index=document["index"],
            begin_ns=document["begin_ns"],
            last_ns=document["last_ns"],
            packets=document["packets"],
            bytes=document["bytes"],
            sources=document["sources"],
            unparsed=dict(zip(names, document["unparsed"], strict=True)),
            thresholds=Thresholds(*document["thresholds"]),
            heavy_hitters=tuple(Source(*fields) for fields in document["heavy_hitters"]),
            score=Score(*(document[name] for name in counts)),
            registers={name: document[name] for name in registers if name in document},
            sizes=sizes,
        )

    def listing(self) -> Listing:
        """Return the flows that the IBLT lists."""
        iblt = Iblt(self.sizes.iblt)
        for place, count, key_sum, *sums in self.registers["iblt"]:
            iblt.cells.set(place, (count, int(key_sum, 16), *sums))
        # The number of packets stays at its maximum, but a flow's own counters go on and wrap.
        wrapped = self.packets == MOST_PACKETS
        return listing(iblt.shape, iblt.cells, unpadded, may_have_wrapped=wrapped)
