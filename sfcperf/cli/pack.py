"""`sfcperf pack RUN... -o FILE`: runs as a package that anyone can check and rerun."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, ResultsOption


def pack(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Run folders, or their names in --results.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The package to write (.zip).",
            show_default=False,
        ),
    ],
    license_: Annotated[
        str | None,
        typer.Option(
            "--license", metavar="SPDX", help="Licence of the package, e.g. CC-BY-4.0 [none]."
        ),
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option(
            "--author", metavar="'NAME <ORCID>'", help="Who made it; may be repeated, in order."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the package.")] = None,
    without_captures: Annotated[
        bool,
        typer.Option(
            "--without-captures", help="Leave packet captures out; their SHA-256 is kept."
        ),
    ] = False,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="TOOL:KEYFILE",
            help="Sign by ssh:KEYFILE (ssh-keygen) or minisign:KEYFILE, beside the package.",
        ),
    ] = None,
    allow_incomplete: Annotated[
        bool,
        typer.Option("--allow-incomplete", help="Pack a run that did not complete, and say so."),
    ] = False,
    allow_secrets: Annotated[
        bool, typer.Option("--allow-secrets", help="Pack what looks like a password or key.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE and its signatures.")
    ] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Pack runs, and what is needed to judge and to rerun them, into one zip (an RO-Crate).

    The same input gives the same bytes. Exit code: 0 packed, 2 bad input, 3 the environment lacks
    something.
    """
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.progress import say
    from sfcperf.package.pack import pack as write_package
    from sfcperf.package.pack_document import PackOptions
    from sfcperf.package.people import author as read_author
    from sfcperf.package.people import licence
    from sfcperf.package.signature import sign as write_signature
    from sfcperf.package.signature import signer

    by = signer(sign) if sign is not None else None
    options = PackOptions(
        license=licence(license_),
        authors=tuple(map(read_author, author or ())),
        title=title,
        captures=not without_captures,
        allow_incomplete=allow_incomplete,
        allow_secrets=allow_secrets,
        overwrite=overwrite,
    )
    packed = write_package([open_run(run, results) for run in runs], output, options)
    for warning in packed.warnings:
        say(f"note: {warning}")
    if options.license is None:
        say("note: no licence is given (--license): others may look, and not use it")
    print(f"package: {packed.path} ({packed.files} files, {packed.bytes / 1e6:.1f} MB unpacked)")
    if by is not None:
        print(f"signature: {write_signature(output, by)}")
