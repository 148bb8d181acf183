"""`sfcperf index RUN...`: send runs to Elasticsearch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.cli.arguments import (
    RESULTS,
    CaOption,
    ResultsOption,
    runs_argument,
    stream_prefix_option,
)
from sfcperf.counts import count_text
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError, SfcperfError

if TYPE_CHECKING:
    from sfcperf.elasticsearch.target import Target
    from sfcperf.results.store import RunStore

Runs = Annotated[list[str] | None, runs_argument("Run folders, or their names in --results.")]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url",
        metavar="URL",
        envvar="SFCPERF_ES_URL",
        help="Server, https://HOST:PORT. Repeat for more nodes of one cluster. [default: the one "
        "that the run's workflow publishes to]",
        show_default=False,
    ),
]
Fingerprint = Annotated[
    str | None,
    typer.Option(metavar="SHA256", help="Trust the server's certificate with this fingerprint."),
]
Prefix = Annotated[str | None, stream_prefix_option(" [default: sfcperf]")]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Do not verify the server; allow secrets over plain HTTP."),
]
Pending = Annotated[bool, typer.Option("--pending", help="Send the runs that wait in the spool.")]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Only check that the server has each document of the run exactly once."
    ),
]
Retry = Annotated[
    float,
    typer.Option(
        "--patience", metavar="S", min=0, help="Seconds to keep trying while the server is down."
    ),
]


def index(
    runs: Runs = None,
    url: Urls = None,
    ca: CaOption = None,
    fingerprint: Fingerprint = None,
    prefix: Prefix = None,
    insecure: Insecure = False,
    pending: Pending = False,
    verify: Verify = False,
    retry_s: Retry = 30.0,
    results: ResultsOption = RESULTS,
) -> None:
    """Send runs to Elasticsearch. Documents that the server already has are not sent again.

    Secrets come from SFCPERF_ES_API_KEY, or SFCPERF_ES_USER and SFCPERF_ES_PASSWORD, or the
    system's keyring. Exit code of --verify: 1 if something differs.
    """
    from sfcperf.cli.inputs import open_run
    from sfcperf.elasticsearch.target import of_run

    if pending == bool(runs) or (pending and verify):
        raise InputError(
            "either name runs or use --pending",
            allowed="run folders, or --pending alone; --verify needs folders",
        )
    if pending:
        _send_waiting(retry_s)
        return
    stores = [open_run(run, results) for run in runs or ()]
    options = {"prefix": prefix, "ca": ca, "fingerprint": fingerprint, "insecure": insecure}
    chosen = {name: value for name, value in options.items() if value}
    places = [(store, of_run(store, url or (), chosen)) for store in stores]
    if verify:
        _verify(places, retry_s)
    else:
        for store, place in places:
            _send(store, place, retry_s)


def _send(store: RunStore, target: Target, retry_s: float) -> None:
    """Send one run, and print what became of its documents. If the server is away or fails
    (DeliveryFailed), the run waits in the spool; other errors are for the user to mend first."""
    from sfcperf.cli.sending import sending_bar, show_sent
    from sfcperf.elasticsearch.answers import DeliveryFailed
    from sfcperf.elasticsearch.delivery import deliver
    from sfcperf.elasticsearch.spool import Spool

    with sending_bar() as progress:
        sent = deliver(
            store,
            target,
            spool=Spool(),
            progress=progress,
            retry_s=retry_s,
            keep=DeliveryFailed,
        )
    show_sent(store.run_id, target, sent)


def _send_waiting(retry_s: float) -> None:
    """Try to send each run that waits in the spool. One that fails, or cannot be read, does not
    hold up the others; in the end, EnvironmentLacks is raised for all that still wait."""
    from sfcperf.cli.sending import sending_bar, show_sent
    from sfcperf.elasticsearch.delivery import deliver_waiting
    from sfcperf.elasticsearch.spool import Spool

    spool = Spool()
    waiting, problems = spool.waiting(), [line for e in spool.damaged() for line in e.lines()]
    if not waiting and not problems:
        print("no run is waiting to be sent")
    for entry in waiting:
        try:
            with sending_bar() as progress:
                sent = deliver_waiting(entry, spool=spool, progress=progress, retry_s=retry_s)
        except SfcperfError as error:
            problems += error.lines()
        else:
            show_sent(entry.run_id, entry.target, sent)
    if problems:
        still = count_text(len(spool.waiting()) + len(spool.damaged()), "run")
        raise EnvironmentLacks(
            "\n".join([f"not all runs could be sent; still waiting: {still}", *problems])
        )


def _verify(places: Sequence[tuple[RunStore, Target]], retry_s: float) -> None:
    """Print for each run how its documents on the server differ from its folder. If any do, end
    with exit code 1."""
    from sfcperf.cli.sending import show_findings
    from sfcperf.elasticsearch.verify import verify

    good = True
    for store, target in places:
        findings = verify(store, target, retry_s=retry_s)
        show_findings(store.run_id, target, findings)
        good &= all(found.good for found in findings)
    if not good:
        raise typer.Exit(ExitCode.SOME_TRIALS_BAD)
