"""The engine on the fakes: order, retries, reasons, stopping, problems beside the trials."""

from __future__ import annotations

import json

import pytest
from support.engine import Bench, Observer, faulty

from sfcperf.cli.outcome import failures, warnings
from sfcperf.control.events import Listener
from sfcperf.errors import ExitCode, InputError
from sfcperf.results.records import TrialRecord, utc_now
from sfcperf.results.store import RunStore
from sfcperf.workflow.plan import PlannedTrial

B = {"probe": "fake", "name": "b"}


def test_a_run_records_every_trial_with_its_chain_and_leaves_nothing(bench: Bench) -> None:
    outcome = bench.start()
    assert outcome.exit_code is ExitCode.OK
    assert [record.trial_id for record in bench.trials()] == bench.planned()
    assert {record.status for record in bench.trials()} == {"valid"}
    manifest = bench.manifest()
    assert (manifest["status"], manifest["state"]) == ("complete", "done")
    assert manifest["trials"] == {"valid": 8, "untrusted": 0, "failed": 0}
    assert manifest["infrastructure"] == {"fake": True}
    assert set(manifest["stopping"].values()) == {"planned rounds done"}
    assert "services" not in manifest
    assert bench.leftovers() == []
    warmup = (bench.folder() / "warmup.jsonl").read_text().splitlines()
    assert [json.loads(line)["trial_id"][:4] for line in warmup] == ["w001"] * 4
    # The raw output of the warm-up goes.
    raw = {path.name for path in (bench.folder() / "raw").iterdir()}
    assert raw == {*bench.planned(), "driver", "traversal"}

    with_chain = bench.by_id()["r001-s001-a"]
    assert with_chain.packets == {"sf-1": 10, "sf-2": 10}
    assert with_chain.deployment["encapsulation"] == "nsh-eth"
    traversal = with_chain.deployment["traversal"]
    assert traversal["proven"] is True
    evidence = json.loads((bench.folder() / traversal["evidence"]).read_text())
    assert evidence["deployment"] == with_chain.deployment["id"]
    assert bench.by_id()["r001-s000-a"].packets == {}


@pytest.mark.parametrize(
    ("fault", "kind", "reason"),
    [
        ("fail", "measurement", "the tool said no"),
        ("bug", "measurement", "ValueError: a bug in the probe"),
        ("nan", "measurement", "rtt_us"),
        ("nan-note", "measurement", "cannot be written"),
        ("silent", "deployment", "sf-1 forwarded 0, sf-2 forwarded 0, at least 10 packets"),
        ("cleanup", "measurement", "OSError: the server does not end"),
        ("crash", "crash", "no answer"),
        ("break", "crash", "broke during the measurement: sf-1: it crashed"),
    ],
)
def test_a_failed_attempt_is_tried_again_on_a_chain_that_works(
    bench: Bench, fault: str, kind: str, reason: str
) -> None:
    outcome = bench.start(probes=[faulty(attempt1=fault), B])
    record = bench.by_id()["r001-s001-a"]
    assert outcome.exit_code is ExitCode.OK
    assert (record.status, record.attempts, record.reasons) == ("valid", 2, ())
    (failed,) = record.failed_attempts
    assert (failed.attempt, failed.kind) == (1, kind)
    assert failed.functions == (("sf-1",) if kind == "crash" else ())
    assert reason in failed.reason
    raw = bench.folder() / record.raw
    assert (raw / "attempt-1" / "fake.txt").read_text() == f"{fault}\n"
    assert (raw / "attempt-2" / "fake.txt").read_text() == "\n"
    if fault == "bug":
        assert "Traceback" in (raw / "attempt-1" / "error.txt").read_text()
    assert (failed.deployment != record.deployment["id"]) is (kind == "crash")


def test_a_trial_that_always_fails_is_recorded_once_and_the_run_goes_on(bench: Bench) -> None:
    outcome = bench.start(probes=[faulty(attempt1="fail", attempt2="silent", attempt3="bug"), B])
    record = bench.by_id()["r001-s001-a"]
    assert (record.status, record.attempts, record.samples) == ("failed", 3, ())
    assert [reason.split(":")[0] for reason in record.reasons] == [
        "attempt 1",
        "attempt 2",
        "attempt 3",
    ]
    assert [record.trial_id for record in bench.trials()] == bench.planned()
    assert outcome.exit_code is ExitCode.SOME_TRIALS_BAD
    assert outcome.trials == {"valid": 7, "untrusted": 0, "failed": 1}


def test_a_reason_is_told_once_however_often_it_was_met(bench: Bench) -> None:
    """Also in the last lines of the run."""
    bench.start(probes=[faulty(attempt1="fail", attempt2="fail", attempt3="fail"), B])
    record = bench.by_id()["r001-s001-a"]
    assert (record.attempts, record.reasons) == (3, ("the tool said no",))
    assert [failed.attempt for failed in record.failed_attempts] == [1, 2, 3]
    told = "\n".join([*failures(bench.trials()), *warnings(bench.trials())])
    assert told.count("the tool said no") == 1


def test_what_an_attempt_says_is_recorded_and_not_repeated(bench: Bench) -> None:
    script = {
        f"{trial}-a/attempt-1": fault
        for trial, fault in (
            ("r001-s001", "untrusted"),
            ("r001-s000", "impossible"),
            ("r002-s001", "drops"),
            ("r002-s000", "unparsed"),
        )
    }
    outcome = bench.start(probes=[{"probe": "fake", "name": "a", "script": script}, B])
    assert outcome.exit_code is ExitCode.SOME_TRIALS_BAD
    records = bench.by_id()
    assert {record.attempts for record in records.values()} == {1}
    untrusted, failed = records["r001-s001-a"], records["r001-s000-a"]
    assert (untrusted.status, untrusted.reasons) == ("untrusted", ("the sender was late",))
    assert untrusted.samples
    assert failed.status == "failed"
    assert "the chain does not allow it" in failed.reasons[0]
    assert records["r002-s001-a"].notes["sf_drops"] == {"sf-1": 5, "sf-2": 5}
    assert records["r002-s000-a"].notes["unparsed_frames"] == {"sff@node1": 3}
    others = [record for record in records.values() if record.label == "b"]
    assert {record.status for record in others} == {"valid"}
    assert not any({"sf_drops", "unparsed_frames"} & record.notes.keys() for record in others)


def infrastructure(bench: Bench, **config: object) -> dict[str, object]:
    return {"driver": "fake", "config": {"folder": str(bench.resources), **config}}


DESIGN = {"rounds": 1, "warmup_rounds": 0, "max_retries": 1, "order": "sequential"}


@pytest.mark.parametrize("fault", ["half", "bug", "prove"])
def test_a_deployment_that_fails_once_is_tried_again(bench: Bench, fault: str) -> None:
    faulty = infrastructure(bench, faults={"1": fault})
    assert bench.start(infrastructure=faulty, design=DESIGN).exit_code is ExitCode.OK
    assert bench.trials()[0].attempts == 2
    assert bench.leftovers() == []


@pytest.mark.parametrize(
    ("fault", "reason"), [("half", "half built"), ("prove", "sf-1 saw nothing")]
)
def test_a_chain_that_cannot_be_had_fails_its_trials_only(
    bench: Bench, fault: str, reason: str
) -> None:
    faulty = infrastructure(bench, faults={"1": fault, "2": fault})
    bench.start(infrastructure=faulty, design=DESIGN)
    statuses = [(record.scenario_id, record.status) for record in bench.trials()]
    assert statuses == [("s000", "failed")] * 2 + [("s001", "valid")] * 2
    for record in bench.trials()[:2]:
        assert reason in record.reasons[-1]
    assert bench.leftovers() == []


def test_a_tear_down_that_fails_is_made_good_from_the_journal(bench: Bench) -> None:
    faulty = infrastructure(bench, faults={"1": "teardown"})
    outcome = bench.start(infrastructure=faulty, design=DESIGN)
    assert (outcome.exit_code, outcome.problems) == (ExitCode.OK, ())
    assert bench.leftovers() == []


def test_what_cannot_be_removed_is_said_and_left_for_clean(bench: Bench) -> None:
    (bench.resources / "stuck").touch()
    outcome = bench.start(infrastructure=infrastructure(bench, stuck=True), design=DESIGN)
    assert any("it is stuck" in problem for problem in outcome.problems)
    assert any("sfcperf clean" in problem for problem in outcome.problems)
    assert outcome.trials["valid"] == 4
    assert bench.clean() == ["failed"]
    (bench.resources / "stuck").unlink()
    assert bench.clean() == ["removed"]
    assert bench.leftovers() == []


def test_what_monitors_saw_and_what_they_cost_is_kept(bench: Bench) -> None:
    import pyarrow.parquet

    bench.start(monitors=[{"monitor": "fake"}], design=DESIGN)
    planned = sorted(bench.planned(design=DESIGN))
    table = pyarrow.parquet.read_table(bench.folder() / "telemetry.parquet")
    assert sorted(set(table["trial_id"].to_pylist())) == planned
    assert bench.manifest()["monitors"][0]["cpu_s"] == pytest.approx(4 * 0.25)
    flows = pyarrow.parquet.read_table(bench.folder() / "flows.parquet").to_pylist()
    assert sorted(row["trial_id"] for row in flows) == planned
    assert {row["packets"] for row in flows} == {3}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("start", "cannot observe"),
        ("stop", "lost what was observed"),
        ("flows", "lost the flows"),
        ("values", "OverflowError"),
    ],
)
def test_a_monitor_that_fails_fails_the_trial(bench: Bench, broken: str, reason: str) -> None:
    bench.start(monitors=[{"monitor": "fake", "broken": broken}], design=DESIGN)
    assert {record.status for record in bench.trials()} == {"failed"}
    assert all(reason in record.reasons[0] for record in bench.trials())


def test_a_publisher_that_fails_is_reported_and_loses_nothing(bench: Bench) -> None:
    outcome = bench.start(publish=[{"to": "fake", "fail": True}], design=DESIGN)
    assert outcome.exit_code is ExitCode.ENVIRONMENT
    assert outcome.trials == {"valid": 4, "untrusted": 0, "failed": 0}
    assert any("the server is down" in problem for problem in outcome.problems)
    assert bench.manifest()["problems"] == list(outcome.problems)
    assert RunStore(bench.folder()).summaries()


def test_a_publisher_sees_a_finished_run(bench: Bench) -> None:
    bench.start(publish=[{"to": "fake"}], design=DESIGN)
    assert (bench.folder() / "published.txt").read_text() == "complete"


def stop_when(relative_half_width: float, max_rounds: int) -> dict[str, object]:
    stop = {"relative_half_width": relative_half_width, "max_rounds": max_rounds}
    return {**DESIGN, "rounds": 2, "centre": "mean", "rarest_mode": 0.8, "stop_when": stop}


def test_rounds_are_added_until_the_mean_is_known(bench: Bench) -> None:
    # Probe numbers are 100 + round: after 2 rounds the half-width is 14 % of the mean, then 3.7 %.
    bench.start(design=stop_when(0.04, 9))
    assert {record.round for record in bench.trials()} == {1, 2, 3}
    assert all("after 3 rounds" in reason for reason in bench.manifest()["stopping"].values())


def test_rounds_end_at_their_maximum(bench: Bench) -> None:
    spread = [{"probe": "fake", "name": "a", "spread": 50}]
    bench.start(design=stop_when(0.001, 4), probes=spread)
    assert {record.round for record in bench.trials()} == {1, 2, 3, 4}
    assert all("max_rounds 4" in reason for reason in bench.manifest()["stopping"].values())


def test_results_that_cannot_be_written_are_bad_input(bench: Bench) -> None:
    bench.results = bench.results / "file"
    bench.results.touch()
    with pytest.raises(InputError, match="cannot be created"):
        bench.start()
    assert bench.leftovers() == []


def test_the_state_machine_goes_its_way(bench: Bench) -> None:
    observer = Observer()
    bench.start(observer, design=DESIGN, factors={"chain_length": [1]})
    assert observer.phases == [
        "deploying",
        "verifying",
        "measuring",
        "tearing down",
        "analysing",
        "publishing",
        "done",
    ]


def test_a_trial_starts_when_its_chain_is_proven(bench: Bench) -> None:
    class Clock(Listener):
        verifying_at = ""

        def phase(self, name: str) -> None:
            if name == "verifying":
                self.verifying_at = utc_now()

        def trial_ended(self, trial: PlannedTrial, record: TrialRecord) -> None:
            assert self.verifying_at < record.started_at <= record.ended_at

    bench.start(Clock(), design=DESIGN)
    assert len(bench.trials()) == 4
