"""Progress and results of sending runs to a server, as the user sees them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sfcperf.elasticsearch.send import SendCounts
from sfcperf.elasticsearch.target import Target
from sfcperf.elasticsearch.verify import Findings

SHOWN = 5
"""Largest number of ids that a finding names."""


@contextmanager
def sending_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar for each data stream, on a terminal only. Yields the function that is called with
    the stream, the number of documents sent, and their total number."""
    if not sys.stderr.isatty():
        yield lambda _stream, _done, _total: None
        return
    from rich.progress import Progress

    from sfcperf.cli.terminal.console import progress_console

    with Progress(console=progress_console(), transient=True) as progress:
        tasks: dict[str, int] = {}

        def show(stream: str, done: int, total: int) -> None:
            if stream not in tasks:
                tasks[stream] = progress.add_task(stream, total=total)
            progress.update(tasks[stream], completed=done)  # type: ignore[arg-type]

        yield show


def show_sent(run_id: str, target: Target, sent: Mapping[str, SendCounts]) -> None:
    """Print how many documents each stream has, such as `sfcperf-trials  143 documents: 140 new, 3
    already there`."""
    print(f"{run_id} -> {target.name}")
    width = max(map(len, sent))
    for stream, counts in sent.items():
        kinds = {"new": counts.new, "changed": counts.changed, "already there": counts.there}
        parts = [f"{number} {kind}" for kind, number in kinds.items() if number]
        print(f"  {stream:{width}}  {counts.total:>8} documents: {', '.join(parts) or 'none'}")


def show_findings(run_id: str, target: Target, findings: Sequence[Findings]) -> None:
    """Print for each stream whether all documents are there once, and the first ids of those that
    differ."""
    print(f"{run_id} -> {target.name}")
    width = max(len(found.stream) for found in findings)
    for found in findings:
        verdict = "all there, once" if found.good else "DIFFERS"
        print(f"  {found.stream:{width}}  {found.found:>8} of {found.expected}: {verdict}")
        for what in ("missing", "extra", "twice", "changed"):
            ids: tuple[str, ...] = getattr(found, what)
            if ids:
                more = f", and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
                print(f"    {len(ids)} {what}: {', '.join(ids[:SHOWN])}{more}")
    if not all(found.good for found in findings):
        print("  `sfcperf index` repairs missing, changed and duplicate documents; extra ones stay")
