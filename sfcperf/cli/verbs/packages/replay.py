"""`sfcperf replay PACKAGE`: repeat a package's experiment and evaluate whether it is reproduced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfcperf.cli.arguments import (
    RESULTS,
    AllMetricsOption,
    AlphaOption,
    DriverOption,
    MarginOption,
    ProfileOption,
    RarestOption,
    ResultsOption,
    SetOption,
    Test,
    TestOption,
    json_option,
)
from sfcperf.cli.packaging import (
    AllowedSignersOption,
    MaxBytesOption,
    PackageArgument,
    PublicKeyOption,
)
from sfcperf.errors import InputError
from sfcperf.package.layout import MAX_BYTES

if TYPE_CHECKING:
    from sfcperf.package.opened import Package
    from sfcperf.package.replay.prepared import PreparedReplay
    from sfcperf.package.replay.spec import ReplayOptions
    from sfcperf.package.signature import Keys
    from sfcperf.package.unpack import PackageCopy
    from sfcperf.results.store import RunStore


@dataclass(frozen=True)
class _Shown:
    """How the verdict on a replay is shown."""

    as_json: bool
    claims: bool
    """Whether the verdicts on claims follow."""


def replay(
    package: PackageArgument,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Execute its workflow and its plug-ins, as this user."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="RUN", help="Only replay this run of the package. Repeatable."
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            metavar="FOLDER",
            help="Run folder of an earlier replay: continue it if necessary, and evaluate it. "
            "Repeatable for the runs of a campaign, in their order.",
        ),
    ] = None,
    margin: MarginOption = None,
    rarest: RarestOption = "10%",
    alpha: AlphaOption = 0.05,
    test: TestOption = Test.RANK,
    all_: AllMetricsOption = False,
    driver: DriverOption = None,
    profile: ProfileOption = None,
    set_: SetOption = None,
    allowed_signers: AllowedSignersOption = None,
    public_key: PublicKeyOption = None,
    max_bytes: MaxBytesOption = MAX_BYTES,
    claims: Annotated[
        bool,
        typer.Option(
            "--claims",
            help="Also show the verdicts on the claims of the workflow, packaged and here.",
        ),
    ] = False,
    json_: Annotated[bool, json_option("Print the verdicts as JSON, one line per run.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not show the progress of the run.")
    ] = False,
    results: ResultsOption = RESULTS,
) -> None:
    """Show what a package would execute, or repeat its runs. With --trust, runs it here, and
    reports for each metric whether its result is reproduced, not reproduced, or undecided
    (equivalence test with a margin).

    Exit code: 0 everything is reproduced (or only shown), 1 something is not, 2 bad input or a
    package that fails verification, 3 the environment lacks something, 130 interrupted.
    """
    from sfcperf.cli.comparing import options_of
    from sfcperf.cli.inputs import open_profile
    from sfcperf.package.opened import open_package
    from sfcperf.package.replay.prepare import chosen_runs, prepare
    from sfcperf.package.replay.spec import ReplayOptions
    from sfcperf.package.signature import Keys
    from sfcperf.package.unpack import private_copy

    if claims and (json_ or not trust):
        raise InputError(
            "the verdicts of a replay are a table, which needs --trust and no --json",
            where="--claims",
            hint="`sfcperf claims PACKAGE` shows those of the package",
        )
    options = ReplayOptions(
        results=results,
        overrides=tuple(set_ or ()),
        driver=driver,
        profile=open_profile(profile),
        quiet=quiet or json_,
        earlier=tuple(run or ()),
        comparison=options_of(margin or (), test.value, rarest, alpha=alpha, all_metrics=all_),
    )
    with private_copy(package, max_bytes=max_bytes) as copy:
        _check(copy, Keys(allowed_signers, public_key), max_bytes)
        opened = open_package(copy.folder)
        runs = [prepare(opened, store, options) for store in chosen_runs(opened, only or ())]
        if trust:
            show = _Shown(as_json=json_, claims=claims)
            raise typer.Exit(_replay(copy.file, opened, runs, options, show))
        _show(opened, runs)


def _check(copy: PackageCopy, keys: Keys, max_bytes: int) -> None:
    """Verify the package. Raises InputError if a check fails: such a package is neither shown nor
    run."""
    from sfcperf.package.verify import verify_copy

    found = verify_copy(copy, keys, max_bytes=max_bytes)
    for check in found.checks:
        if check.state == "failed":
            first = f": {check.findings[0]}" if check.findings else ""
            raise InputError(
                f"the package fails verification: {check.name}: {check.detail}{first}",
                where=str(copy.source),
                hint=f"`sfcperf verify {copy.source}` shows details",
            )


def _show(package: Package, runs: list[PreparedReplay]) -> None:
    """Print what a replay of these runs would execute."""
    from sfcperf.cli.terminal.text import shown
    from sfcperf.package.replay.describe import description, missing_requirements

    print("With --trust, this would be executed here, as this user:")
    for run in runs:
        for line in description(run):
            print(shown(line))
        for module, requirement in missing_requirements(package, run.modules):
            print(shown(f"  {module} needs {requirement}, which is not installed here"))
    print("left out: analyses and publishers of the package; a replay makes summary and report")
    print("Nothing was executed.")


def _replay(
    path: Path,
    package: Package,
    runs: list[PreparedReplay],
    options: ReplayOptions,
    show: _Shown,
) -> int:
    """Replay and judge the runs; return the worst exit code of the verdicts, or that of the first
    run that did not complete."""
    from sfcperf.package.replay.repeat import keep_for_later, together

    groups = together(runs)
    if options.earlier and len(groups) != 1:
        raise InputError("several runs could be replayed in --run", hint="add --only RUN")
    if len(options.earlier) > len(groups[0]):
        raise InputError(
            "more run folders than packaged runs", where="--run", allowed=f"{len(groups[0])}"
        )
    kept = keep_for_later(package, path, options.results)
    codes = []
    for group in groups:
        here = _run_all(package, group, kept, options)
        if isinstance(here, int):
            return here
        packaged = [run.packaged for run in group]
        codes.append(_judge(path, packaged, here, options, show))
    return max(codes)


def _run_all(
    package: Package, runs: list[PreparedReplay], kept: Path, options: ReplayOptions
) -> list[RunStore] | int:
    """Replay one packaged run, or each run of a campaign. Return the new runs, or the exit code of
    the first that did not complete."""
    from sfcperf.package.replay.repeat import run_or_resume
    from sfcperf.results.campaigns import Repeat, new_campaign

    campaign = new_campaign(runs[0].packaged.manifest()["name"])
    here: list[RunStore] = []
    for number, run in enumerate(runs, 1):
        of_this_run = replace(
            options,
            resume=options.earlier[number - 1] if number <= len(options.earlier) else None,
            repeat=Repeat(number, len(runs), campaign) if len(runs) > 1 else None,
            others=tuple(run.folder for run in here),
        )
        complete_or_code = run_or_resume(package, run, kept, of_this_run)
        if isinstance(complete_or_code, int):
            return complete_or_code
        here.append(complete_or_code)
    return here


def _judge(
    path: Path,
    packaged: list[RunStore],
    here: list[RunStore],
    options: ReplayOptions,
    show: _Shown,
) -> int:
    """Compare the packaged runs with those made here; write and print the verdict. Return the exit
    code: 0 if all is reproduced, else 1. `path`: the package."""
    import json

    from sfcperf.cli.claims import print_both
    from sfcperf.cli.noise_floor import known_floors
    from sfcperf.cli.packaging import print_verdict
    from sfcperf.package.replay.repeat import judge_replay, write_verdict

    verdict = judge_replay(packaged, here, options, known_floors())
    written = write_verdict(verdict, path, packaged, here)
    if show.as_json:
        print(json.dumps(json.loads(written.read_text())))
        return 0 if verdict.reproduced else 1
    print_verdict(verdict)
    if show.claims:
        print_both(packaged, here)
    print(f"verdict: {written}")
    return 0 if verdict.reproduced else 1
