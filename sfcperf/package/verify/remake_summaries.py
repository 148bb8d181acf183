"""Do the summaries follow from the trials? They are made again, without any plug-in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf.input_file import read_input
from sfcperf.package.checks import Check, judged
from sfcperf.package.opened import Package
from sfcperf.package.verify.older_intervals import NOT_COMPARED, is_older, older_intervals
from sfcperf.package.verify.tolerance import REL_TOLERANCE, same_table, same_value
from sfcperf.results.documents import MAX_DOCUMENT_BYTES
from sfcperf.results.records import Summary
from sfcperf.results.store import RunFile, RunStore


def check_summaries(package: Package) -> Check:
    """Summaries, from run.json (which says what probes report) and trials.jsonl alone."""
    findings: list[str] = []
    notes: list[str] = []
    exact = True
    older = False
    for store in package.runs:
        found, told, same = _summary_findings(store)
        older = older or any(is_older(row.method) for row in _summaries(store))
        findings += found
        notes += told
        exact = exact and same
    if findings:
        return judged("summaries", findings, "")
    holds = "follow from the trials" + ("" if exact else f", to a ratio of {REL_TOLERANCE:g}")
    if older:
        holds += "; intervals by an earlier release's methods, whose warnings are not compared"
    return Check("summaries", "ok", holds, tuple(notes))


def _summary_findings(store: RunStore) -> tuple[list[str], list[str], bool]:
    """What does not follow, what a reader should know, and whether the files are the same byte for
    byte."""
    from sfcperf.analysis.planned import planned_measurements
    from sfcperf.analysis.summary import summarise

    name = store.folder.name
    files = [store.folder / RunFile.SUMMARY, store.folder / RunFile.SUMMARY_CSV]
    packed = [_content(path) if path.is_file() else None for path in files]
    if packed[0] is None:
        return [f"{name} has no {RunFile.SUMMARY}"], [], False
    try:
        rows = summarise(store, planned_measurements(store.manifest(), store.trials()))
        made = [text.encode() for text in store.summary_texts(rows)]
    except MemoryError:
        raise
    except Exception as error:
        # Numbers that fit the schema may still be no result of any run.
        return [f"{name}: its trials cannot be summarised: {error}"], [], False
    if made == packed:
        return [], [], True
    before, now = (_rows(json.loads(content or b"{}")) for content in (packed[0], made[0]))
    findings = [f"{name}: {text}" for text in _differences(before, _as_then(store, before, now))]
    if not findings and packed[1] is not None:
        _, table = store.summary_texts(store.summaries())
        if not same_table(packed[1], table.encode()):
            findings = [f"{name}/{RunFile.SUMMARY_CSV} does not say what {RunFile.SUMMARY} says"]
    unsaid = _unsaid(before, now)
    notes = [f"{name}/{RunFile.SUMMARY} does not say {', '.join(unsaid)}"] if unsaid else []
    return findings, notes, False


def _content(path: Path) -> bytes:
    return read_input(path, path.name, max_bytes=MAX_DOCUMENT_BYTES)


def _summaries(store: RunStore) -> list[Summary]:
    return store.summaries() if (store.folder / RunFile.SUMMARY).is_file() else []


def _as_then(
    store: RunStore,
    before: Mapping[tuple[str, str, str], Mapping[str, Any]],
    now: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    """Rows as they are made now; those that an earlier release made, with its intervals."""
    from sfcperf.analysis.planned import rules_of
    from sfcperf.results.trial_values import trial_means

    then = [key for key in now if key in before and is_older(before[key]["method"])]
    if not then:
        return now
    means = {record.trial_id: trial_means(record) for record in store.trials()}
    look = rules_of(store).first_look
    made = {}
    for key in then:
        values = [means[trial][key[2]] for trial in now[key]["trials"]]
        row = {**now[key], **older_intervals(values, now[key], look)}
        made[key] = {name: value for name, value in row.items() if name not in NOT_COMPARED}
    return {**now, **made}


def _rows(document: Mapping[str, Any]) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    return {
        (row["scenario_id"], row["label"], row["metric"]): row
        for row in document.get("summaries", ())
    }


def _differences(
    before: Mapping[tuple[str, str, str], Mapping[str, Any]],
    now: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> list[str]:
    """Of what the packed rows say; what a newer release says besides is no difference."""
    found = []
    for key in dict.fromkeys([*before, *now]):
        what = f"{key[2]} of {key[1]} in {key[0]}"
        if key not in now:
            found.append(f"{what} is in the summary but not in the trials")
        elif key not in before:
            found.append(f"{what} is not in the summary")
        else:
            found += [
                f"{what}: {name} is {value!r}, and {now[key].get(name)!r} by the trials"
                for name, value in before[key].items()
                if name in now[key] and not same_value(value, now[key][name])
            ]
    return found


def _unsaid(
    before: Mapping[tuple[str, str, str], Mapping[str, Any]],
    now: Mapping[tuple[str, str, str], Mapping[str, Any]],
) -> list[str]:
    """Keys that a packed row lacks: an older release wrote it, or somebody took them out."""
    lacking = (now[key].keys() - before[key].keys() for key in before.keys() & now.keys())
    return sorted(set[str]().union(*lacking))
