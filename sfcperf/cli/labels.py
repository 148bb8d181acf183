"""Runs from the command line, each with its label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf.cli.inputs import open_run
from sfcperf.errors import InputError

if TYPE_CHECKING:
    from sfcperf.figures import RunData


def open_runs(names: Sequence[str], results: Path, labels: Sequence[str] | None) -> list[RunData]:
    """Open run folders; `labels` are `A=text` or `RUN-ID=text`. Raises InputError."""
    from sfcperf.figures import label_runs

    given = {}
    for entry in labels or ():
        key, equals, text = entry.partition("=")
        if not equals or not text.strip():
            raise InputError(
                f"{entry!r} is not a label", where="--label", allowed="A=text, RUN-ID=text"
            )
        given[key.strip()] = text.strip()
    return label_runs([open_run(name, results) for name in names], given)
