"""Heavy-tailed traces like those of the backbone link in the paper, which cannot be shipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import pack
from typing import Any

import numpy as np

_MAGIC_NS = 0xA1B23C4D
_LINKTYPE_RAW = 101
_CAPTURED = 28
"""Bytes kept of each packet: an IPv4 header, ports, and what UDP has besides."""
_CHUNK_S = 0.1
_CHUNKS_PER_MINUTE = 600
_NS_PER_S = 1_000_000_000
_MINUTE_S = 60
_ON_SHAPE = 1.2
"""Shape of the Pareto distribution of the periods. Between 1 and 2, lengths have a mean, but no
variance. The value within is ours."""
_MOST_SHARE = 0.1
"""A source that would send more than this share of all packets while it is on is on for longer."""
FLOWS_PER_SOURCE = 8
"""5-tuples of a source, at most; each gets half as many packets as the one before."""
_SIZES = (40, 576, 1500)
_SIZE_SHARES = (0.5, 0.15, 0.35)
"""The well-known peaks: acknowledgements, old minimum MTU, full packets."""

_RECORD = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("captured", "<u4"),
        ("length", "<u4"),
        ("version", "u1"),
        ("tos", "u1"),
        ("total", ">u2"),
        ("id", ">u2"),
        ("fragment", ">u2"),
        ("ttl", "u1"),
        ("proto", "u1"),
        ("checksum", ">u2"),
        ("src", ">u4"),
        ("dst", ">u4"),
        ("src_port", ">u2"),
        ("dst_port", ">u2"),
        ("rest", ">u4"),
    ]
)
assert _RECORD.itemsize == 16 + _CAPTURED


@dataclass(frozen=True)
class _Sources:
    """The sources of one minute, in arrays with a value for each."""

    begin_s: Any
    """When the period of each begins, from the begin of the minute."""
    on_s: Any
    rate: Any
    """Rate of each while it is on, as a share of the mean rate of all."""

    def rates(self, at_s: float) -> Any:
        """Return the rate of each source at some time of the minute: 0 while it is off."""
        return self.rate * ((at_s - self.begin_s) % _MINUTE_S < self.on_s)


@dataclass(frozen=True)
class SyntheticTrace:
    """A trace of IPv4 packets, made in pieces of 0.1 s. The same values give the same bytes.

    Source i (from 1) gets a share of the packets that is proportional to i ** -`zipf_exponent`.
    Each minute has other sources: 30 minutes of the paper's trace have 7 million.

    Sources are on-off sources (Willinger et al. 1997): each is on for one period of its minute, in
    which it sends evenly, and which may go on at the minute's begin. Periods begin at any time and
    last a minute at most. Their lengths are heavy-tailed, as in the Web (Crovella and Bestavros
    1997): they have a Pareto distribution.
    """

    seed: int
    duration_s: float
    packets_per_minute: int = 10_000_000
    sources: int = 230_000
    """Sources of each minute, at most: rare ones may not send."""
    zipf_exponent: float = 0.9
    """How unequal the shares are. With 230,000 sources, 0.9 gives 64 % of the packets to 5 % of
    them, 72 % to 10 %."""
    on_s: float = 10.0
    """Least time that a source is on, seconds. 60: all of them send evenly all the time. With 10,
    SFCMon reports about 200 sources in windows of 20 s, as in section 3.3 of the paper."""

    def pcap(self) -> Iterator[bytes]:
        """Yield the trace as a pcap file, in pieces: raw IP, time stamps in nanoseconds from 0 on,
        the first 28 bytes of each packet."""
        yield pack("<IHHIIII", _MAGIC_NS, 2, 4, 0, 0, 65535, _LINKTYPE_RAW)
        # An error of rounding must not add a chunk.
        chunks = int(np.ceil(self.duration_s / _CHUNK_S - 1e-9))
        for chunk in range(chunks):
            begin_s = chunk * _CHUNK_S
            length_s = min(_CHUNK_S, self.duration_s - begin_s)
            if chunk % _CHUNKS_PER_MINUTE == 0:
                sources = self._sources(chunk // _CHUNKS_PER_MINUTE)
            # Rates are taken as constant during a chunk: those of its middle. The last value is the
            # rate of all sources.
            shares = np.cumsum(sources.rates((begin_s + length_s / 2) % _MINUTE_S))
            rng = np.random.default_rng([self.seed, chunk])
            count = int(rng.poisson(self.packets_per_minute / 60 * length_s * shares[-1]))
            if count:
                yield self._packets(rng, count, shares / shares[-1], begin_s, length_s).tobytes()

    def _sources(self, minute: int) -> _Sources:
        """Draw the sources of a minute. Each gets its share of the packets, however long it is on:
        the shorter, the higher its rate."""
        shares = np.arange(1, self.sources + 1, dtype=float) ** -self.zipf_exponent
        shares /= shares.sum()
        # The seed has three numbers, and those of chunks have two: no chunk has the same random
        # numbers.
        rng = np.random.default_rng([self.seed, minute, 1])
        begin_s = rng.random(self.sources) * _MINUTE_S
        # Pareto distribution, by inversion. The random numbers are below 1.
        on_s = self.on_s * (1 - rng.random(self.sources)) ** (-1 / _ON_SHAPE)
        on_s = np.minimum(np.maximum(on_s, shares / _MOST_SHARE * _MINUTE_S), _MINUTE_S)
        return _Sources(begin_s, on_s, shares * _MINUTE_S / on_s)

    def _packets(
        self, rng: np.random.Generator, count: int, shares: Any, begin_s: float, length_s: float
    ) -> Any:
        """Draw `count` packets of a piece, and return them as an array of _RECORD. `shares`:
        cumulated shares of the sources, by which each packet gets its source."""
        packets = np.zeros(count, _RECORD)
        begin_ns = round(begin_s * _NS_PER_S)
        ts_ns = begin_ns + np.sort(rng.integers(0, max(1, round(length_s * _NS_PER_S)), count))
        packets["seconds"], packets["nanoseconds"] = np.divmod(ts_ns, _NS_PER_S)
        packets["captured"] = _CAPTURED
        rank = np.searchsorted(shares, rng.random(count))
        flow = np.minimum(rng.geometric(0.5, count), FLOWS_PER_SOURCE) - 1
        # The minute is put above the rank, so that each minute has other sources.
        source = _mixed(rank + (int(begin_s // _MINUTE_S) << 24), self.seed)
        tuples = _mixed(source.astype(np.uint64) * FLOWS_PER_SOURCE + flow, self.seed + 1)
        size = rng.choice(_SIZES, count, p=_SIZE_SHARES)
        packets["length"] = packets["total"] = size
        packets["version"], packets["ttl"] = 0x45, 64
        packets["proto"] = np.where(tuples & 7, 6, 17)
        packets["src"] = (1 << 24) + source % np.uint32(222 << 24)  # unicast
        packets["dst"] = _mixed(tuples, self.seed + 2)
        packets["src_port"] = 1024 + tuples % 60000
        packets["dst_port"] = np.where(tuples & 8, 443, 53)
        return packets


def _mixed(number: Any, seed: int) -> Any:
    """Return 32 bits that look random for each number, the same for the same number and seed: the
    upper half of what the finalizer of SplitMix64 gives."""
    z = number.astype(np.uint64) + np.uint64(((seed + 1) * 0x9E3779B97F4A7C15) % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z >> np.uint64(32)).astype(np.uint32)
