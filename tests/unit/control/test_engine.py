"""The engine on the fakes: order, retries, reasons, stopping, problems beside the trials."""

from __future__ import annotations

import json

import pytest
from support.engine import Bench

from sfcperf.control import run as engine
from sfcperf.control.events import Listener
from sfcperf.errors import EnvironmentLacks, ExitCode, InputError, WorkflowError
from sfcperf.results.records import TrialRecord, utc_now
from sfcperf.results.store import RunStore
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import PlannedTrial


def probes(**script: str) -> list[dict[str, object]]:
    """Probe `a` with faults in round 1, scenario 1: attempt number -> fault."""
    attempts = {f"r001-s001-a/attempt-{key[-1]}": fault for key, fault in script.items()}
    return [{"probe": "fake", "name": "a", "script": attempts}, {"probe": "fake", "name": "b"}]


def test_a_run_records_every_planned_trial_in_order_and_leaves_nothing(bench: Bench) -> None:
    outcome = bench.start()
    assert outcome.exit_code is ExitCode.OK
    assert [record.trial_id for record in bench.trials()] == bench.planned()
    assert {record.status for record in bench.trials()} == {"valid"}
    manifest = bench.manifest()
    assert (manifest["status"], manifest["state"]) == ("complete", "done")
    assert manifest["trials"] == {"valid": 8, "untrusted": 0, "failed": 0}
    assert manifest["infrastructure"] == {"fake": True}
    assert set(manifest["stopping"].values()) == {"planned rounds done"}
    assert bench.leftovers() == []


def test_records_say_what_was_deployed_and_what_crossed_it(bench: Bench) -> None:
    bench.start()
    with_chain = bench.by_id()["r001-s001-a"]
    assert with_chain.packets == {"sf-1": 10, "sf-2": 10}
    assert with_chain.deployment["encapsulation"] == "nsh-eth"
    traversal = with_chain.deployment["traversal"]
    assert traversal["proven"] is True
    evidence = json.loads((bench.folder() / traversal["evidence"]).read_text())
    assert evidence["deployment"] == with_chain.deployment["id"]
    assert bench.by_id()["r001-s000-a"].packets == {}


def test_warm_up_is_kept_apart_and_its_raw_output_goes(bench: Bench) -> None:
    bench.start()
    warmup = (bench.folder() / "warmup.jsonl").read_text().splitlines()
    assert [json.loads(line)["trial_id"][:4] for line in warmup] == ["w001"] * 4
    raw = {path.name for path in (bench.folder() / "raw").iterdir()}
    assert raw == {*bench.planned(), "driver", "traversal"}


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
    ],
)
def test_a_failed_attempt_is_tried_again(bench: Bench, fault: str, kind: str, reason: str) -> None:
    outcome = bench.start(probes=probes(attempt1=fault))
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


def test_a_bug_of_a_plug_in_leaves_its_traceback_in_the_raw_output(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="bug"))
    text = (bench.folder() / "raw/r001-s001-a/attempt-1/error.txt").read_text()
    assert "Traceback" in text
    assert "a bug in the probe" in text


def test_a_trial_that_always_fails_is_recorded_once_and_the_run_goes_on(bench: Bench) -> None:
    outcome = bench.start(probes=probes(attempt1="fail", attempt2="silent", attempt3="bug"))
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


def test_an_unhealthy_deployment_is_built_anew_before_the_retry(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="crash"))
    records = bench.by_id()
    crashed = records["r001-s001-a"]
    deployments = {record.deployment["id"] for record in records.values()}
    assert crashed.status == "valid"
    # Four trial groups in two rounds, and one deployment more.
    assert len(deployments) <= 5
    assert crashed.deployment["facts"]["number"] > 2


def test_a_healthy_deployment_is_kept_for_the_retry(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="fail"))
    records = bench.by_id()
    assert records["r001-s001-a"].deployment["id"] == records["r001-s001-b"].deployment["id"]


def test_an_untrusted_trial_is_recorded_and_not_repeated(bench: Bench) -> None:
    outcome = bench.start(probes=probes(attempt1="untrusted"))
    record = bench.by_id()["r001-s001-a"]
    assert (record.status, record.attempts) == ("untrusted", 1)
    assert record.reasons == ("the sender was late",)
    assert record.samples
    assert outcome.exit_code is ExitCode.SOME_TRIALS_BAD


def test_what_cannot_be_measured_is_not_tried_again(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="impossible"))
    records = bench.by_id()
    record = records["r001-s001-a"]
    assert (record.status, record.attempts) == ("failed", 1)
    assert "the chain does not allow it" in record.reasons[0]
    # The next trial is measured.
    assert records["r001-s001-b"].status == "valid"


def test_drops_of_a_function_are_noted(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="drops"))
    record = bench.by_id()["r001-s001-a"]
    assert record.status == "valid"
    assert record.notes["sf_drops"] == {"sf-1": 5, "sf-2": 5}


def test_frames_that_no_classifier_could_parse_are_noted(bench: Bench) -> None:
    bench.start(probes=probes(attempt1="unparsed"))
    records = bench.by_id()
    assert records["r001-s001-a"].notes["unparsed_frames"] == {"sff@node1": 3}
    assert "unparsed_frames" not in records["r001-s001-b"].notes


def infrastructure(bench: Bench, **config: object) -> dict[str, object]:
    return {"driver": "fake", "config": {"folder": str(bench.resources), **config}}


DESIGN = {"rounds": 1, "warmup_rounds": 0, "max_retries": 1, "order": "sequential"}


@pytest.mark.parametrize("fault", ["deploy", "half", "bug", "prove"])
def test_a_deployment_that_fails_once_is_tried_again(bench: Bench, fault: str) -> None:
    faulty = infrastructure(bench, faults={"1": fault})
    assert bench.start(infrastructure=faulty, design=DESIGN).exit_code is ExitCode.OK
    assert bench.trials()[0].attempts == 2
    assert bench.leftovers() == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("deploy", "no resources left"), ("half", "half built"), ("prove", "sf-1 saw nothing")],
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


def test_telemetry_and_the_monitors_cost_are_kept(bench: Bench) -> None:
    bench.start(monitors=[{"monitor": "fake"}], design=DESIGN)
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(bench.folder() / "telemetry.parquet")
    assert sorted(set(table["trial_id"].to_pylist())) == sorted(bench.planned(design=DESIGN))
    assert bench.manifest()["monitors"][0]["cpu_s"] == pytest.approx(4 * 0.25)


def test_flows_of_each_trial_are_kept_once(bench: Bench) -> None:
    bench.start(monitors=[{"monitor": "fake"}], design=DESIGN)
    import pyarrow.parquet

    rows = pyarrow.parquet.read_table(bench.folder() / "flows.parquet").to_pylist()
    assert sorted(row["trial_id"] for row in rows) == sorted(bench.planned(design=DESIGN))
    assert {row["packets"] for row in rows} == {3}


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


def test_phases_add_up_to_the_runs_time(bench: Bench) -> None:
    slow = [{"probe": "fake", "name": "a", "measure_s": 0.05}]
    bench.start(probes=slow, design={**DESIGN, "warmup_rounds": 1})
    phases = bench.manifest()["phases"]
    assert {"deploying", "verifying", "warmup", "measuring", "teardown", "other"} <= set(phases)
    assert phases["measuring"] >= 2 * 0.05
    assert phases["warmup"] >= 2 * 0.05


def test_what_the_driver_cannot_build_is_refused_before_anything_is_made(bench: Bench) -> None:
    with pytest.raises(WorkflowError, match="longer than a fake chain"):
        bench.start(factors={"chain_length": [9]})
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_what_the_machine_lacks_is_said_before_anything_is_made(bench: Bench) -> None:
    with pytest.raises(EnvironmentLacks, match="fake-tool"):
        bench.start(infrastructure=infrastructure(bench, missing=True))
    assert list(bench.results.iterdir()) == []
    assert bench.leftovers() == []


def test_results_that_cannot_be_written_are_bad_input(bench: Bench) -> None:
    bench.results = bench.results / "file"
    bench.results.touch()
    with pytest.raises(InputError, match="cannot be created"):
        bench.start()
    assert bench.leftovers() == []


class Recorder(Listener):
    def __init__(self) -> None:
        self.states: list[str] = []

    def phase(self, name: str) -> None:
        self.states.append(name)


def test_the_state_machine_goes_its_way(bench: Bench) -> None:
    recorder = Recorder()
    bench.start(recorder, design=DESIGN, factors={"chain_length": [1]})
    assert recorder.states == [
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


def test_the_workflow_is_kept_as_given_and_as_run(bench: Bench) -> None:
    given = bench.document(presets={"short": {"design.rounds": 1}})
    workflow = load_document(given, bench.results.parent, overrides=["preset=short"])
    engine.start(workflow, bench.results, command=["test"], listener=Listener(), source=given)
    assert json.loads((bench.folder() / "workflow.json").read_text()) == given
    applied, _ = RunStore(bench.folder()).workflow()
    assert applied["design"]["rounds"] == 1
    assert "presets" not in applied
