from __future__ import annotations

from dataclasses import replace

from sfcperf.results.store import RunStore
from sfcperf.visualization.verdict import Verdict, judge


def verdict(run: RunStore, **changes: object) -> Verdict:
    trials = [replace(r, status="valid", reasons=()) for r in run.trials()]
    return judge({**run.manifest(), **changes}, trials, run.summaries())


def test_trustworthy_when_nothing_speaks_against_it(run: RunStore) -> None:
    found = verdict(run)
    assert found.level == "trustworthy"
    assert found.headline == "Trustworthy: all 72 trials are valid"
    assert found.findings == ()


def test_bad_trials_are_counted_with_their_reasons(run: RunStore) -> None:
    found = judge(run.manifest(), run.trials(), run.summaries())
    assert (found.level, found.valid, found.untrusted, found.failed) == ("care", 70, 1, 1)
    text = "\n".join(found.findings)
    assert "1 trial untrusted: the sender reached 412.1 of 500 Mbit/s" in text
    assert "1 trial failed: httperf: exit status 1" in text


def test_a_run_that_did_not_end(run: RunStore) -> None:
    assert verdict(run, status="interrupted").level == "care"
    assert "sfcperf resume" in verdict(run, status="running").findings[0]


def test_problems_of_the_run_are_passed_on(run: RunStore) -> None:
    assert verdict(run, problems=["tear-down of s000: busy"]).findings == (
        "tear-down of s000: busy",
    )


def test_missing_trials_and_intervals(run: RunStore) -> None:
    trials = run.trials()[:10]
    rows = [replace(run.summaries()[0], n=1, ci_low=None, ci_high=None)]
    found = judge(run.manifest(), trials, rows)
    assert found.missing == 62
    assert "62 planned trials were not run." in found.findings
    assert any("no interval" in finding for finding in found.findings)


def test_no_trial_at_all(run: RunStore) -> None:
    assert judge(run.manifest(), [], []).level == "not"


def test_a_chain_without_proof(run: RunStore) -> None:
    record = run.trials()[0]
    bare = replace(record, deployment={**record.deployment, "traversal": {"proven": False}})
    found = judge(run.manifest(), [bare, *run.trials()[1:]], run.summaries())
    assert any("no proof" in finding and bare.trial_id in finding for finding in found.findings)
