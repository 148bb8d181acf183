"""Standard streams on which text cannot act: control characters are written as JSON escapes.

What SFCPerf prints may quote files of others. A terminal would obey the escape sequences in them,
and text that runs backwards hides what is printed. Instead, an ESC is shown as `\\u001b`, which
keeps JSON valid. The wrapper is around the streams themselves, so that no verb can forget it; only
`console` writes past it, since its colours are ours, and escapes the text itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_LINES = "\n\t"
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - set(map(ord, _LINES))
_DIRECTIONS = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SEPARATORS = {0x2028, 0x2029}
_SURROGATES = range(0xD800, 0xE000)
_ESCAPES = {
    code: f"\\u{code:04x}" for code in {*_CONTROLS, *_DIRECTIONS, *_SEPARATORS, *_SURROGATES}
}


def escaped(text: str) -> str:
    """Escape characters in a text that act on a terminal; newlines and tabs stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Make stdout and stderr escape what is written to them, as long as the context lasts."""
    sys.stdout, sys.stderr = escaping(sys.stdout), escaping(sys.stderr)
    try:
        yield
    finally:
        # Not simply the old ones: somebody may have replaced a stream meanwhile.
        sys.stdout, sys.stderr = plain(sys.stdout), plain(sys.stderr)


def escaping(stream: TextIO) -> TextIO:
    """Return a stream that escapes what is written to it, and writes it to `stream`."""
    return cast(TextIO, _Escaping(stream))


def plain(stream: TextIO) -> TextIO:
    """Return the stream below an escaping one, for text that is escaped already. Another stream is
    returned as it is."""
    return stream.stream if isinstance(stream, _Escaping) else stream


class _Escaping:
    """Escapes what is written to it. Everything else goes to the stream below."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
