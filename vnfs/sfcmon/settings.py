"""Sizes and thresholds of SFCMon."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sfcperf.dataplane.nsh.packet import KEY_BYTES
from sfcperf.sketches.iblt import Shape

CMS_SEED, BLOOM_SEED, IBLT_SEED, CHECKSUM_SEED = 1, 9, 16, 22
"""First seed of each structure: with the largest ones, all 22 seeds of the paper are used once."""
MOST_CMS_ROWS = BLOOM_SEED - CMS_SEED
MOST_BLOOM_HASHES = IBLT_SEED - BLOOM_SEED
MOST_IBLT_HASHES = CHECKSUM_SEED - IBLT_SEED
COUNTER_BITS = 24
"""Bits of a counter of the CMS (section 3.2 of the paper: 3 bytes)."""
MOST_PACKETS = 2**32 - 1
"""Largest value of a bank's counters of packets, which stay there. A flow's own counters may have
wrapped then."""
_MOST_CELLS = 1 << 28
LIMITS = {
    "cms_rows": (1, MOST_CMS_ROWS),
    "cms_columns": (1, _MOST_CELLS),
    "bloom_bits": (1, _MOST_CELLS),
    "bloom_hashes": (1, MOST_BLOOM_HASHES),
    "iblt_cells": (MOST_IBLT_HASHES, _MOST_CELLS),
    "iblt_hashes": (1, MOST_IBLT_HASHES),
}
"""Least and most of each size."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the structures; the defaults are the reference configuration."""

    cms_rows: int = 5
    cms_columns: int = 5437
    bloom_bits: int = 16384
    bloom_hashes: int = 4
    iblt_cells: int = 300
    iblt_hashes: int = 3

    @property
    def iblt(self) -> Shape:
        """The IBLT's sizes and seeds."""
        return Shape(self.iblt_cells, self.iblt_hashes, KEY_BYTES, IBLT_SEED, CHECKSUM_SEED)


@dataclass(frozen=True)
class Thresholds:
    """When the packet of a source belongs to a heavy hitter: if all three are met. Values are those
    of the registers."""

    eval: int = 1000
    """Threshold_Eval: packets of a window before which none belongs to a heavy hitter."""
    share: int = math.floor(0.001 * 2**32)
    """Least share of the packets so far, in units of 2^-32."""
    packets: int = 0
    """Least number of packets of the source."""

    def adapted(self, packets: int, inserted: int, target: int) -> Thresholds:
        """Return the thresholds of the next window, which is to report about `target` flows (above
        0). `packets` were monitored in this window, and `inserted` flows stored. See
        docs/reference/sfcmon.md, "Adaptive threshold"; thresholds.h does the same in C."""
        if self.share:
            # The first window has a share: go on with the packets that it came to.
            least = self.share * packets >> 32
        else:
            # One odd window must not undo many: the threshold changes by a factor of 4 at most.
            limits = (self.packets // 4, 4 * self.packets)
            least = min(max(self.packets * inserted // target, limits[0]), limits[1])
        return replace(self, share=0, packets=min(max(least, 1), MOST_PACKETS))


def share_register(fraction: float) -> int:
    """Return a share, 0 to below 1, as the register holds it: in units of 2^-32, rounded down."""
    return math.floor(fraction * 2**32)
