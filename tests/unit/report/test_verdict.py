from __future__ import annotations

from dataclasses import replace

from sfcperf.report.verdict import Verdict, verdict_of
from sfcperf.results.records import FailedAttempt
from sfcperf.results.store import RunStore


def verdict(run: RunStore, **changes: object) -> Verdict:
    return verdict_of({**run.manifest(), **changes}, run.trials(), run.summaries())


def test_trustworthy_when_nothing_speaks_against_it(sound_run: RunStore) -> None:
    found = verdict(sound_run)
    assert found.level == "trustworthy"
    assert "all 144 trials are valid" in found.headline and "fewer than 39 %" in found.headline
    assert found.findings == ()
    assert verdict_of(sound_run.manifest(), [], []).level == "not"


def test_a_run_that_did_not_end_or_had_problems(sound_run: RunStore) -> None:
    stopped = verdict(sound_run, status="interrupted")
    assert stopped.level == "care"
    assert stopped.headline.endswith(", but the run's status is interrupted")
    assert "sfcperf resume" in verdict(sound_run, status="running").findings[0]
    problems = ["tear-down of s000: busy"]
    assert verdict(sound_run, problems=problems).findings == tuple(problems)


def test_bad_trials_are_counted_with_their_reasons(run: RunStore) -> None:
    found = verdict_of(run.manifest(), run.trials(), run.summaries())
    assert (found.level, found.valid, found.untrusted, found.failed) == ("care", 70, 1, 1)
    text = "\n".join(found.findings)
    assert "1 trial untrusted: the sender reached 412.1 of 500 Mbit/s" in text
    assert "1 trial failed: httperf: exit status 1" in text


def test_missing_trials_and_intervals(run: RunStore) -> None:
    trials = run.trials()[:10]
    rows = [replace(run.summaries()[0], n=1, ci_low=None, ci_high=None, ci_withheld="one trial")]
    found = verdict_of(run.manifest(), trials, rows)
    assert found.missing == 62
    assert "62 planned trials were not run." in found.findings
    assert any("without an interval" in finding for finding in found.findings)


def roughly(run: RunStore, **changes: object) -> Verdict:
    """The verdict on a run of valid trials, one primary number of which is like this."""
    rows = run.summaries()
    index = next(i for i, row in enumerate(rows) if row.primary and row.label == "iperf3-tcp")
    rows[index] = replace(rows[index], **changes)  # type: ignore[arg-type]
    return verdict_of(run.manifest(), run.trials(), rows)


def test_valid_trials_whose_numbers_say_nothing_are_not_trustworthy(sound_run: RunStore) -> None:
    few = roughly(sound_run, n=5, planned=5, relative_half_width=3.67)
    assert few.level == "care"
    assert "1 of 30 primary results is imprecise" in few.headline
    (finding,) = few.findings
    assert "Fewer than 6 valid trials: iperf3-tcp rate (topology T1, chain_length 0)" in finding
    assert "Plan 6 rounds or more" in finding
    # Enough rounds, of which trials do not count.
    (finding,) = roughly(sound_run, n=5, planned=6).findings
    assert "n = 5. More rounds" in finding
    wide = roughly(sound_run, n=6, relative_half_width=0.512)
    assert wide.level == "care"
    (finding,) = wide.findings
    assert "wider than ±50 % of the number" in finding
    assert "iperf3-tcp rate (topology T1, chain_length 0) ±51 %" in finding
    assert roughly(sound_run, relative_half_width=None).level == "care"


def test_reasons_that_differ_in_figures_are_told_once(sound_run: RunStore) -> None:
    trials = sound_run.trials()
    for number, took in enumerate(("0.04", "0.021", "0.04")):
        reasons = (f"the test took {took} s, too short",)
        trials[number] = replace(trials[number], status="untrusted", reasons=reasons)
    trials[3] = replace(trials[3], status="untrusted", reasons=("the sender was late",))
    first, *_ = verdict_of(sound_run.manifest(), trials, sound_run.summaries()).findings
    assert first.startswith("4 trials untrusted: ") and "the sender was late" in first
    assert first.count("too short") == 1 and "(in 1 with other figures)" in first


def test_a_number_at_the_bounds_or_a_secondary_one_does_not_alarm(sound_run: RunStore) -> None:
    assert roughly(sound_run, n=6, relative_half_width=0.5).level == "trustworthy"
    assert roughly(sound_run, n=2, relative_half_width=9.0, primary=False).level == "trustworthy"


def test_only_the_first_rough_numbers_are_named(sound_run: RunStore) -> None:
    rows = [replace(row, relative_half_width=0.9) for row in sound_run.summaries()]
    (finding,) = verdict_of(sound_run.manifest(), sound_run.trials(), rows).findings
    assert finding.count("±90 %") == 4
    assert "and 26 more" in finding


def test_a_chain_without_proof(run: RunStore) -> None:
    record = run.trials()[0]
    bare = replace(record, deployment={**record.deployment, "traversal": {"proven": False}})
    found = verdict_of(run.manifest(), [bare, *run.trials()[1:]], run.summaries())
    assert any("no proof" in finding and bare.trial_id in finding for finding in found.findings)


def test_a_run_whose_functions_crashed_is_not_trustworthy(sound_run: RunStore) -> None:
    """Although every trial is valid."""
    crash = FailedAttempt(1, "crash", "broke: fwd-1: it has ended", ("fwd-1",), "")
    first, *others = sound_run.trials()
    trials = [replace(first, attempts=2, failed_attempts=(crash,)), *others]
    found = verdict_of(sound_run.manifest(), trials, sound_run.summaries())
    assert (found.level, found.valid) == ("care", 144)
    (finding,) = found.findings
    assert "1 of 145 attempts failed: a function crashed in 1 (fwd-1 in 1)" in finding
    assert found.headline.endswith("but a function crashed in 1 attempt")


def test_a_loss_above_the_threshold_is_a_finding(sound_run: RunStore) -> None:
    assert roughly(sound_run, loss_ratio=0.01, loss_warning=0.01).level == "trustworthy"
    found = roughly(sound_run, loss_ratio=0.08, loss_warning=0.01)
    assert found.level == "care"
    assert "8 %" in found.findings[0]


def test_the_headline_ends_before_what_is_in_parentheses(sound_run: RunStore) -> None:
    first, *others = sound_run.trials()
    noisy = [replace(first, noise={"quiet_steal_ratio": 0.2}), *others]
    manifest = sound_run.manifest()
    design = {key: value for key, value in manifest["design"].items() if key != "noise_gate"}
    found = verdict_of({**manifest, "design": design}, noisy, sound_run.summaries())
    assert first.trial_id in found.findings[0]
    assert found.headline.endswith("1 of 1 trial")


def test_an_outlier_is_named_and_the_headline_says_so(sound_run: RunStore) -> None:
    """All trials are valid: this alone is no reason for care."""
    found = roughly(sound_run, outliers=("r003-s000-iperf3-tcp",))
    assert found.level == "care"
    assert found.headline.endswith("all 144 trials are valid, but 1 trial is an outlier")
    assert "iperf3-tcp rate (topology T1, chain_length 0) 1 of 6" in found.findings[0]
