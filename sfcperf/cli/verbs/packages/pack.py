"""`sfcperf pack RUN... -o FILE`: pack runs so that anyone can check and repeat them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfcperf.cli.arguments import RESULTS, ResultsOption, output_option, runs_argument


def pack(
    runs: Annotated[
        list[str], runs_argument("Run folders, or their names in --results.", metavar="RUN...")
    ],
    output: Annotated[Path, output_option("Package to write (.zip).")],
    license_: Annotated[
        str | None,
        typer.Option(
            "--license",
            metavar="SPDX",
            help="Licence, such as CC-BY-4.0 [default: none].",
        ),
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option(
            "--author",
            metavar="'NAME <ORCID>'",
            help="Author. Repeatable, in order.",
        ),
    ] = None,
    without_captures: Annotated[
        bool,
        typer.Option("--without-captures", help="Omit packet captures, but keep their SHA-256."),
    ] = False,
    without_raw: Annotated[
        bool,
        typer.Option(
            "--without-raw",
            help="Omit the raw output of tools, captures included, but keep its SHA-256.",
        ),
    ] = False,
    without_report: Annotated[
        bool,
        typer.Option("--without-report", help="Omit the report, which can be made again."),
    ] = False,
    sign: Annotated[
        str | None,
        typer.Option(
            "--sign",
            metavar="TOOL:KEYFILE",
            help="Write a signature next to the package: ssh:KEYFILE or minisign:KEYFILE.",
        ),
    ] = None,
    allow_incomplete: Annotated[
        bool,
        typer.Option("--allow-incomplete", help="Pack incomplete runs, and mark them as such."),
    ] = False,
    allow_secrets: Annotated[
        bool,
        typer.Option("--allow-secrets", help="Pack what seems to be a password or key."),
    ] = False,
    large_files: Annotated[
        bool,
        typer.Option(
            "--large-files",
            help="Pack files that the workflow names also if they have more than 16 MiB.",
        ),
    ] = False,
    with_sfcperf: Annotated[
        bool,
        typer.Option(
            "--with-sfcperf",
            help="Pack SFCPerf itself: its wheel, and a list of what that needs with hashes, for "
            "which uv asks the package index.",
        ),
    ] = False,
    deposit: Annotated[
        Path | None,
        typer.Option(
            "--deposit",
            metavar="FILE",
            help="Also write metadata for Zenodo, and other archives that run InvenioRDM, as JSON. "
            "Nothing is sent.",
        ),
    ] = None,
    paper: Annotated[
        list[str] | None,
        typer.Option(
            "--paper",
            metavar="DOI",
            help="With --deposit: DOI of a paper that the package supplements. Repeatable.",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace the package, its signatures and its metadata."),
    ] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Pack runs into a zip file that others can check and repeat. The package is an RO-Crate.
    The same input gives the same bytes.

    Exit code: 0 packed, 2 bad input, 3 the environment lacks something.
    """
    from sfcperf.cli.inputs import open_run
    from sfcperf.cli.terminal.lines import say
    from sfcperf.package.deposit import deposit as read_deposit
    from sfcperf.package.pack import pack as write_package
    from sfcperf.package.pack_document import PackOptions
    from sfcperf.package.people import author as read_author
    from sfcperf.package.people import licence
    from sfcperf.package.run_files import Part
    from sfcperf.package.signature import sign as write_signature
    from sfcperf.package.signature import signer

    by = signer(sign) if sign is not None else None
    without: dict[Part, bool] = {
        "captures": without_captures,
        "raw": without_raw,
        "report": without_report,
    }
    options = PackOptions(
        license=licence(license_),
        authors=tuple(map(read_author, author or ())),
        without=frozenset(part for part, chosen in without.items() if chosen),
        allow_incomplete=allow_incomplete,
        allow_secrets=allow_secrets,
        large_files=large_files,
        with_sfcperf=with_sfcperf,
        overwrite=overwrite,
    )
    record = read_deposit(deposit, paper or (), output, options)
    packed = write_package([open_run(run, results) for run in runs], output, options)
    for warning in packed.warnings:
        say(f"note: {warning}")
    if options.license is None:
        say("note: the package has no licence (--license): others may look at it but not use it")
    print(f"package: {packed.path} ({packed.files} files, {packed.bytes / 1e6:.1f} MB unpacked)")
    if record is not None:
        print(f"metadata: {record.write(packed.document)}")
    if by is not None:
        print(f"signature: {write_signature(output, by)}")
