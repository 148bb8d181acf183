"""Services in a run: when they are called, what becomes of those that break, and what is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.engine import SMALL, Bench, Observer
from support.schemas import violations

from sfcperf import plugins, retry
from sfcperf.control.clean import clean
from sfcperf.errors import EnvironmentLacks, InterruptedRun
from sfcperf.services import processes

pytestmark = pytest.mark.usefixtures("fast_facts")

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


def service(bench: Bench, **parameters: Any) -> dict[str, Any]:
    return {"service": "fake", "folder": str(bench.resources), **parameters}


def calls(bench: Bench, name: str = "store", session: str = "services") -> list[str]:
    file = bench.folder() / "raw" / session / name / "calls"
    return file.read_text().splitlines()


def test_the_order_of_calls(bench: Bench) -> None:
    outcome = bench.start(**SMALL, services={"store": service(bench, command=SLEEPS)})
    assert outcome.exit_code == 0
    assert outcome.problems == ()
    chain = ["begin_trial", "end_trial", "chain_removed"]
    assert calls(bench)[0] == "start"
    assert calls(bench)[-1] == "stop"
    groups = [calls(bench)[n : n + 4] for n in range(1, len(calls(bench)) - 1, 4)]
    assert [group[1:] for group in groups] == [chain] * 4
    assert sorted(group[0] for group in groups) == [
        *["chain_deployed s000"] * 2,
        *["chain_deployed s001"] * 2,
    ]
    assert bench.leftovers() == []


def test_what_is_recorded(bench: Bench) -> None:
    observer = Observer()
    services = {"store": service(bench), "other": service(bench, limit=3)}
    bench.start(observer, **SMALL, services=services)
    assert violations(bench.folder()) == []
    assert observer.phases[0] == "starting services"
    manifest = bench.manifest()
    told = {"service": "fake", "version": "1"}
    assert manifest["services"] == {"store": told, "other": told}
    assert "starting services" in manifest["phases"]
    for trial in bench.trials():
        assert trial.notes["services"] == {"store": {"trials": 1}, "other": {"trials": 1}}
        assert trial.deployment["services"] == {"store": {"limit": 0}, "other": {"limit": 3}}


def test_what_a_service_doubts_is_untrusted_and_what_it_refuses_is_not_measured(
    bench: Bench,
) -> None:
    bench.start(**SMALL, services={"store": service(bench, doubts=True, refuses="s001")})
    by_id = bench.by_id()
    doubted, refused = by_id["r001-s000-a"], by_id["r001-s001-a"]
    assert doubted.status == "untrusted"
    assert doubted.reasons == ("service store: something is under way",)
    assert refused.status == "failed"
    assert "this chain is nothing for it" in refused.reasons[0]
    assert bench.leftovers() == []


@pytest.mark.parametrize("mute", [False, True])
def test_a_service_that_breaks_fails_the_attempt_and_comes_back(bench: Bench, mute: bool) -> None:
    """Also one whose health check fails."""
    bench.start(**SMALL, services={"store": service(bench, breaks_in=2, mute=mute)})
    trials = bench.trials()
    assert [trial.status for trial in trials] == ["valid"] * 4
    assert [trial.attempts for trial in trials] == [1, 2, 1, 1]
    (failed,) = trials[1].failed_attempts
    assert failed.kind == "service"
    problem = "the health check failed: OSError: it does not" if mute else "its file is away"
    assert f"broke during the measurement: service store: {problem}" in failed.reason
    assert calls(bench).count("recover") == 1


def test_a_service_that_does_not_come_back_fails_what_follows(bench: Bench) -> None:
    bench.start(**SMALL, services={"store": service(bench, breaks_in=2, final=True)})
    trials = bench.trials()
    assert [trial.status for trial in trials] == ["valid", "failed", "failed", "failed"]
    assert "service store does not come back: nothing brings it back" in trials[1].reasons[1]
    # Once per attempt.
    assert calls(bench).count("recover") == sum(trial.attempts for trial in trials[1:]) - 1


def test_a_service_that_does_not_start_stops_the_run(bench: Bench) -> None:
    services = {"store": service(bench), "other": service(bench, fails=True, command=SLEEPS)}
    with pytest.raises(EnvironmentLacks, match="other cannot be started: it does not want to"):
        bench.start(**SMALL, services=services)
    assert calls(bench)[-1] == "stop"
    assert bench.manifest()["status"] == "failed"
    assert bench.leftovers() == []


def test_a_service_that_does_not_stop_is_removed_by_its_journal(bench: Bench) -> None:
    outcome = bench.start(**SMALL, services={"store": service(bench, stuck=True)})
    assert outcome.problems == ()
    assert bench.leftovers() == []


def test_a_signal_ends_a_start(bench: Bench, default_handlers: None) -> None:
    def interrupt() -> None:
        retry.until(lambda: list(bench.resources.iterdir()), timeout_s=30, period_s=0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    services = {"store": service(bench, start_s=600, command=SLEEPS)}
    with pytest.raises(InterruptedRun):
        bench.start(**SMALL, services=services)
    assert bench.manifest()["status"] == "interrupted"
    assert bench.leftovers() == []


def running(bench: Bench) -> list[int]:
    """Processes of services of this test's runs."""
    journals = [path.read_text() for path in bench.state.glob("runs/*/journal.jsonl")]
    return [pid for pid, mark in processes.marked(Everything()) if mark in "".join(journals)]


def alive(pid: int) -> bool:
    """Nobody may have waited for an orphan yet."""
    return pid in [marked for marked, _ in processes.marked(Everything())]


@contextmanager
def foreign_process() -> Iterator[subprocess.Popen[bytes]]:
    """Runs the same command, and belongs to no run."""
    popen = subprocess.Popen(SLEEPS)
    try:
        yield popen
    finally:
        popen.kill()
        popen.wait()


class Everything(list[str]):
    """Contains each mark."""

    def __contains__(self, mark: object) -> bool:
        return bool(mark)


def test_clean_ends_what_a_killed_run_left(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its plug-in is gone, the processes are ended all the same; the rest waits for it."""
    bench.kill_after(1, **SMALL, services={"store": service(bench, command=SLEEPS)})
    (pid,) = running(bench)
    load = plugins.load

    def absent(kind: str, name: str) -> Any:
        return load(kind, "gone" if kind == "service" else name)

    with foreign_process() as foreign:
        (shown,) = clean(dry_run=True)
        assert f"process {pid} ({sys.executable})" in shown.lines
        assert any(line.startswith("file ") and line.endswith("-store") for line in shown.lines)
        assert running(bench) == [pid]
        with monkeypatch.context() as patch:
            patch.setattr(plugins, "load", absent)
            assert bench.clean() == ["failed"]
        assert not alive(pid)
        assert bench.clean() == ["removed"]
        assert bench.leftovers() == []
        assert foreign.poll() is None


def test_a_resumed_run_starts_its_services_again(bench: Bench) -> None:
    bench.kill_after(1, **SMALL, services={"store": service(bench, command=SLEEPS)})
    (pid,) = running(bench)
    assert bench.resume().exit_code == 0
    assert calls(bench, session="services-2")[-1] == "stop"
    assert not alive(pid)
    assert [trial.status for trial in bench.trials()] == ["valid"] * 4
    assert bench.leftovers() == []
