"""`sfcperf claims RUN`: whether a run agrees with what its workflow claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfcperf.cli.arguments import LATEST, RESULTS, ResultsOption, SetOption, json_option
from sfcperf.errors import ExitCode, InputError

if TYPE_CHECKING:
    from sfcperf.results.store import RunStore

_Documents = list[tuple["RunStore", dict[str, Any]]]
"""Runs with their claims.json, made anew."""


def claims(
    of: Annotated[
        str,
        typer.Argument(
            metavar="[RUN|PACKAGE|WORKFLOW]",
            help="Run folder, its name in --results, or `latest`; package (.zip); or workflow "
            "file, or the name of a shipped one [default: latest].",
            show_default=False,
        ),
    ] = LATEST,
    id_: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="ID", help="Only show this claim. Repeatable."),
    ] = None,
    json_: Annotated[
        bool, json_option("Print JSON as in claims.json: of a package, a document per run.")
    ] = False,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-on",
            metavar="VERDICT",
            help="Exit with 1 if a claim is contradicted or undecided, whichever is named. "
            "Repeatable, or comma-separated. Exits with 5 if a claim could not be contradicted, "
            "whatever was measured.",
        ),
    ] = None,
    set_: SetOption = None,
    results: ResultsOption = RESULTS,
) -> None:
    """Show whether a run agrees with its workflow's claims. Each gets a verdict: agrees,
    contradicts, undecided, not comparable or not tested. Verdicts are made anew from the trials,
    and corrected for the number of claims. Of a workflow, show its claims, what tests them, and how
    many rounds that takes.

    Exit code with --fail-on: 0 no claim has the verdict, 1 one has, 2 bad input, 5 too few rounds.
    """
    from sfcperf.cli.claims import check_ids, failing
    from sfcperf.cli.inputs import is_workflow, read_runs

    ids, words = id_ or [], failing(fail_on or ())
    if is_workflow(of, results):
        _refuse({"--json": json_, "--fail-on": words}, "a workflow, which has no verdicts yet", of)
        _show_workflow(of, set_, ids)
        return
    _refuse({"--set": set_}, "a run, whose workflow does not change", of)
    from sfcperf.analysis.claims.analysis import claims_document

    documents = [(run, claims_document(run)) for run in read_runs(of, results)]
    known = [row["id"] for _, document in documents for row in document["claims"]]
    if words and not known:
        raise InputError("this has no claims", where=of, hint="`claims` in the workflow")
    check_ids(ids, list(dict.fromkeys(known)))
    if ids:
        for _, document in documents:
            document["claims"] = [row for row in document["claims"] if row["id"] in ids]
    _print(documents, as_json=json_)
    _fail(documents, words)


def _refuse(options: dict[str, Any], what: str, where: str) -> None:
    for option, value in options.items():
        if value:
            raise InputError(f"{option} is not for {what}", where=where)


def _show_workflow(name: str, overrides: list[str] | None, ids: list[str]) -> None:
    from sfcperf.cli.claims import check_ids, print_claims_of_workflow
    from sfcperf.cli.inputs import read_workflow

    workflow, _ = read_workflow(name, overrides, None, None)
    check_ids(ids, [claim.id for claim in workflow.claims])
    if workflow.claims:
        print_claims_of_workflow(workflow, ids)
    else:
        print(f"{workflow.name}: no claims")


def _print(documents: _Documents, *, as_json: bool) -> None:
    import json

    from sfcperf.cli.claims import print_claims
    from sfcperf.results.records import SCHEMA_VERSION

    for run, document in documents:
        if as_json:
            print(json.dumps({"schema_version": SCHEMA_VERSION, **document}, indent=2))
            continue
        if len(documents) > 1:
            print(f"{run.run_id}:")
        if document["claims"]:
            print_claims(document)
        else:
            print(f"{run.run_id}: no claims")


def _fail(documents: _Documents, words: dict[str, Any]) -> None:
    """End with the exit code that `--fail-on` asks for, if it does."""
    from sfcperf.cli.claims import powerless
    from sfcperf.cli.terminal.lines import say

    verdicts = {row["verdict"] for _, document in documents for row in document["claims"]}
    if not verdicts.isdisjoint(words.values()):
        raise typer.Exit(ExitCode.SOME_TRIALS_BAD)
    if "contradicted" in words:
        for run, document in documents:
            if document["claims"] and (reason := powerless(run, document["claims"])):
                say(f"--fail-on: {reason}")
                raise typer.Exit(ExitCode.CANNOT_DECIDE)
