"""Comparison of run folders: matching, pairing, what is said of both sides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.records.compared_runs import LOSS, ping_run, variants_run
from support.records.manifests import HOST, VERSIONS
from support.records.trials import RTT
from support.schemas import validator

from sfcperf.analysis.comparison import Comparison, Options, Side, compare, compare_all
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore


def side(store: RunStore, variant: str | None = None) -> Side:
    return Side(variant or store.run_id, store, variant)


def compared(a: RunStore, b: RunStore, **options: Any) -> Comparison:
    return compare(side(a), side(b), Options(**options))


def test_a_slower_run_is_worse_in_every_scenario(tmp_path: Path) -> None:
    found = compared(ping_run(tmp_path / "a"), ping_run(tmp_path / "b", ratio=1.1, seed=2))
    assert [(r.scenario, r.metric, r.verdict) for r in found.rows] == [
        ({"chain_length": 0}, "rtt_us", "worse"),
        ({"chain_length": 1}, "rtt_us", "worse"),
    ]
    for row in found.rows:
        assert row.relative.value == pytest.approx(0.1, abs=0.02)
        assert (row.n_a, row.n_b, row.paired) == (8, 8, False)
        assert row.test.startswith("Wilcoxon rank-sum and Brunner-Munzel")
        assert row.a.trials[0] == f"r001-s00{row.scenario['chain_length']}-ping"


def test_scenarios_are_matched_by_levels_not_by_ids(tmp_path: Path) -> None:
    a = ping_run(tmp_path / "a", [{"chain_length": 1, "vcpus": 2}, {"chain_length": 0, "vcpus": 2}])
    b = ping_run(
        tmp_path / "b", [{"vcpus": 2.0, "chain_length": 0}, {"vcpus": 2, "chain_length": 1}]
    )
    rows = compared(a, b, rarest=0.4).rows
    assert [r.verdict for r in rows] == ["equivalent", "equivalent"]
    assert [r.scenario["chain_length"] for r in rows] == [1, 0]


def test_what_has_no_counterpart_is_listed_with_the_reason(tmp_path: Path) -> None:
    a = ping_run(tmp_path / "a", [{"chain_length": 0}, {"chain_length": 3}])
    b = ping_run(tmp_path / "b", metrics=[RTT, {**LOSS, "unit": "%"}], status="interrupted")
    found = compared(a, b, all_metrics=True)
    assert [(r.scenario["chain_length"], r.metric) for r in found.rows] == [(0, "rtt_us")]
    reasons = {(u.side, u.metric, u.scenario["chain_length"]): u.reason for u in found.unmatched}
    assert reasons.pop(("a", "", 3)) == "chain_length is 3, and 0, 1 in b"
    assert reasons.pop(("b", "", 1)) == "chain_length is 1, and 0, 3 in a"
    assert set(reasons.values()) == {"its unit is 1, and % in b"}
    assert any("b is interrupted" in text for text in found.warnings)


def test_factors_of_one_side_and_factors_that_are_ignored(tmp_path: Path) -> None:
    """A factor that both sides hold at another level must be ignored by name."""
    plain = ping_run(tmp_path / "a")
    a, b = (
        ping_run(tmp_path / engine, [{"chain_length": n, "engine": engine} for n in (0, 1)])
        for engine in ("ebpf", "userspace")
    )
    found = compared(plain, a)
    assert len(found.rows) == 2
    assert any("only ebpf has the factor engine (always ebpf)" in text for text in found.warnings)
    with pytest.raises(InputError, match="--ignore engine compares across it"):
        compared(a, b)
    assert len(compared(a, b, ignore=("engine",)).rows) == 2
    assert len(compared(a, b, match=("chain_length",)).rows) == 2
    (pooled,) = compared(a, b, ignore=("engine", "chain_length")).rows
    assert (pooled.n_a, pooled.n_b) == (16, 16)
    assert "ebpf: trials of 2 scenarios were pooled" in pooled.warnings
    # In order of time, the values of the two scenarios take turns.
    assert not any("resemble" in text for text in pooled.warnings)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    a, b = ping_run(tmp_path / "a"), ping_run(tmp_path / "b")
    for options, message in (
        ({"ignore": ("colour",)}, "no run has the factor 'colour'"),
        ({"metrics": ("rtt",)}, "no metric 'rtt'"),
        ({"margins": {"rate_bps": 0.1}}, "no metric 'rate_bps'"),
    ):
        with pytest.raises(InputError, match=message):
            compared(a, b, **options)
    with pytest.raises(InputError, match="twice"):
        compare(side(a), side(a))
    with pytest.raises(InputError, match=r"a, c have nothing in common"):
        compared(a, ping_run(tmp_path / "c", [{"chain_length": 7}]))
    path = b.folder / "trials.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[3]["samples"][0]["unit"] = "ms"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="rtt_us is in ms, and others are in us") as caught:
        compared(a, b)
    assert caught.value.where == rows[3]["trial_id"]


def test_only_valid_trials_count(tmp_path: Path) -> None:
    bad = {(2, "s000"): "untrusted", (3, "s000"): "failed"}
    found = compared(ping_run(tmp_path / "a"), ping_run(tmp_path / "b", bad=bad), rarest=0.4)
    row = found.rows[0]
    assert (row.n_a, row.n_b) == (8, 6)
    assert row.b.excluded == ("r002-s000-ping", "r003-s000-ping")
    assert row.warnings == ("2 of 8 trials of b do not count",)
    assert found.rows[1].warnings == ()


def test_variants_are_compared_round_by_round(tmp_path: Path) -> None:
    run = variants_run(tmp_path / "run", bad={(4, "s002"): "untrusted"})
    found = compare(side(run, "ovs"), side(run, "ebpf"))
    assert [(r.scenario, r.verdict) for r in found.rows] == [
        ({"chain_length": 0}, "better"),
        ({"chain_length": 1}, "better"),
    ]
    first = found.rows[0]
    assert first.paired
    assert first.test == "Wilcoxon signed-rank"
    # Round 4 has no valid trial of one variant: the other's does not count either.
    assert first.n_a == first.n_b == 11
    assert first.a.excluded == ("r004-s000-ping",)
    assert first.b.excluded == ("r004-s002-ping",)
    assert [(d.kind, d.name, d.value) for d in found.differences] == [
        ("variant", "infrastructure.config.dataplane", "ebpf")
    ]
    # What only one of them changes, the other has from the workflow.
    document = {"infrastructure": {"driver": "local", "config": {"dataplane": "ovs"}}}
    run.write_workflow({"sfcperf": 1, "name": "small", **document}, tmp_path)
    found = compare(side(run, "ovs"), side(run, "ebpf"))
    assert [(d.name, d.baseline, d.value) for d in found.differences] == [
        ("infrastructure.config.dataplane", "ovs", "ebpf")
    ]
    with pytest.raises(InputError, match="no variant 'xdp'"):
        compare(side(run, "ovs"), side(run, "xdp"))


def test_all_candidates_are_one_family(tmp_path: Path) -> None:
    runs = [ping_run(tmp_path / name, seed=seed) for seed, name in enumerate("abcd")]
    found = compare_all(side(runs[0]), [side(run) for run in runs[1:]])
    assert [row.candidate for row in found.rows] == ["b", "b", "c", "c", "d", "d"]
    assert {row.family for row in found.rows} == {6}


def test_secondary_metrics_are_asked_for(tmp_path: Path) -> None:
    a, b = ping_run(tmp_path / "a"), ping_run(tmp_path / "b")
    assert {r.metric for r in compared(a, b, all_metrics=True).rows} == {"rtt_us", "loss_ratio"}
    assert {r.metric for r in compared(a, b, metrics=("ping/loss_ratio",)).rows} == {"loss_ratio"}


def test_circumstances_that_differ_are_named(tmp_path: Path) -> None:
    host = json.loads(json.dumps(HOST))
    host["kernel"]["release"] = "7.0.0"
    host["load"]["load_1min"] = 9.0
    host["memory"]["total_bytes"] += 4096
    versions = {**VERSIONS, "tools": {**VERSIONS["tools"], "iperf3": "iperf 3.20"}}
    a = ping_run(tmp_path / "a")
    b = ping_run(tmp_path / "b", host=host, versions=versions, driver="openstack")
    assert {(d.kind, d.name, d.value) for d in compared(a, b).differences} == {
        ("host", "kernel.release", "7.0.0"),
        ("versions", "tools.iperf3", "iperf 3.20"),
        ("infrastructure", "driver", "openstack"),
    }


def test_the_document_is_as_its_schema_says(tmp_path: Path) -> None:
    a = ping_run(tmp_path / "a", bad={(1, "s000"): "failed"})
    b = ping_run(tmp_path / "b", [{"chain_length": 0}, {"chain_length": 2}], driver="other")
    for test in ("rank", "t"):
        found = compared(a, b, all_metrics=True, test=test, margins={"rtt_us": 0.1})
        document = found.document()
        validator("comparison").validate(document)
        assert json.loads(json.dumps(document)) == document
        assert sum(document["counts"].values()) == len(document["rows"]) == len(found.rows)


def test_a_rerun_stands_in_for_the_trial_that_the_noise_gate_marked(tmp_path: Path) -> None:
    run = variants_run(tmp_path / "run", bad={(4, "s002"): "untrusted"})
    (marked,) = (r for r in run.trials() if r.trial_id == "r004-s002-ping")
    again = replace(
        marked, trial_id="r004.1-s002-ping", status="valid", reasons=(), rerun_of=marked.trial_id
    )
    run.append_trial(again)
    first = compare(side(run, "ovs"), side(run, "ebpf")).rows[0]
    assert first.n_a == first.n_b == 12
    assert first.b.trials[3] == "r004.1-s002-ping"
    assert first.b.excluded == ("r004-s002-ping",)
    assert first.a.excluded == ()
    # Its round has a trial that counts: nothing is missing, and nobody is told so.
    assert first.b.missing == 0
    assert first.warnings == ()


def test_a_rerun_that_is_no_better_leaves_one_round_missing(tmp_path: Path) -> None:
    a = ping_run(tmp_path / "a")
    b = ping_run(tmp_path / "b", bad={(2, "s000"): "untrusted", (5, "s001"): "untrusted"})
    marked = {r.trial_id: r for r in b.trials()}
    for trial_id, status in (("r002-s000-ping", "untrusted"), ("r005-s001-ping", "valid")):
        again = trial_id.replace("-", ".1-", 1)
        b.append_trial(
            replace(marked[trial_id], trial_id=again, status=status, rerun_of=trial_id)  # type: ignore[arg-type]
        )
    worse, mended = compared(a, b, rarest=0.4).rows
    assert worse.b.excluded == ("r002-s000-ping", "r002.1-s000-ping")
    assert worse.warnings == ("1 of 8 trials of b does not count",)
    assert (mended.n_a, mended.n_b, mended.b.missing, mended.warnings) == (8, 8, 0, ())


STOPPING = {"rounds": 3, "stop_when": {"relative_half_width": 0.05, "max_rounds": 20}}


def test_rounds_that_ended_by_their_results_are_told(tmp_path: Path) -> None:
    """A single look is no sequential stopping, and variants of a run stopped together. Three rounds
    are too few as well."""
    a, b = (
        ping_run(tmp_path / name, design=STOPPING, rounds=3, ratio=ratio, seed=int(ratio))
        for name, ratio in (("a", 1), ("b", 2))
    )
    found = compared(a, b)
    (stopped,) = (text for text in found.warnings if "stop_when" in text)
    assert "a, b" in stopped
    (few,) = (text for text in found.warnings if "stop_when" not in text)
    assert "cannot go below p = 0.1" in few and "use at least 5 rounds" in few
    assert {row.verdict for row in found.rows} == {"undecided"}
    assert any("t test" in text for text in compared(a, b, test="t").warnings)
    once = {**STOPPING, "stop_when": {"relative_half_width": 0.05, "max_rounds": 3}}
    fixed, single = ping_run(tmp_path / "f"), ping_run(tmp_path / "s", design=once, rounds=3)
    (of_one,) = (text for text in compared(a, fixed).warnings if "stop_when" in text)
    assert of_one.startswith("a stopped")
    run = variants_run(tmp_path / "run", design=STOPPING)
    together = compare(side(run, "ovs"), side(run, "ebpf"))
    for quiet in (compared(fixed, single), together):
        assert not any("stop_when" in text for text in quiet.warnings)
