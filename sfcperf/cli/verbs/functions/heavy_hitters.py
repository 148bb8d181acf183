"""`sfcperf heavy-hitters`: what more CPU cores would do for heavy_hitter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfcperf.cli.arguments import LATEST, RESULTS, ResultsOption, RunArgument, group
from sfcperf.errors import InputError

if TYPE_CHECKING:
    from sfcperf.results.store import RunStore

app = group("Compute what more CPU cores would do for heavy_hitter.")
_PROBE = "heavy_hitter_throughput"
_FACTORS = ("cores", "frame_bytes")
_Rates = dict[int, list[float]]
"""Number of cores -> packets per second in each trial."""


@app.command("model")
def model(
    run: RunArgument = LATEST,
    cores: Annotated[
        str, typer.Option("--cores", metavar="LIST", help="Numbers of cores to compute.")
    ] = "4,8,16,32",
    link_gbps: Annotated[
        float, typer.Option("--link-gbps", metavar="G", help="Rate of the link, Gbit/s.")
    ] = 100.0,
    results: ResultsOption = RESULTS,
) -> None:
    """Estimate the throughput of more cores from a run. The run is one of `heavy-hitter-cores`.

    This is a model, not a measurement. Cores share nothing, so each further core is assumed to take
    as many packets as each core did with the most cores measured. Flows are assumed to be spread
    evenly, and the link to be the only other limit.
    """
    from rich.table import Table

    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.terminal.console import console

    core_numbers = _numbers(cores)
    if not 0 < link_gbps <= 1e6:
        raise InputError(f"{link_gbps:g} is no rate", where="--link-gbps", allowed="above 0")
    measured = _measured(open_run(run, results))
    table = Table(box=None, pad_edge=False)
    for name in ("engine", "frame (bytes)", "measured (Mpps)"):
        table.add_column(name)
    for number in core_numbers:
        table.add_column(f"model: {number} cores (Mpps)")
    table.add_column(f"model: cores for {link_gbps:g} Gbit/s")
    for (engine, frame_bytes), rates in sorted(measured.items()):
        cells = _cells(rates, core_numbers, frame_bytes, link_gbps * 1e9)
        table.add_row(engine, str(frame_bytes), *cells)
    out = console()
    out.print(table)
    out.print(
        "Columns `model` were computed, not measured: intervals (95 %) are those of the measured "
        "rates alone; `=` is the link's rate.",
        soft_wrap=True,
    )


def _numbers(text: str) -> list[int]:
    """Read numbers of cores, such as `4,8`. Raises InputError."""
    words = text.split(",")
    if not all(word.isascii() and word.isdecimal() and 1 <= int(word) <= 1024 for word in words):
        raise InputError(
            f"{text!r} is no list of cores", where="--cores", allowed="such as 4,8: 1 to 1024"
        )
    return [int(word) for word in words]


def _measured(store: RunStore) -> Mapping[tuple[str, int], _Rates]:
    """Return (engine, size of frames in bytes) -> measured rates. Without the factor `engine`, the
    probe's label stands for it. Raises InputError for a run without valid trials of the probe, or
    without its factors."""
    measured: dict[tuple[str, int], _Rates] = defaultdict(lambda: defaultdict(list))
    for record in store.trials():
        levels = record.scenario
        if record.probe != _PROBE or record.status != "valid" or not set(_FACTORS) <= set(levels):
            continue
        rates = [each["value"] for each in record.samples if each["metric"] == "throughput_pps"]
        key = (str(levels.get("engine", record.label)), int(levels["frame_bytes"]))
        measured[key][int(levels["cores"])] += map(float, rates)
    if not measured:
        raise InputError(
            f"the run has no valid trial of the probe {_PROBE} with the factors "
            f"{' and '.join(_FACTORS)}",
            where=str(store.folder),
            hint="sfcperf run heavy-hitter-cores",
        )
    return measured


def _cells(
    rates: _Rates, core_numbers: Sequence[int], frame_bytes: int, link_bps: float
) -> list[str]:
    """Return the last cells of a row: the measured rates, the model's rate for each of
    `core_numbers`, and how many cores fill the link. Raises InputError for too few rounds."""
    from statistics import fmean

    from sfcperf.analysis.core_model import cores_for_link, modelled

    settings: dict[str, Any] = {"frame_bytes": frame_bytes, "link_bps": link_bps}
    measured = ", ".join(
        f"{fmean(values) / 1e6:.2f} ({number})" for number, values in sorted(rates.items())
    )
    cells = [measured]
    for number in core_numbers:
        try:
            rate = modelled(rates, number, **settings)
        except ValueError as error:
            raise InputError(str(error), where="rounds", hint="measure more rounds") from error
        sign = "= " if rate.of_link else ""
        interval = f"[{rate.low_pps / 1e6:.2f}, {rate.high_pps / 1e6:.2f}]"
        cells.append(f"{sign}{rate.pps / 1e6:.2f} {interval}")
    return [*cells, str(cores_for_link(rates, **settings))]
