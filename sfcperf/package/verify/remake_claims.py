"""Do the verdicts on claims follow from the trials? They are made again, without any plug-in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfcperf.analysis.claims.analysis import claims_document, claims_in
from sfcperf.counts import count_text
from sfcperf.package.checks import Check, judged
from sfcperf.package.opened import Package
from sfcperf.package.verify.same import shown
from sfcperf.package.verify.tolerance import same_value
from sfcperf.results.store import RunFile, RunStore

NAME = "claims"
_UNMADE = "not tested"
"""Verdict that nothing was measured for: there is nothing to check."""
_HASHED = " (by telemetry, which is only hashed)"

_Row = Mapping[str, Any]


def check_claims(package: Package) -> Check:
    """Make the verdicts again from workflow, run.json and trials.jsonl, and of claims on a
    monitor's metric also from telemetry.parquet. Compare them with the packed ones; a check that is
    `ok` lists each claim with its verdict."""
    findings: list[str] = []
    claims: list[str] = []
    checked = 0
    for store in package.runs:
        made, found = _made_again(store)
        findings += found
        checked += sum(row["verdict"] != _UNMADE for row in made)
        claims += _lines(store, made)
    if findings:
        return judged(NAME, findings, "")
    if not claims:
        return Check(NAME, "absent", "the workflows have no claims")
    if not checked:
        return Check(NAME, "not checked", "no claim was tested", tuple(claims))
    rest = len(claims) - checked
    more = f"; {count_text(rest, 'more claim')} {'was' if rest == 1 else 'were'} not tested"
    verdicts = "1 verdict follows" if checked == 1 else f"{checked} verdicts follow"
    text = f"{verdicts} from the trials" + (more if rest else "")
    return Check(NAME, "ok", text, tuple(claims))


def _made_again(store: RunStore) -> tuple[Sequence[_Row], list[str]]:
    """Return the rows of a run's claims.json made again, and what of the packed one differs."""
    name = store.folder.name
    try:
        made = claims_document(store)
    except MemoryError:
        raise
    except Exception as error:
        # Numbers that fit the schema may still be no result of any run.
        return [], [f"{name}: its claims cannot be judged: {error}"]
    packed = store.document(RunFile.CLAIMS)
    if packed is None:
        missing = [f"{name} has no {RunFile.CLAIMS}"] if made["claims"] else []
        return made["claims"], missing
    return made["claims"], [
        f"{name}/{RunFile.CLAIMS}: {text}" for text in _differences(packed, made)
    ]


def _differences(packed: _Row, made: _Row) -> Iterator[str]:
    """Yield what the packed document says otherwise than the one made again."""
    for key in ("run_id", "confidence"):
        if not same_value(packed[key], made[key]):
            yield f"{key} is {shown(packed[key])}, and {shown(made[key])} by {RunFile.MANIFEST}"
    ids = [[row["id"] for row in document["claims"]] for document in (packed, made)]
    if ids[0] != ids[1]:
        yield f"its claims are {shown(ids[0])}, and those of the workflow {shown(ids[1])}"
        return
    for before, now in zip(packed["claims"], made["claims"], strict=True):
        for key, value in now.items():
            if not same_value(before[key], _as_json(value)):
                yield (
                    f"claim {now['id']}: {key} is {shown(before[key])}, and {shown(value)} "
                    "by the trials"
                )


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _lines(store: RunStore, rows: Sequence[_Row]) -> Iterator[str]:
    """Yield each claim with its verdict, and whether that is made from telemetry."""
    if not rows:
        return
    monitored = {
        claim.id for claim in claims_in(store) if any(each.monitor for each in claim.operands)
    }
    for row in rows:
        by = _HASHED if row["id"] in monitored and row["verdict"] != _UNMADE else ""
        yield f"{store.folder.name}: {row['id']}: {row['verdict']}{by}"
