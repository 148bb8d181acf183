"""What a row of benchmarks/analysis/truth.py came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judged:
    """One row, as it is printed."""

    word: str
    """`holds` or `FAILS`; another word where nothing is promised."""
    text: str
    name: str

    @property
    def line(self) -> str:
        """The row."""
        return f"{self.word:7}{self.text:50}{self.name}"


def verdict(holds: bool) -> str:
    """The word of a row that promises something."""
    return "holds" if holds else "FAILS"
