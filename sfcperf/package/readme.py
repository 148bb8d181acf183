"""README.md of a package, for readers without SFCPerf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfcperf.package.crate import NO_LICENCE
from sfcperf.package.run_files import left_out_text
from sfcperf.presentation.markdown import table_row, words

_TEXT = """\
# {title}

{description}

Measured with SFCPerf {version}; packed on {date}.

{runs}
{left_out}{claims}
## Check it

    sha256sum --quiet -c manifest-sha256.txt

says whether each file is as it was packed. SFCPerf also checks that nothing was added, that the
documents are as their schemas say, and that summaries and figures follow from the trials:

    sfcperf verify PACKAGE.zip

## Measure it again

    sfcperf replay PACKAGE.zip

shows what would be run; with `--trust` it runs it, and says for each metric whether the result is
reproduced, by an equivalence test with a stated margin.

## What is where

- `runs/`: a folder per run: workflow, plan, trials, summaries, raw output of the tools, and what
  monitors and publishers made
{folders}- `environment/`: what was installed where the package was made
- `package.json`, `ro-crate-metadata.json`: the package described, for SFCPerf and for archives

## Licence and citation

{license}

{citation}
"""
_CLAIMS = """
## Claims

What the workflows claim, and what these measurements say of it. The command beside a verdict makes
it again from the packed trials, `sfcperf verify` does so for all.

    sfcperf replay PACKAGE.zip --trust --claims

measures again, and shows the verdicts of both.

| claim | source | verdict | check it |
| --- | --- | --- | --- |
{rows}
"""
_MODULES = "- `modules/`: plug-ins that the runs used and that are no part of SFCPerf\n"
_WORKFLOW_FILES = "- `workflow-files/`: files that the workflows refer to\n"


def readme_text(document: Mapping[str, Any]) -> str:
    """Return the text of README.md. `document` is package.json."""
    folders = ""
    if document["modules"]:
        folders += _MODULES
    if any(run["workflow_files"] for run in document["runs"]):
        folders += _WORKFLOW_FILES
    return _TEXT.format(
        title=words(document["title"]),
        description=words(document["description"]),
        version=document["made_by"]["sfcperf"],
        date=document["date"],
        runs="\n".join(map(_run, document["runs"])) + "\n",
        claims=_claims(document["runs"]),
        left_out=_left_out(document["runs"]),
        folders=folders,
        license=document["license"] or NO_LICENCE,
        citation=words(document["citation"]),
    )


def _run(run: Mapping[str, Any]) -> str:
    """A run as a line of the list of runs."""
    trials = ", ".join(f"{number} {status}" for status, number in run["trials"].items())
    doubt = f" **Incomplete:** {words('; '.join(run['incomplete']))}." if run["incomplete"] else ""
    return f"- `{run['folder']}`: {words(run['name'])}, {run['status']}; trials: {trials}.{doubt}"


def _left_out(runs: Sequence[Mapping[str, Any]]) -> str:
    """What was not packed of all runs, as a paragraph; empty if all was."""
    text = left_out_text(entry["file"] for run in runs for entry in run["left_out"])
    more = "`package.json` has the names, sizes and SHA-256 of these files."
    return f"\nNot packed: {text}. {more}\n" if text else ""


def _claims(runs: Sequence[Mapping[str, Any]]) -> str:
    """The section with the claims of all runs; empty if they have none."""
    rows = [_claim(claim) for run in runs for claim in run.get("claims", ())]
    return _CLAIMS.format(rows="\n".join(rows)) if rows else ""


def _claim(claim: Mapping[str, Any]) -> str:
    """A claim as a row of the table."""
    verdict = words(f"{claim['verdict']}: {claim['reason']}".removesuffix(": "))
    command = f"`sfcperf claims PACKAGE.zip --id {claim['id']}`"
    return table_row((words(claim["text"]), words(claim["source"]), verdict, command))
