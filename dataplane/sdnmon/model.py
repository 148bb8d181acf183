"""The reference model of SDN-Mon: keyed hash, sampling, table (docs/reference/sdn-mon.md)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sfcperf.dataplane.sdnmon.fields import Layout
from sfcperf.dataplane.sdnmon.frame import MalformedError, read

RATIO_ONE = 1 << 32
"""The ratio 1: ratios are compared in units of 2^-32."""
_MOST = (1 << 64) - 1


def hash_keys(secret: int, count: int) -> list[int]:
    """Return the first `count` numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) that
    starts with `secret`."""
    keys = []
    for _ in range(count):
        secret = (secret + 0x9E3779B97F4A7C15) & _MOST
        mixed = (secret ^ secret >> 30) * 0xBF58476D1CE4E5B9 & _MOST
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MOST
        keys.append(mixed ^ mixed >> 31)
    return keys


def hash64(key: bytes, secret: int) -> int:
    """Return the hash of a key: MULTILINEAR (Lemire and Kaser, The Computer Journal 57(11),
    2014) of its words, then the finalizer of MurmurHash3."""
    words = [int.from_bytes(key[at : at + 4], "little") for at in range(0, len(key), 4)]
    first, *keys = hash_keys(secret, len(words) + 1)
    total = first + sum(word * each for word, each in zip(words, keys, strict=True)) & _MOST
    total = (total ^ total >> 33) * 0xFF51AFD7ED558CCD & _MOST
    total = (total ^ total >> 33) * 0xC4CEB9FE1A85EC53 & _MOST
    return total ^ total >> 33


def is_sampled(key: bytes, secret: int, ratio: float) -> bool:
    """Say whether the mode `hash` samples the flow with this key."""
    return hash64(key, secret) >> 32 < int(ratio * RATIO_ONE + 0.5)


@dataclass
class Entry:
    """Counts of a flow, altogether and by epoch."""

    packets: int = 0
    bytes: int = 0
    added: bool = False
    """Whether the controller added it, so that sampling does not matter."""
    by_epoch: Counter[int] = field(default_factory=Counter)
    """Epoch -> packets."""


@dataclass
class Monitor:
    """The model of a monitored switch in the mode `hash`."""

    layout: Layout
    secret: int
    ratio: float = 1.0
    limit: int = 131072
    """Most entries of the table."""
    table: dict[bytes, Entry] = field(default_factory=dict)
    """Key of a flow -> its entry."""
    excluded: set[bytes] = field(default_factory=set)
    """Keys of flows that were removed."""
    totals: Counter[str] = field(default_factory=Counter)
    """Name of a total -> packets that it counts."""

    def receive(self, frame: bytes, epoch: int = 1) -> None:
        """Receive a frame that is one packet, and count it. `epoch` is that of now."""
        self.totals["received"] += 1
        try:
            key = read(frame, self.layout)
        except MalformedError as problem:
            self.totals[str(problem)] += 1
            return
        total = self._verdict(key)
        self.totals[total] += 1
        if total == "monitored":
            entry = self.table.setdefault(key, Entry())
            entry.packets += 1
            entry.bytes += len(frame)
            entry.by_epoch[epoch] += 1

    def _verdict(self, key: bytes) -> str:
        """Return the name of the total that counts a packet with this key."""
        entry = self.table.get(key)
        if not is_sampled(key, self.secret, self.ratio):
            return "monitored" if entry and entry.added else "unsampled"
        if entry:
            return "monitored"
        if key in self.excluded:
            return "excluded"
        return "monitored" if len(self.table) < self.limit else "overflowed"

    def add(self, key: bytes) -> None:
        """Monitor a flow, whatever sampling says, also after it was removed. Nothing happens if the
        flow has no entry and the table is full."""
        if key in self.table or len(self.table) < self.limit:
            self.table.setdefault(key, Entry()).added = True
            self.excluded.discard(key)

    def remove(self, key: bytes) -> None:
        """Stop monitoring a flow. It gets no entry by itself, even if it is sampled."""
        self.table.pop(key, None)
        self.excluded.add(key)

    def prune(self) -> None:
        """Remove entries that are no longer sampled."""
        for key, entry in list(self.table.items()):
            if not entry.added and not is_sampled(key, self.secret, self.ratio):
                del self.table[key]


def counts(monitor: Monitor) -> dict[bytes, tuple[int, int]]:
    """Return packets and bytes of each entry of the table, by key."""
    return {key: (entry.packets, entry.bytes) for key, entry in monitor.table.items()}
