"""`python -m sfcperf.playbooks.papers`: run, docs, repack; see the Makefile of the tree."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sfcperf.cli.failures import exit_code_after
from sfcperf.cli.shipped import shipped
from sfcperf.playbooks.papers.experiments import experiments
from sfcperf.playbooks.papers.kept import Kept
from sfcperf.playbooks.papers.measuring import Measuring
from sfcperf.playbooks.papers.pages import write_pages

TREE = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; return the exit code."""
    chosen = _parser().parse_args(arguments)
    return exit_code_after(lambda: int(chosen.verb(chosen)))


def _run(chosen: argparse.Namespace) -> int:
    measuring = Measuring(
        work=chosen.work,
        kept=chosen.kept,
        after_each=lambda: _docs(chosen),
        overrides=chosen.set,
        force=chosen.force,
        limit_s=None if chosen.minutes is None else 60 * chosen.minutes,
    )
    only = [name.strip() for text in chosen.only for name in text.split(",")]
    return measuring.all(experiments(chosen.workflows, only))


def _docs(chosen: argparse.Namespace) -> int:
    for page in write_pages(experiments(chosen.workflows), chosen.kept, chosen.docs):
        print(f"papers: written: {page}", file=sys.stderr)
    return 0


def _repack(chosen: argparse.Namespace) -> int:
    for experiment in experiments(chosen.workflows):
        kept = Kept(experiment, chosen.kept)
        if kept.path.is_file():
            kept.write_again()
            print(f"papers: written: {kept.path}", file=sys.stderr)
    return _docs(chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="papers", description=__doc__)
    workflows = next(iter(shipped().values())).parent
    for name, place, what in (
        ("--workflows", workflows, "folder of workflows"),
        ("--kept", TREE / "results" / "papers", "folder of kept packages"),
        ("--work", TREE / "build" / "papers", "folder of run folders"),
        ("--docs", TREE, "folder with README.md and docs/papers"),
    ):
        parser.add_argument(name, type=Path, default=_short(place), help=what)
    verbs = parser.add_subparsers(required=True)
    run = verbs.add_parser("run", help="measure what is not kept yet, and keep it")
    run.add_argument("--only", action="append", default=[], metavar="NAME[,NAME]")
    run.add_argument("--force", action="store_true", help="measure what is kept again")
    run.add_argument("--minutes", type=float, help="begin nothing that would take longer")
    run.add_argument("--set", action="append", default=[], metavar="PATH=VALUE")
    run.set_defaults(verb=_run)
    docs = verbs.add_parser("docs", help="write the tables of README.md and docs/papers again")
    docs.set_defaults(verb=_docs)
    again = verbs.add_parser(
        "repack", help="make what follows from the kept trials again, after a change of SFCPerf"
    )
    again.set_defaults(verb=_repack)
    return parser


def _short(path: Path) -> Path:
    """Return a path relative to the current folder if it is below it: lines name it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


if __name__ == "__main__":
    sys.exit(main())
