"""The reference model: SFCMon packet by packet, to be read beside docs/reference/sfcmon.md.

It is slow. The simulator (vnfs/sfcmon/simulator) does the same for traces of any length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.dataplane.nsh.frame import Reason, Unparsed, parse
from sfcperf.dataplane.nsh.packet import KEY_BYTES, Packet, unpadded
from sfcperf.sketches.bloom import BloomFilter
from sfcperf.sketches.count_min import CountMin
from sfcperf.sketches.iblt import Iblt
from sfcperf.sketches.listing import Listing, listing
from sfcperf.vnfs.sfcmon.settings import (
    BLOOM_SEED,
    CMS_SEED,
    COUNTER_BITS,
    MOST_PACKETS,
    Sizes,
    Thresholds,
)


class Bank:
    """The registers of one bank, and what a packet does to them."""

    def __init__(self, sizes: Sizes | None = None, thresholds: Thresholds | None = None) -> None:
        """Make an empty bank, with the reference configuration where None is given."""
        sizes = sizes or Sizes()
        self.thresholds = thresholds or Thresholds()
        self.packets = 0
        self.unparsed = [0] * len(Reason)
        self.cms = CountMin(sizes.cms_rows, sizes.cms_columns, COUNTER_BITS, CMS_SEED)
        self.bloom = BloomFilter(sizes.bloom_bits, sizes.bloom_hashes, BLOOM_SEED)
        self.iblt = Iblt(sizes.iblt)

    def receive(self, frame: bytes) -> bool:
        """Process a frame. Returns whether it belongs to a heavy hitter; False for a frame that
        cannot be parsed."""
        try:
            packet = parse(frame)
        except Unparsed as unparsed:
            self.count_unparsed(unparsed.reason)
            return False
        return self.process(packet)

    def count_unparsed(self, reason: Reason) -> None:
        """Count a frame that is not monitored."""
        self.unparsed[reason] = min(self.unparsed[reason] + 1, MOST_PACKETS)

    def process(self, packet: Packet) -> bool:
        """Process a packet by algorithm 1 of the paper. Returns whether it belongs to a heavy
        hitter."""
        self.packets = min(self.packets + 1, MOST_PACKETS)
        estimate = self.cms.add(packet.flow.flow_id_1)
        if not self._is_heavy(estimate):
            return False
        key = packet.flow.flow_id_2
        if not self.bloom.add(key):
            self.iblt.insert(key)
        self.iblt.update(key, packet.size_bytes)
        return True

    def _is_heavy(self, estimate: int) -> bool:
        """Whether a source with this estimate is a heavy hitter now: enough packets were seen to
        judge it, and it meets both thresholds. `share` is in units of 2^-32."""
        limits = self.thresholds
        return (
            self.packets >= limits.eval
            and estimate >= limits.packets
            and estimate << 32 >= limits.share * self.packets
        )

    def listing(self) -> Listing:
        """Return the flows that the IBLT lists."""
        # The number of packets stays at its maximum, but a flow's own counters go on and wrap.
        wrapped = self.packets == MOST_PACKETS
        return listing(self.iblt.shape, self.iblt.cells, unpadded, may_have_wrapped=wrapped)

    def registers(self) -> dict[str, Any]:
        """Return all registers, sparsely, as the golden vectors have them."""
        return {
            "packets": self.packets,
            "unparsed": list(self.unparsed),
            "cms": [
                [row, column, value]
                for row, cells in enumerate(self.cms.cells)
                for column, value in enumerate(cells)
                if value
            ],
            "bloom": sorted(self.bloom.set_bits),
            "iblt": [
                [place, count, _hex(key_sum), *sums]
                for place, (count, key_sum, *sums) in enumerate(self.iblt.cells.rows())
                if count or key_sum or any(sums)
            ],
        }

    def load(self, registers: Mapping[str, Any]) -> None:
        """Set all registers to what `registers` gave."""
        self.packets = registers["packets"]
        self.unparsed = list(registers["unparsed"])
        for cells in self.cms.cells:
            cells[:] = [0] * len(cells)
        for row, column, value in registers["cms"]:
            self.cms.cells[row][column] = value
        self.bloom.set_bits = set(registers["bloom"])
        self.iblt = Iblt(self.iblt.shape)
        for place, count, key_sum, *sums in registers["iblt"]:
            self.iblt.cells.set(place, (count, int(key_sum, 16), *sums))


def _hex(key_sum: int) -> str:
    """Return the key field of a cell in hexadecimal, all 44 bytes."""
    return key_sum.to_bytes(KEY_BYTES, "big").hex()
