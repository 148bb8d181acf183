"""`sfcperf traffic`: traces whose packets are labelled as benign or as a kind of attack."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import TraceDurationOption, group, seed_option
from sfcperf.counts import count_text
from sfcperf.errors import InputError

LONGEST_S = 3600.0
SHORTEST_S = 5.0

app = group("Make traces of attacks and benign users, with labels. Real tools use real servers.")


@app.command("make")
def make(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A new folder for traffic.pcap, labels.csv and traffic.json.",
            show_default=False,
        ),
    ],
    seed: Annotated[int, seed_option("Decides who does what, and when.")] = 1,
    duration_s: TraceDurationOption = 60.0,
) -> None:
    """Make a trace of benign users and attackers, with labels. Real tools use real servers, in
    namespaces of their own.

    Each attack has an address of its own, so that the label of each packet is known. Nothing leaves
    this machine, and floods are bounded. Needs root and the tools that `make setup` installs.
    """
    from sfcperf.cli.terminal.lines import say
    from sfcperf.traffic.making import make as make_trace
    from sfcperf.traffic.summary import table

    if not SHORTEST_S <= duration_s <= LONGEST_S:
        raise InputError(
            f"{duration_s} is no length of a trace",
            where="--duration-s",
            allowed=f"{SHORTEST_S:g} to {LONGEST_S:g} seconds",
        )
    if folder.exists():
        raise InputError("there is something already", where=str(folder), allowed="a new folder")
    trace = make_trace(seed, duration_s, folder, say)
    print(table(trace))


@app.command("label")
def label(
    pcap: Annotated[
        Path, typer.Argument(metavar="PCAP", help="A capture, Ethernet.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Argument(metavar="LABELS", help="A new file for the labels.", show_default=False),
    ],
    rules: Annotated[
        list[Path] | None,
        typer.Option(
            "--rules",
            metavar="FILE",
            help="Rules of Suricata instead of those of SFCPerf; may be repeated.",
            show_default=False,
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            "--truth",
            metavar="FILE",
            help="True labels: print how far the new ones agree with them.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Label a capture by the alerts of Suricata. With --truth, tells how far they agree with
    true labels.

    The flow of an alert gets its category as its label; all other packets are benign.
    """
    from sfcperf.traffic import agreement, labels, suricata
    from sfcperf.traffic.labelled import LabelledTrace

    if output.exists():
        raise InputError("there is something already", where=str(output), allowed="a new file")
    known = None if truth is None else labels.read(truth)
    found = suricata.alerts(pcap, rules or (suricata.RULES,))
    labels.write(output, found.rows)
    # The last row is no attack: it says that all other packets are benign.
    print(f"{output}: {count_text(len(found.rows) - 1, 'attack flow')}")
    if found.without_flow:
        print(
            f"{count_text(found.without_flow, 'alert')} without a label: about packets without IP, "
            "or of an unknown protocol"
        )
    if known is not None:
        trace = LabelledTrace(pcap, known)
        print(agreement.table(agreement.agreement(trace, labels.Labels(found.rows))))
    for line in found.left_out.lines(found.frames):
        print(line)
