"""Mutated inputs for parsers, and what holds for every one of them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from support.tiers import examples

LIMIT_S = 5.0
"""Of CPU time, for one input."""
LIMIT_MIB = 512
FUZZED_FOR_S = 100.0
"""Of CPU time: a test stops then, however many inputs it has tried."""


SEEDS = st.integers(0, 2**63)
"""Of `mutated`: to draw each change from Hypothesis would take longer than most parsers."""


def mutated(seed: int, sound: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """A sound input with a few changes: parts left out, repeated up to 2,000 times, or replaced by
    words of its language, by parts of another input, or by any bytes."""
    random = Random(seed)
    content = random.choice(sound)
    for _ in range(random.randint(1, 6)):
        start = random.randint(0, len(content))
        end = start + random.choice((0, 0, 1, 4, 40))
        other = random.choice(sound)
        begin = random.randint(0, len(other))
        new = random.choice(
            (
                random.choice(words),
                random.choice(words),
                random.randbytes(random.randint(0, 8)),
                b"",
                other[begin : begin + random.randint(0, 200)],
            )
        )
        if random.random() < 0.1:
            new = (new or content[start:end]) * random.choice((2, 50, 2000))
        content = content[:start] + new + content[end:]
    return content[: 1 << 20]


class Watch:
    """Calls a parser with one input after the other, within limits of time and memory."""

    def __init__(self, *expected: type[Exception]) -> None:
        self._expected = expected
        self._began = time.process_time()
        self._base_kib = _peak_kib()

    def call(self, parse: Callable[[], object]) -> None:
        """Any other exception than those expected fails the test."""
        began = time.process_time()
        if began - self._began > FUZZED_FOR_S:
            return
        with suppress(*self._expected):
            parse()
        took = time.process_time() - began
        assert took < LIMIT_S, f"{took:.1f} s"
        grown = (_peak_kib() - self._base_kib) / 1024
        assert grown < LIMIT_MIB, f"{grown:.0f} MiB"


def fuzz(
    parse: Callable[[bytes], object],
    sound: Sequence[bytes],
    words: Sequence[bytes],
    *expected: type[Exception],
    count: int,
) -> None:
    """Watch a parser with so many mutated inputs, which may raise what is expected."""
    watch = Watch(*expected)

    @examples(count)
    @given(SEEDS)
    def check(seed: int) -> None:
        content = mutated(seed, sound, words)
        watch.call(lambda: parse(content))

    check()


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
