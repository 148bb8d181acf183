"""Tables of experiments, kept runs and verdicts, in Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from sfcperf.counts import count_text
from sfcperf.playbooks.papers.experiments import Paper
from sfcperf.playbooks.papers.state import ENDS, NOT_RUN, State, claim_of, ends
from sfcperf.presentation.claim_texts import (
    MARKS,
    ClaimRow,
    measured_text,
    needed_text,
    published_text,
    range_text,
)
from sfcperf.presentation.markdown import table_row, words
from sfcperf.presentation.wording import duration_text, run_s
from sfcperf.report.noise import noise_findings
from sfcperf.report.verdict import verdict_of
from sfcperf.results.store import RunStore

_STATED = ("not comparable", "not tested")
"""Verdicts that the workflow states."""
_COLUMNS: Mapping[str, Callable[[ClaimRow], str]] = {
    "Claim": lambda row: f"`{row['id']}`",
    "Sentence": lambda row: words(row["text"], code=True),
    "Published": lambda row: words(published_text(row)),
    "Holds if": lambda row: words(range_text(row)),
    "Measured": lambda row: words(measured_text(row)),
    "Verdict": lambda row: f"{MARKS.get(row['verdict'], '')} {row['verdict']}".strip(),
    "Why": lambda row: words(_why(row), code=True),
}
"""Header -> cell of a claim."""


def overview(papers: Sequence[tuple[Paper, Sequence[State]]]) -> str:
    """Return the table of README.md: a row per paper, with the number of its claims by verdict."""
    lines = [_head(["Paper", "Claims", *(end.capitalize() for end in ENDS)])]
    for paper, states in papers:
        rows = [row for state in states for row in state.rows]
        counts = ends(rows)
        claims = _with_parts(len(set(map(claim_of, rows))), len(rows))
        link = f"[{paper.title}](docs/papers/{paper.page})"
        lines.append(table_row([link, claims, *(str(counts[end] or "") for end in ENDS)]))
    every = [state for _, states in papers for state in states]
    whole_s = sum(state.experiment.planned_s for state in every)
    left_s = sum(state.experiment.planned_s for state in every if not state.is_current)
    return "\n".join(lines) + (
        f"\n\nPlanned time of all {len(every)} experiments: {duration_text(whole_s)}; of those "
        f"that are not measured yet: {duration_text(left_s)}.\n"
    )


def paper_block(states: Sequence[State]) -> str:
    """Return what the page of a paper says of its experiments: how many claims each tests, and for
    each how it was run, and its claims with their verdicts."""
    columns = ["Workflow", "With a verdict", "Not comparable only", "Not tested", "Rounds"]
    lines = [_head([*columns, "Planned time", "Measured"])]
    lines += map(_counts_row, states)
    return "\n".join([*lines, *(f"\n{_section(state)}" for state in states)]) + "\n"


def _counts_row(state: State) -> str:
    """How many claims an experiment tests; of a claim with parts, one with a verdict counts."""
    verdicts: dict[str, set[str]] = {}
    for row in state.rows:
        verdicts.setdefault(claim_of(row), set()).add(row["verdict"])
    kinds = {"": 0, **dict.fromkeys(_STATED, 0)}
    for found in verdicts.values():
        kinds[next((v for v in _STATED if found <= {*_STATED} and v in found), "")] += 1
    parts = ends(state.rows)
    parts_with_verdict = len(state.rows) - sum(parts[verdict] for verdict in _STATED)
    name = state.experiment.name
    return table_row(
        [
            f"[`{name}`](#{name})",
            _with_parts(kinds[""], parts_with_verdict),
            *(_with_parts(kinds[verdict], parts[verdict]) for verdict in _STATED),
            str(state.experiment.workflow.design.rounds),
            _planned(state),
            NOT_RUN if state.run is None else _date(state.run),
        ]
    )


def _section(state: State) -> str:
    """The run of an experiment and its claims."""
    text = _not_run(state) if state.run is None else _run(state, state.run)
    rows = [table_row(cell(row) for cell in _COLUMNS.values()) for row in state.rows]
    table = "\n".join([_head(_COLUMNS), *rows])
    return f"### {state.experiment.name}\n\n{text}\n\n{table}"


def _not_run(state: State) -> str:
    command = f"    sudo .venv/bin/sfcperf run {state.experiment.name}"
    return f"Not run yet; the planned time is {_planned(state)}.\n\n{command}"


def _run(state: State, run: RunStore) -> str:
    """How the kept run was made, and what a reader must know of it."""
    manifest, trials = run.manifest(), run.trials()
    host, counted = manifest["host"], manifest["trials"]
    took = run_s(manifest)
    resumed = bool(manifest.get("resumed_at"))
    revision = manifest["versions"].get("revision") or {}
    commit = f" ({revision['commit'][:12]})" if revision.get("commit") else ""
    facts = [
        f"Measured on {_date(run)}"
        + (f" in {duration_text(took)}" if took is not None else "")
        + (", in which it was interrupted and resumed" if resumed else "")
        + f" (planned: {_planned(state)}) with SFCPerf {manifest['sfcperf_version']}{commit}",
        f"{words(host['cpu']['model'])}, {count_text(host['cpu']['logical'], 'CPU')}, "
        f"Linux {words(host['kernel']['release'])}",
        f"{count_text(manifest['design']['rounds'], 'round')}, "
        f"{counted['valid']} of {count_text(sum(counted.values()), 'trial')} valid",
        f"Package: `results/papers/{state.package.name}`",
    ]
    verdict = verdict_of(manifest, trials, run.summaries())
    doubts = [f"{verdict.headline}.", *noise_findings(manifest, trials)]
    if not state.is_current:
        doubts.append("The workflow was changed after this run.")
    command = shlex.join(manifest["command"])
    must_know = words(" ".join(doubts), code=True)
    return f"{'. '.join(facts)}.\n\n    sudo .venv/bin/{command}\n\n{must_know}"


def _why(row: ClaimRow) -> str:
    return "; ".join(filter(None, [row["reason"], needed_text(row)]))


def _planned(state: State) -> str:
    return duration_text(state.experiment.planned_s)


def _date(run: RunStore) -> str:
    manifest = run.manifest()
    return str(manifest["ended_at"] or manifest["started_at"])[:10]


def _with_parts(claims: int, parts: int) -> str:
    """A number of claims, in brackets with parts if that is another number; empty for none."""
    if not parts:
        return ""
    return str(claims) if claims == parts else f"{claims} ({parts})"


def _head(columns: Iterable[str]) -> str:
    """The first two rows of a table."""
    names = list(columns)
    return f"{table_row(names)}\n{table_row(['---'] * len(names))}"
