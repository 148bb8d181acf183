"""`sfcperf claims`, and where else the command line shows verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import Command
from support.engine import SMALL, Bench
from support.records.claimed_run import CLAIMS, claimed_run, of_rtt, rtt
from support.records.runs import build_run
from support.records.shown_run import EIGHT_ROUNDS
from support.schemas import validator
from support.tiers import examples

import sfcperf as python
from sfcperf.analysis.claims.analysis import claims_document
from sfcperf.errors import ExitCode, InputError
from sfcperf.results.store import RunFile, RunStore

FAKE: dict[str, Any] = {
    "id": "quick",
    "text": "It is quick.",
    "source": "own",
    "quantity": {"of": {"probe": "a", "metric": "rtt_us"}},
    "unit": "us",
    "below": 1e9,
}
"""A claim on the probe of `SMALL`."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return claimed_run(tmp_path_factory.mktemp("runs") / "claimed")


def line_of(text: str, out: str) -> str:
    (line,) = (line for line in out.splitlines() if line.startswith(text))
    return line


def test_a_run_shows_each_verdict_and_its_reason(run: RunStore, sfcperf: Command) -> None:
    assert sfcperf("claims", run.folder) == 0
    shown = {row["id"]: line_of(f"{row['id']} ", sfcperf.out) for row in CLAIMS}
    for name, verdict in (("fast", "agrees"), ("slow", "contradicts"), ("flat", "undecided")):
        assert verdict in shown[name]
    assert "about 1.5 ms" in shown["slow"]
    assert "µs" in shown["fast"]
    assert line_of("contradicted: slow: ", sfcperf.out).endswith("It is slow.")
    assert "rounds or more" in line_of("undecided: flat: ", sfcperf.out)
    assert "another kind of switch" in line_of("not comparable: elsewhere: ", sfcperf.out)
    assert "there is no Spark" in line_of("not tested: spark: ", sfcperf.out)
    counts = "5 claims: 1 agrees, 1 contradicts, 1 undecided, 1 not comparable, 1 not tested"
    assert sfcperf.out.splitlines()[-1].startswith(counts)


def test_verdicts_are_made_anew_and_nothing_is_written(tmp_path: Path, sfcperf: Command) -> None:
    store = claimed_run(tmp_path / "run")
    made = json.loads((store.folder / RunFile.CLAIMS).read_text())
    (store.folder / RunFile.CLAIMS).unlink()
    assert sfcperf("claims", store.folder, "--json") == 0
    document = json.loads(sfcperf.out)
    assert document == made
    assert not list(validator("claims").iter_errors(document))
    assert not (store.folder / RunFile.CLAIMS).exists()


def test_claims_are_chosen_by_id(run: RunStore, sfcperf: Command) -> None:
    chosen = ("--id", "slow", "--id", "fast")
    assert sfcperf("claims", run.folder, *chosen, "--json") == 0
    assert [row["id"] for row in json.loads(sfcperf.out)["claims"]] == ["fast", "slow"]
    assert sfcperf("claims", run.folder, "--id", "slo") == ExitCode.BAD_INPUT
    assert all(part in sfcperf.err for part in ("--id", "fast, slow, flat", "'slow'"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--fail-on", "contradicted"), 1),
        (("--fail-on", "undecided,contradicted"), 1),
        (("--fail-on", "undecided", "--id", "fast"), 0),
        (("--fail-on", "contradicted", "--id", "fast"), 0),
        (("--fail-on", "contradicted", "--id", "flat"), 0),
        (("--fail-on", "contradicted", "--id", "spark", "--id", "elsewhere"), 5),
        (("--fail-on", "worse"), 2),
        (("--set", "design.rounds=1"), 2),
    ],
)
def test_exit_codes(run: RunStore, sfcperf: Command, arguments: tuple[str, ...], code: int) -> None:
    assert sfcperf("claims", run.folder, *arguments) == code


def test_too_few_rounds_cannot_contradict(tmp_path: Path, sfcperf: Command) -> None:
    """A verdict of one claim takes six rounds at 95 %, and one of an order of three takes seven."""
    rising = {"id": "rising", "text": "It rises.", "source": "own", "order": [rtt(1), rtt(0)]}
    three = replace(EIGHT_ROUNDS, rounds=6, chain_lengths=(0, 1, 2))
    order = {**rising, "order": [rtt(0), rtt(1), rtt(2)]}
    for rounds, claim, options, code in (
        (5, of_rtt("slow", 0, above=1e6), EIGHT_ROUNDS, 5),
        (6, of_rtt("slow", 0, above=1e6), EIGHT_ROUNDS, 1),
        (6, order, three, 0),
    ):
        made = replace(options, rounds=rounds, claims=(claim,))
        store = build_run(tmp_path / f"{claim['id']}-{rounds}", made)
        found = sfcperf("claims", store.folder, "--fail-on", "contradicted")
        assert found == code, sfcperf.out
    assert "6 valid rounds" not in sfcperf.out


def test_a_workflow_shows_what_its_claims_need(tmp_path: Path, sfcperf: Command) -> None:
    path = tmp_path / "run" / RunFile.WORKFLOW
    claimed_run(path.parent)
    assert sfcperf("claims", path) == 0
    assert "Sanz, Fig. 1" in sfcperf.out
    assert "rtt_us of ping at chain_length=1, over rtt_us of ping at chain_length=0" in sfcperf.out
    last = sfcperf.out.splitlines()[-1]
    assert last == (
        "5 claims, of which a run can decide 3: a verdict needs 7 valid rounds or more, "
        "of 8 planned"
    )
    assert sfcperf("claims", path, "--set", "design.rounds=6") == 0
    assert "no verdict is possible on 3 of them" in sfcperf.out
    assert "design.rounds=7" in sfcperf.out
    for option in (("--json",), ("--fail-on", "undecided"), ("--id", "none")):
        assert sfcperf("claims", path, *option) == ExitCode.BAD_INPUT


def test_without_claims(bench: Bench, finished: Path, sfcperf: Command) -> None:
    for of in (finished, "quickstart"):
        assert sfcperf("claims", of) == 0
        assert "no claims" in sfcperf.out
    assert sfcperf("claims", finished, "--json") == 0
    assert json.loads(sfcperf.out)["claims"] == []
    assert sfcperf("claims", finished, "--fail-on", "contradicted") == ExitCode.BAD_INPUT


def test_a_name_of_nothing_is_an_error_with_a_hint(tmp_path: Path, sfcperf: Command) -> None:
    for name, hint in (
        ("quickstar", "quickstart"),
        (tmp_path / "x.json", "sfcperf list workflows"),
    ):
        assert sfcperf("claims", name, "--results", tmp_path) == ExitCode.BAD_INPUT
        assert str(name) in sfcperf.err
        assert hint in sfcperf.err


def test_a_run_ends_with_its_verdicts(bench: Bench, sfcperf: Command) -> None:
    wrong = {**FAKE, "id": "slow", "text": "It is slow.", "above": 1e9}
    del wrong["below"]
    design = {"rounds": 7, "warmup_rounds": 0}
    path = bench.write(**{**SMALL, "design": design, "claims": [FAKE, wrong]})
    assert sfcperf("run", path, "--results", bench.results) == 0, sfcperf.err
    assert "\n2 claims: 1 agrees, 1 contradicts\n" in sfcperf.out
    assert "\ncontradicted: slow: It is slow.\n" in sfcperf.out
    assert f"\nclaims:  sfcperf claims {bench.folder()}\n" in sfcperf.out
    assert sfcperf("plan", path, "--set", "design.rounds=6") == 0
    assert "2 claims: with 6 rounds, no verdict is possible on 2 of them" in sfcperf.out


def test_tables(run: RunStore, sfcperf: Command) -> None:
    frame = python.load(run.folder).claims
    assert list(frame["id"]) == [claim["id"] for claim in CLAIMS]
    assert list(frame["published"].fillna("")) == ["200", "1500", "nothing", "900", ""]
    assert list(frame["published_value"].fillna(0)) == [200, 1500, 0, 900, 0]
    document = run.document(RunFile.CLAIMS)
    assert document is not None
    assert list(frame["estimate"].dropna()) == [
        row["estimate"] for row in document["claims"] if row["estimate"] is not None
    ]
    sql = "select id from claims where verdict = 'contradicts' and digitised and confidence = 0.95"
    assert sfcperf("query", run.folder, sql, "--format", "csv") == 0
    assert sfcperf.out.split() == ["id", "slow"]


def test_a_damaged_workflow_is_an_error_in_the_run_folder(tmp_path: Path, sfcperf: Command) -> None:
    path = claimed_run(tmp_path / "run").folder / RunFile.WORKFLOW_APPLIED
    document = json.loads(path.read_text())
    first = document["claims"][0]
    for claims in (
        [{**first, "quantity": {}}],
        [{**first, "order": [rtt(0), rtt(1)]}],
        [{key: value for key, value in first.items() if key not in ("above", "below")}],
        [first, first],
        [{**first, "quantity": {"of": rtt(0), "r_squared": True}}],
        first,
        None,
    ):
        path.write_text(json.dumps({**document, "claims": claims}))
        assert sfcperf("claims", path.parent) == ExitCode.BAD_INPUT, claims
        assert f"{RunFile.WORKFLOW_APPLIED}#/claims" in sfcperf.err
    path.write_text("{")
    assert sfcperf("claims", path.parent) == ExitCode.BAD_INPUT
    assert RunFile.WORKFLOW_APPLIED in sfcperf.err


_BOUNDS = st.floats(allow_nan=False, allow_infinity=False)
_LEVELS = st.dictionaries(
    st.sampled_from(("chain_length", "topology", "x")), st.sampled_from((0, 1, [0, 1], "T1", 7))
)
_OPERANDS = st.fixed_dictionaries(
    {
        "probe": st.sampled_from(("ping", "httperf", "x")),
        "metric": st.sampled_from(("rtt_us", "loss_ratio", "replies_per_s", "x")),
    },
    optional={
        "at": _LEVELS,
        "minus": _LEVELS,
        "over": _LEVELS,
        "slope": st.sampled_from(("chain_length", "topology", "x")),
        "monitor": st.sampled_from(("fwd-1", "x")),
    },
)
_QUANTITIES = st.fixed_dictionaries(
    {"of": _OPERANDS}, optional={"to": _OPERANDS, "r_squared": st.booleans()}
)
_CLAIMS = st.fixed_dictionaries(
    {"id": st.sampled_from("abcdefgh"), "text": st.just("It is."), "source": st.just("own")},
    optional={
        "quantity": _QUANTITIES,
        "order": st.lists(_OPERANDS, min_size=2, max_size=4),
        "above": _BOUNDS,
        "below": _BOUNDS,
        "published": _BOUNDS,
        "not_comparable": st.just("another switch"),
    },
)


@examples(2_000, gate=100)
@given(claims=st.lists(_CLAIMS, max_size=4))
def test_whatever_a_run_claims_is_judged_or_refused(
    editable: RunStore, claims: list[dict[str, Any]]
) -> None:
    """The run's own claims fit the schema; whoever edited them knew no more than that."""
    path = editable.folder / RunFile.WORKFLOW_APPLIED
    path.write_text(json.dumps({**json.loads(path.read_text()), "claims": claims}))
    try:
        document = {"schema_version": 1, **claims_document(editable)}
    except InputError as error:
        assert error.where is not None
        assert "#/claims" in error.where
        return
    json.dumps(document, allow_nan=False)
    assert not list(validator("claims").iter_errors(json.loads(json.dumps(document))))
    assert len(document["claims"]) == len(claims)


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return claimed_run(tmp_path_factory.mktemp("editable") / "claimed")
