"""How `sfcperf sfcmon` prints its results."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sfcperf.counts import count_text
from sfcperf.dataplane.nsh.packet import Flow, text
from sfcperf.vnfs.heavy_hitter.model import MOST_ROWS
from sfcperf.vnfs.sfcmon.report import METRICS, Window
from sfcperf.vnfs.sfcmon.simulation import Simulation, TraceEnd

if TYPE_CHECKING:
    from sfcperf.sketches.listing import Listing
    from sfcperf.sketches.peeling import Success
    from sfcperf.vnfs.sfcmon.planning import Plan

_SHOWN_SOURCES = 20
_NS_PER_S = 1_000_000_000

Results = Iterable[Window | TraceEnd]


class _Means:
    """Computes the mean of each metric over the windows in which it is defined. Call `add` for each
    window, then `means`; a metric that was defined in no window has the mean None."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys(METRICS, 0.0)
        self._windows = dict.fromkeys(METRICS, 0)

    def add(self, window: Window) -> None:
        for name, value in window.score.metrics().items():
            if value is not None:
                self._sums[name] += value
                self._windows[name] += 1

    def means(self) -> dict[str, float | None]:
        windows = self._windows
        return {n: self._sums[n] / windows[n] if windows[n] else None for n in METRICS}


def print_json(trace: str, simulation: Simulation, results: Results) -> None:
    """Print one JSON document. Its windows are written as they come, as a trace may have any number
    of them."""
    means = _Means()
    # Heavy hitters of all windows, each once, in the order in which they were reported first.
    addresses: dict[str, None] = {}
    settings = {
        "trace": trace,
        "window_s": simulation.window_s,
        "threshold": simulation.threshold,
        "adaptive_target_flows": simulation.target_flows,
        "sizes": asdict(simulation.sizes),
    }
    # The settings, without their closing brace, stand before the first window: nothing is printed
    # if reading the trace fails at once.
    separator = f'{json.dumps(settings)[:-1]}, "windows": [\n'
    for result in results:
        if isinstance(result, TraceEnd):
            last = asdict(result) | {"metrics": means.means(), "heavy_hitters": list(addresses)}
            # Without any window, `separator` is still the beginning of the document.
            head = "\n], " if not separator.startswith("{") else f"{separator}], "
            print(f"{head}{json.dumps(last)[1:]}")
            _warn(result)
            return
        means.add(result)
        # A source may be reported once for each path (SPI and SI): its address is listed once.
        reported = dict.fromkeys(source.address for source in result.heavy_hitters)
        addresses |= reported
        print(f"{separator}{json.dumps(_document(result, list(reported), simulation))}", end="")
        separator = ",\n"


def _document(window: Window, addresses: list[str], simulation: Simulation) -> dict[str, Any]:
    """Return a window as JSON. `addresses`: its reported sources."""
    listing = window.listing()
    return {
        "index": window.index,
        "begin_ns": window.begin_ns,
        "end_ns": window.begin_ns + round(simulation.window_s * _NS_PER_S),
        "packets": window.packets,
        "bytes": window.bytes,
        "unparsed": window.unparsed,
        "sources": window.sources,
        "thresholds": asdict(window.thresholds),
        "heavy_hitters": addresses,
        "metrics": window.score.metrics(),
        "score": asdict(window.score),
        "listing": {
            name: getattr(listing, name)
            for name in (
                "complete",
                "missing_flows",
                "missing_packets",
                "missing_bytes",
                "residual_cells",
            )
        },
        "flows": list(_flows(listing)),
    }


def _flows(listing: Listing) -> Iterator[dict[str, Any]]:
    """Yield the listed flows as JSON, those with the most packets first."""
    for listed in sorted(listing.flows, key=lambda flow: (-flow.packets, flow.key)):
        flow = Flow.of_key(listed.key)
        yield {
            "spi": flow.spi,
            "si": flow.si,
            "src_ip": text(flow.src),
            "dst_ip": text(flow.dst),
            "proto": flow.proto,
            "src_port": flow.src_port,
            "dst_port": flow.dst_port,
            "packets": listed.packets,
            "bytes": listed.bytes,
            "certainty": listed.certainty.value,
        }


def print_text(trace: str, simulation: Simulation, results: Results) -> None:
    """Print a line for each window, the means, and the heavy hitters of the last window."""
    heads = ("window", "packets", "sources", "reported", *METRICS, "flows listed")
    means = _Means()
    last: Window | None = None
    for place, result in enumerate(results):
        # The heading waits for the first result: reading the trace may fail.
        if place == 0:
            print(_row(heads))
        if isinstance(result, Window):
            means.add(result)
            last = result
            print(_window_row(result))
            continue
        print(_row(("mean", "", "", "", *map(_percent, means.means().values()), "")))
        frames = count_text(result.frames, "frame")
        print(f"\n{frames}; {simulation.window_s:g} s windows of {trace}")
        for line in result.left_out.lines(result.frames):
            print(line)
        _warn(result)
    if last is not None:
        _print_sources(last)


def _window_row(window: Window) -> str:
    """Return the line of a window in the table."""
    listing = window.listing()
    inserted = len(listing.flows) + listing.missing_flows
    inexact = f", {listing.residual_cells} cells inexact" if listing.residual_cells else ""
    cells = (window.index, window.packets, window.sources, len(window.heavy_hitters))
    metrics = map(_percent, window.score.metrics().values())
    return _row((*cells, *metrics, f"{len(listing.flows)} of {inserted}{inexact}"))


def _row(cells: Iterable[object]) -> str:
    """Return a line of the table: numbers at the right of their columns, then a last cell with
    words."""
    first, *rest = map(str, cells)
    *numbers, words = rest
    return f"{first:>6}" + "".join(f"{cell:>11}" for cell in numbers) + f"   {words}".rstrip()


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3f} %"


def _print_sources(window: Window) -> None:
    """Print the reported sources of a window, those with the most packets first."""
    sources = window.heavy_hitters
    reported = count_text(len(sources), "source")
    print(f"\nheavy_hitters of window {window.index}: {reported} reported")
    for source in sources[:_SHOWN_SOURCES]:
        # By exact counts, a reported source may be none.
        mark = "" if source.is_heavy_hitter else "   (below the threshold)"
        print(f"  {source.address:<39} {source.packets:>10} packets{mark}")
    if len(sources) > _SHOWN_SOURCES:
        print(f"  and {len(sources) - _SHOWN_SOURCES} more; --json prints all")


def _warn(end: TraceEnd) -> None:
    """Say on stderr what was wrong with the trace."""
    if end.truncated:
        print("warning: the trace ends within a packet", file=sys.stderr)
    if end.late:
        print(
            f"warning: {count_text(end.late, 'packet')} came too late for their window, and"
            " counted in the one that was open",
            file=sys.stderr,
        )


def plan_lines(plan: Plan) -> Iterator[str]:
    """Yield lines with the planned sizes, and the equation that each follows."""
    sizes = plan.sizes
    yield (
        f"count-min sketch  {sizes.cms_rows} rows of {sizes.cms_columns} columns:"
        f" at most {plan.cms_error_packets:,.0f} packets too many"
        f" ({plan.cms_epsilon:.3g} of {plan.packets:,})"
    )
    yield (
        f"Bloom filter      {sizes.bloom_bits} bits, {sizes.bloom_hashes} hash functions:"
        f" {plan.bloom_false_positive_rate:.2g} false positives with {plan.flows} flows"
        " (equation 1)"
    )
    yield (
        f"IBLT              {sizes.iblt_cells} cells, {sizes.iblt_hashes} hash functions:"
        f" {_success_text(plan.listing)}"
    )
    yield (
        f"  {plan.paper_cells} cells, {plan.iblt_threshold:.3f} per flow (Theorem 1 alone):"
        f" {_success_text(plan.paper_listing)}"
    )
    yield f"memory            {plan.memory_bytes:,} bytes per bank"
    yield (
        f"heavy_hitter      hash_functions {min(MOST_ROWS, sizes.cms_rows)}, columns"
        f" {1 << (sizes.cms_columns - 1).bit_length()}: the count-min sketch of that VNF type,"
        " whose rows are powers of 2"
    )
    if plan.listing.low < plan.success:
        yield (
            f"note: {plan.listing.tables} simulated windows are too few to show"
            f" {100 * plan.success:g} %; they bound it by {100 * plan.listing.low:.2f} %"
        )
    if plan.cms_saturates:
        yield (
            "warning: the threshold is beyond the largest number of a 24-bit counter: shorten the"
            " window"
        )


def _success_text(success: Success) -> str:
    """Say in how many simulated windows an IBLT gave back every flow, and which share of the flows
    it gave back on average: that is how a user sees whether it has enough cells."""
    return (
        f"{success.complete} of {success.tables} simulated windows listed fully"
        f" ({100 * success.share:.2f} %, 95 % interval {100 * success.low:.2f} to"
        f" {100 * success.high:.2f} %), {100 * success.listed_share:.1f} % of the flows"
    )
