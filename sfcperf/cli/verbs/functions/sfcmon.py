"""`sfcperf sfcmon`: heavy hitters by sketches, and the controller of switches that find them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.cli.arguments import JsonOption, TraceDurationOption, group, seed_option
from sfcperf.cli.verbs.functions.rest_options import TokenFileOption, rest_address
from sfcperf.errors import InputError

if TYPE_CHECKING:
    from sfcperf.vnfs.sfcmon.settings import Sizes

app = group("Plan and simulate SFCMon, or control its switches.")

ThresholdOption = Annotated[
    float,
    typer.Option(
        "--threshold",
        metavar="F",
        help="Share of the packets from which a source is a heavy hitter, such as 0.001.",
    ),
]


@app.command("simulate")
def simulate(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE",
            help="pcap, pcapng, CSV or Parquet file; `-` reads all but Parquet from stdin.",
            show_default=False,
        ),
    ],
    window_s: Annotated[
        float, typer.Option("--window-s", metavar="S", help="Width of a window, seconds.")
    ],
    threshold: ThresholdOption = 0.001,
    adaptive: Annotated[
        int | None,
        typer.Option(
            "--adaptive",
            metavar="FLOWS",
            min=1,
            max=2**32 - 1,
            help="Set the data plane's threshold of each window so that about so many flows are "
            "reported; --threshold still says which sources are heavy hitters.",
            show_default=False,
        ),
    ] = None,
    threshold_eval: Annotated[
        int,
        typer.Option(
            "--threshold-eval",
            metavar="N",
            min=0,
            max=2**32 - 1,
            help="Packets of a window before which nothing is reported.",
        ),
    ] = 1000,
    size: Annotated[
        list[str] | None,
        typer.Option(
            "--size",
            metavar="NAME=N",
            help="Another size than in the reference configuration, such as iblt_cells=3000; "
            "repeatable.",
            show_default=False,
        ),
    ] = None,
    spi: Annotated[
        int,
        typer.Option(
            "--spi",
            metavar="N",
            min=0,
            max=0xFFFFFF,
            help="SPI of packets that have no NSH in the trace.",
        ),
    ] = 1,
    si: Annotated[int, typer.Option("--si", metavar="N", min=0, max=255, help="Their SI.")] = 255,
    as_json: JsonOption = False,
) -> None:
    """Run SFCMon on a trace, and compare it with exact counts. Compares what it reports
    window by window."""
    from sfcperf.cli.simulated import print_json, print_text
    from sfcperf.vnfs.sfcmon.settings import Thresholds, share_register
    from sfcperf.vnfs.sfcmon.simulation import Simulation
    from sfcperf.vnfs.sfcmon.simulation import simulate as windows_of

    _check_share(threshold)
    if not 1e-9 <= window_s <= 1e9:
        raise InputError(f"{window_s} is no width", where="--window-s", allowed="1e-9 to 1e9")
    simulation = Simulation(
        window_s=window_s,
        threshold=threshold,
        thresholds=Thresholds(eval=threshold_eval, share=share_register(threshold)),
        sizes=_sizes(size or []),
        target_flows=adaptive,
        spi=spi,
        si=si,
    )
    (print_json if as_json else print_text)(trace, simulation, windows_of(trace, simulation))


def _check_share(threshold: float) -> None:
    """Raise InputError for a share that the data plane cannot express."""
    # The data plane's register holds the share in units of 2^-32.
    if not 2**-32 <= threshold < 1:
        raise InputError(
            f"{threshold} is no share", where="--threshold", allowed="2^-32 to less than 1"
        )


def _sizes(words: list[str]) -> Sizes:
    """Return the sizes of the reference configuration, changed by `words` (`NAME=N`). Raises
    InputError."""
    from sfcperf.vnfs.sfcmon.settings import LIMITS, Sizes

    sizes = Sizes()
    for word in words:
        name, _, text = word.partition("=")
        if name not in LIMITS:
            raise InputError(
                f"there is no size {name!r}", where="--size", allowed=", ".join(LIMITS)
            )
        least, most = LIMITS[name]
        if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
            raise InputError(
                f"{name} is {text!r}", where="--size", allowed=f"{name}={least} to {most}"
            )
        sizes = replace(sizes, **{name: int(text)})
    return sizes


@app.command("plan")
def plan(
    packets: Annotated[
        int,
        typer.Option("--packets", metavar="N", min=1, max=10**15, help="Packets of a window."),
    ],
    flows: Annotated[
        int,
        typer.Option("--flows", metavar="N", min=1, max=10**6, help="Flows reported in a window."),
    ],
    threshold: ThresholdOption = 0.001,
    success: Annotated[
        float,
        typer.Option(
            "--success",
            metavar="P",
            help="Probability that a window's flows are all listed, that none of them is a Bloom "
            "filter false positive, and that a source's estimate is no more than half the "
            "threshold too high: P for each of the three.",
        ),
    ] = 0.99,
    seed: Annotated[int, seed_option("Seed of the simulated IBLTs.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Compute the sizes of CMS, Bloom filter and IBLT. Checks them by simulation."""
    from sfcperf.cli.simulated import plan_lines
    from sfcperf.vnfs.sfcmon.planning import planned

    _check_share(threshold)
    if not 0.5 <= success <= 0.9999:
        raise InputError(f"{success} is out of range", where="--success", allowed="0.5 to 0.9999")
    found = planned(packets, flows, threshold, success, seed=seed)
    print(json.dumps(asdict(found), indent=2) if as_json else "\n".join(plan_lines(found)))


@app.command("generate-trace")
def generate_trace(
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="pcap file to write; `-` is stdout.", show_default=False
        ),
    ],
    seed: Annotated[int, seed_option("The same seed gives the same file.")] = 1,
    duration_s: TraceDurationOption = 60.0,
    on_s: Annotated[
        float,
        typer.Option(
            "--on-s",
            metavar="S",
            help="Least time that a source sends in its minute, seconds (60: all send evenly).",
        ),
    ] = 10.0,
) -> None:
    """Write a trace with heavy-tailed traffic. It is like that of the backbone link in the
    SFCMon paper."""
    from sfcperf.cli.terminal.streams import drop_stdout, strict_stdout
    from sfcperf.errors import system_errors_as
    from sfcperf.results.files import replacing
    from sfcperf.vnfs.sfcmon.synthetic_trace import SyntheticTrace

    if not 0 < duration_s <= 86400:
        raise InputError(
            f"{duration_s} is no length", where="--duration-s", allowed="more than 0, up to 86400"
        )
    if not 0.1 <= on_s <= 60:
        raise InputError(f"{on_s} is out of range", where="--on-s", allowed="0.1 to 60")
    trace = SyntheticTrace(seed, duration_s, on_s=on_s)
    if out == "-":
        try:
            for part in trace.pcap():
                strict_stdout().buffer.write(part)
            strict_stdout().flush()
        except BrokenPipeError:
            # A reader that has seen enough has gone: that is no error.
            drop_stdout()
        return
    target = Path(out)
    with (
        system_errors_as(InputError, "the trace cannot be written", where=target),
        replacing(target) as beside,
        beside.open("wb") as file,
    ):
        for part in trace.pcap():
            file.write(part)
    print(target)


@app.command("controller")
def controller(
    state: Annotated[
        Path,
        typer.Option(
            "--state",
            metavar="FILE",
            help="Keeps all resources; created if it does not exist.",
            show_default=False,
        ),
    ],
    windows: Annotated[
        Path,
        typer.Option(
            "--windows",
            metavar="FILE",
            help="Windows of monitored switches are appended, as JSON Lines.",
            show_default=False,
        ),
    ],
    token_file: TokenFileOption,
    listen: Annotated[str, rest_address("--listen")] = "127.0.0.1:8642",
) -> None:
    """Run the SFC controller, until SIGTERM. It takes requests by REST, and controls bmv2
    switches by P4Runtime."""
    from sfcperf.vnfs.sfcmon.controller.requirements import requirement

    requirement().demand()
    from sfcperf.vnfs.sfcmon.controller.daemon import Options, serve

    def ready(where: str) -> None:
        # For whoever started this process: requests are answered now, at this address.
        print(json.dumps({"event": "ready", "listen": where}), flush=True)

    serve(Options(state, windows, token_file, listen), ready)
