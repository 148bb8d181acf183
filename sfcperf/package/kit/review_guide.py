"""Sections of a package's README.md for reviewers: claims, commands, hardware and time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfcperf.package.kit.machine import machine_text
from sfcperf.presentation.markdown import table_row, words
from sfcperf.presentation.wording import duration_text

_Run = Mapping[str, Any]
"""An entry of `runs` in package.json."""

_FIVE_MINUTES_S = 300
_CLAIMS = """
## Claims

What the workflows claim, and what these measurements say of it. A claim agrees if the interval of
its quantity lies in the range. *From the trials* makes a verdict again from the packed trials, in
seconds; `sfcperf verify PACKAGE.zip` does so for all. *Measured again* takes the machine time
beside it; expect the verdict here on similar hardware, and the published value as far as the set-up
resembles that of the source.

| claim | source | published | holds if | verdict here | from the trials | measured again | time |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}
"""
_INSTALL = """
## Install SFCPerf

In the unpacked package, with Python {python} on Linux:

    python3 -m venv venv
    venv/bin/pip install --require-hashes -r software/requirements.txt
    venv/bin/pip install --no-deps {wheel}
    sudo venv/bin/sfcperf setup

installs the SFCPerf of these runs, and nothing whose hash is not listed. `sfcperf setup` installs
Debian packages and compiles the data planes. {extras}For a machine without network, fetch on
another one of the same kind, and take the folder along:

    pip download --require-hashes -r software/requirements.txt -d fetched
    venv/bin/pip install --no-index --find-links fetched \\
        --require-hashes -r software/requirements.txt
"""
_SHORT = """
## Kick the tyres

    {command}

measures one round{of}, without warm-up. By the recorded times, it takes about {time} on the machine
of the run{longer}. Expect trials that are valid and metrics that are *undecided*, with exit code 1:
one round shows that everything works here, and decides nothing.
"""
_NEEDS = """
## Hardware

Measured on:

{machines}

A replay needs:

{needs}
- SFCPerf {version}, and what `environment/` lists: Python packages, and Debian packages of the
  tools. `sfcperf doctor` says what is missing.
- for absolute values, similar hardware. Ratios and directions need only as many CPUs.

## Time

| step | commands | machine time |
| --- | --- | --- |
| check it | 1 | a minute, more for large packages |
{steps}

Machine times are those of the recorded phases. Human time was not measured: each step is one
command that needs no attention until it ends, after SFCPerf is installed.
"""


def claims_section(runs: Sequence[_Run]) -> str:
    """Return the section with the claims of all runs; empty if they have none."""
    rows = [_claim(runs, run, claim) for run in runs for claim in run.get("claims", ())]
    return _CLAIMS.format(rows="\n".join(rows)) if rows else ""


def _claim(runs: Sequence[_Run], run: _Run, claim: Mapping[str, str]) -> str:
    """A claim as a row of the table."""
    verdict = f"{claim['verdict']}: {claim['reason']}".removesuffix(": ")
    tested = claim["verdict"] != "not tested"
    cells = (
        words(claim["text"]),
        words(claim["source"]),
        words(claim["published"]),
        words(claim["holds_if"]) or "–",
        words(verdict),
        f"`sfcperf claims PACKAGE.zip --id {claim['id']}`",
        f"`{replay_command(runs, run, '--claims')}`" if tested else "–",
        _time(run["effort"]["machine_s"]) if tested else "–",
    )
    return table_row(cells)


def replay_command(runs: Sequence[_Run], run: _Run, *options: str) -> str:
    """Return the command that measures one of the runs again."""
    only = () if len(runs) == 1 else ("--only", run["run_id"])
    command = shlex.join(["sfcperf", "replay", "PACKAGE.zip", "--trust", *only, *options])
    return f"sudo {command}" if "local" in run["machine"]["drivers"] else command


def install_section(document: Mapping[str, Any]) -> str:
    """Return the section that says how to install the SFCPerf in the package; empty if it has
    none. `document`: package.json."""
    software = document.get("software")
    if software is None:
        return ""
    extras = ", ".join(software["extras"])
    return _INSTALL.format(
        python=software["python"],
        wheel=software["wheel"],
        extras=f"The list has what these extras need: {extras}.\n" if extras else "",
    )


def short_section(runs: Sequence[_Run]) -> str:
    """Return the section with the shortest replay; empty if nothing was measured."""
    short = [run for run in runs if run["effort"]["short"] is not None]
    if not short:
        return ""
    run = min(short, key=lambda each: each["effort"]["short"]["seconds"])
    overrides, seconds = run["effort"]["short"]["overrides"], run["effort"]["short"]["seconds"]
    options = [word for text in overrides for word in ("--set", text)]
    narrowed = any("factors" in text.partition("=")[0] for text in overrides)
    longer = ", the shortest that there is: more than 5 minutes"
    return _SHORT.format(
        command=replay_command(runs, run, *options),
        of=" of the cheapest scenario, in each variant if there are several" if narrowed else "",
        time=_time(seconds),
        longer=longer if seconds > _FIVE_MINUTES_S else "",
    )


def needs_sections(document: Mapping[str, Any]) -> str:
    """Return the sections on hardware and time. `document`: package.json."""
    runs = document["runs"]
    machines: dict[str, list[str]] = {}
    for run in runs:
        machines.setdefault(words(machine_text(run["machine"])), []).append(run["run_id"])
    drivers = sorted({name for run in runs for name in run["machine"]["drivers"]})
    return _NEEDS.format(
        machines="\n".join(
            f"- {text}" + (f": {', '.join(names)}" if len(machines) > 1 else "")
            for text, names in machines.items()
        ),
        needs="\n".join(map(_need, drivers)),
        version=document["made_by"]["sfcperf"],
        steps="\n".join(_steps(runs)),
    )


def _need(driver: str) -> str:
    """What a replay needs for this driver, as an item of a list."""
    if driver == "local":
        return "- root on Linux, for the network namespaces of the driver `local`"
    return f"- an infrastructure for the driver {words(driver)}; `--profile` names yours"


def _steps(runs: Sequence[_Run]) -> Iterator[str]:
    """Yield the rows of the table of times."""
    short = [run["effort"]["short"]["seconds"] for run in runs if run["effort"]["short"]]
    if short:
        yield f"| kick the tyres | 1 | {_time(min(short))} |"
    for run in runs:
        of = f" ({run['run_id']})" if len(runs) > 1 else ""
        yield f"| measure it again{of} | 1 | {_time(run['effort']['machine_s'])} |"


def _time(seconds: int | None) -> str:
    return "not known" if seconds is None else duration_text(seconds)
