"""Do the summaries follow from the trials? They are made again, without any plug-in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfcperf.input_file import read_input
from sfcperf.package.checks import Check, judged
from sfcperf.package.opened import Package
from sfcperf.package.verify.tolerance import REL_TOLERANCE, same_table, same_value
from sfcperf.results.documents import MAX_DOCUMENT_BYTES
from sfcperf.results.store import RunFile, RunStore

_Row = Mapping[str, Any]
"""A row of summary.json."""


def check_summaries(package: Package) -> Check:
    """Make the summaries again from run.json (which says what probes report) and trials.jsonl
    alone, and compare them with the packed ones."""
    findings: list[str] = []
    exact = True
    for store in package.runs:
        found, same = _summary_findings(store)
        findings += found
        exact = exact and same
    holds = "follow from the trials" + ("" if exact else f", to a ratio of {REL_TOLERANCE:g}")
    return judged("summaries", findings, holds)


def _summary_findings(store: RunStore) -> tuple[list[str], bool]:
    """Return what does not follow from a run's trials, and whether both summary files are the same
    byte for byte."""
    from sfcperf.analysis.planned import planned_measurements
    from sfcperf.analysis.summary import summarise

    name = store.folder.name
    files = [store.folder / RunFile.SUMMARY, store.folder / RunFile.SUMMARY_CSV]
    packed = [_content(path) if path.is_file() else None for path in files]
    if packed[0] is None:
        return [f"{name} has no {RunFile.SUMMARY}"], False
    try:
        rows = summarise(store, planned_measurements(store.manifest(), store.trials()))
        made = [text.encode() for text in store.summary_texts(rows)]
    except MemoryError:
        raise
    except Exception as error:
        # Numbers that fit the schema may still be no result of any run.
        return [f"{name}: its trials cannot be summarised: {error}"], False
    if made == packed:
        return [], True
    # Not the same bytes: the values decide. The CSV file is compared with the packed summary alone.
    before, now = (json.loads(content)["summaries"] for content in (packed[0], made[0]))
    findings = [f"{name}: {text}" for text in _differences(before, now)]
    if not findings and packed[1] is not None:
        _, table = store.summary_texts(store.summaries())
        if not same_table(packed[1], table.encode()):
            findings = [f"{name}/{RunFile.SUMMARY_CSV} does not say what {RunFile.SUMMARY} says"]
    return findings, False


def _content(path: Path) -> bytes:
    return read_input(path, path.name, max_bytes=MAX_DOCUMENT_BYTES)


def _key(row: _Row) -> tuple[str, str, str]:
    """What identifies a row: scenario, label and metric."""
    return row["scenario_id"], row["label"], row["metric"]


def _differences(packed: Sequence[_Row], made: Sequence[_Row]) -> list[str]:
    """Return the differences between the packed rows and those made again."""
    before, now = ({_key(row): row for row in rows} for rows in (packed, made))
    times = Counter(map(_key, packed))
    found = []
    for key in dict.fromkeys([*before, *now]):
        what = f"{key[2]} of {key[1]} in {key[0]}"
        if key not in now:
            found.append(f"{what} is in the summary but not in the trials")
        elif key not in before:
            found.append(f"{what} is not in the summary")
        elif times[key] > 1:
            # Nobody can tell which of the rows a reader takes.
            found.append(f"{what} is {times[key]} times in the summary")
        else:
            found += [
                f"{what}: {name} is {before[key][name]!r}, and {value!r} by the trials"
                for name, value in now[key].items()
                if not same_value(before[key][name], value)
            ]
    return found
