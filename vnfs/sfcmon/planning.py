"""Sizes of SFCMon for a traffic (section 2.1 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfcperf.dataplane.nsh.packet import KEY_BYTES
from sfcperf.sketches.bloom import bits_for, false_positive_rate
from sfcperf.sketches.count_min import columns_for, rows_for
from sfcperf.sketches.peeling import Success, cells_for, simulated, threshold
from sfcperf.vnfs.sfcmon.settings import COUNTER_BITS, MOST_BLOOM_HASHES, MOST_CMS_ROWS, Sizes

_IBLT_CELL_BYTES = KEY_BYTES + 4 + 4 + 4 + 8
"""Key, count, checksum, packets, bytes."""


@dataclass(frozen=True)
class Plan:
    """Sizes, and what was asked of them."""

    packets: int
    """Packets of a window."""
    flows: int
    """Flows that are reported in a window."""
    threshold: float
    """Share of the packets from which a source is a heavy hitter."""
    success: float
    """Least probability with which each structure is to work."""
    sizes: Sizes
    cms_epsilon: float
    """Estimates exceed the truth by at most this share of the packets, with `success`."""
    cms_error_packets: float
    """The same error as a number of packets."""
    cms_saturates: bool
    """Whether a source at the threshold can reach the largest number of a counter."""
    bloom_false_positive_rate: float
    """Rate of the Bloom filter's false positives at the end of a window."""
    iblt_threshold: float
    """C_K of Theorem 1: fewer cells per flow never do for many flows."""
    listing: Success
    """Simulated tables of this size."""
    paper_cells: int
    """What Theorem 1 alone gives: C_K times the flows, rounded up as in the paper."""
    paper_listing: Success
    """Simulated tables of that size."""
    memory_bytes: int
    """Memory of one bank."""


def planned(packets: int, flows: int, share: float, success: float, *, seed: int) -> Plan:
    """Plan sizes for windows of so many packets, in which so many flows are reported.

    `share`: from this share of the packets a source is a heavy hitter. `success`: probability with
    which an estimate is good enough, no flow is taken for a stored one, and all flows are listed,
    each by itself. `seed`: of the simulated tables.
    """
    # Heavy hitters are the sources with 1/k of the packets; epsilon is 1/(2k) (Roughgarden and
    # Valiant 2015, which the paper follows).
    epsilon = share / 2
    # The number of hash functions that needs the fewest bits. One alone never does.
    hashes, bits = min(
        (
            (hashes, bits_for(flows, hashes, 1 - success))
            for hashes in range(2, MOST_BLOOM_HASHES + 1)
        ),
        key=lambda one: one[1],
    )
    cells, listing = cells_for(flows, Sizes.iblt_hashes, success, seed)
    c_k = threshold(Sizes.iblt_hashes)
    paper_cells = max(Sizes.iblt_hashes, math.ceil(c_k * flows))
    sizes = Sizes(
        cms_rows=min(MOST_CMS_ROWS, rows_for(1 - success)),
        cms_columns=columns_for(epsilon),
        bloom_bits=bits,
        bloom_hashes=hashes,
        iblt_cells=cells,
    )
    return Plan(
        packets,
        flows,
        share,
        success,
        sizes,
        cms_epsilon=epsilon,
        cms_error_packets=epsilon * packets,
        cms_saturates=share * packets >= 1 << COUNTER_BITS,
        bloom_false_positive_rate=false_positive_rate(bits, hashes, flows),
        iblt_threshold=c_k,
        listing=listing,
        paper_cells=paper_cells,
        paper_listing=simulated(flows, paper_cells, Sizes.iblt_hashes, listing.tables, seed),
        memory_bytes=memory_bytes(sizes),
    )


def memory_bytes(sizes: Sizes) -> int:
    """Memory of one bank with these sizes. A counter of the CMS takes 3 bytes, as in the paper."""
    cms = sizes.cms_rows * sizes.cms_columns * COUNTER_BITS // 8
    return cms + -(-sizes.bloom_bits // 8) + sizes.iblt_cells * _IBLT_CELL_BYTES
