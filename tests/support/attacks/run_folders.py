"""Hostile run folders: from a stranger, or in a place where he decides."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.attacks import Attack
from support.records.packages import finished_run

NOBODY = 65534
_CLEAR = "\x1b[2J\x9b31m\u202e"
_DOCUMENTS = ("run.json", "plan.json", "summary.json", "trials.jsonl", "workflow.applied.json")

Change = Callable[[Path], None]


def _on_runs(name: str, *command: str, change: Change, **expected: Any) -> Attack:
    """`command` on two runs, `run-1` and `run-2`, of which the first is changed."""

    def make(folder: Path) -> list[str]:
        for run in ("run-1", "run-2"):
            finished_run(folder / run)
        change(folder / "run-1")
        return list(command)

    return Attack(name, make, **{"limit_s": 20, **expected})


def _same(_run: Path) -> None:
    pass


def _unknown_scenario(run: Path) -> None:
    manifest = json.loads((run / "run.json").read_text())
    manifest["probes"][0]["scenarios"] = ["s999"]
    (run / "run.json").write_text(json.dumps(manifest))


def _named_to_clear(run: Path) -> None:
    """A factor whose name a terminal would obey, in all documents."""
    for name in _DOCUMENTS:
        text = (run / name).read_text()
        (run / name).write_text(text.replace('"topology"', json.dumps(f"topology{_CLEAR}")))


def _linked(name: str, target: str = "../elsewhere") -> Change:
    def change(run: Path) -> None:
        (run.parent / "elsewhere").mkdir()
        if (run / name).exists():
            (run / name).rename(run.parent / "moved")
        (run / name).symlink_to(target)

    return change


def _of_another(run: Path) -> None:
    if os.geteuid() == 0:
        os.chown(run, NOBODY, NOBODY)
    else:
        (run / "figures-of-others").symlink_to("/")


_LINK = {"change": _linked("figures"), "says": "contains a link"}
_QUERY = ("query", "run-1", "run-2", "--results", ".")
_UNKNOWN = {"change": _unknown_scenario, "says": "no probe 'ping' in s000"}
_ESCAPES = {"change": _named_to_clear, "exit_codes": (0, 1, 2, 3)}

ATTACKS = [
    _on_runs("report-through-a-link", "report", "run-1", **_LINK),
    _on_runs("figures-through-a-link", "figures", "run-1", **_LINK),
    _on_runs("figures-into-a-link", "figures", "run-1", "-o", "run-1/figures", **_LINK),
    _on_runs(
        "resume-with-a-linked-record",
        "resume",
        "run-1",
        change=_linked("trials.jsonl", "/etc/hostname"),
        says="",
    ),
    _on_runs("report-of-another-user", "report", "run-1", change=_of_another, says="run-1"),
    _on_runs("infinity", *_QUERY, "select 'infinity'::timestamp", change=_same, says="1 to 9999"),
    _on_runs("compare-with-an-unknown-scenario", "compare", "run-1", "run-2", **_UNKNOWN),
    _on_runs("reports-with-an-unknown-scenario", "report", "run-1", "run-2", **_UNKNOWN),
    _on_runs("query-with-an-unknown-scenario", *_QUERY, "from samples", **_UNKNOWN),
    _on_runs("views-with-escapes", *_QUERY, **_ESCAPES),
    _on_runs("rows-with-escapes", *_QUERY, "from trials", **_ESCAPES),
    _on_runs("csv-with-escapes", *_QUERY, "from trials", "--format", "csv", **_ESCAPES),
    _on_runs("json-with-escapes", *_QUERY, "from trials", "--format", "json", **_ESCAPES),
    _on_runs("report-with-escapes", "report", "run-1", **_ESCAPES),
    _on_runs("figures-with-escapes", "figures", "run-1", **_ESCAPES),
    _on_runs("compare-with-escapes", "compare", "run-1", "run-2", **_ESCAPES),
    _on_runs("runs-with-escapes", "runs", "--results", ".", **_ESCAPES),
]
