"""The command as a process: start-up, pipes, signals, two at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from support.command import SFCPERF, spawn
from support.engine import SMALL, Bench
from support.heavy import HEAVY
from support.signals import default_signals

RETRY_S = 60
SLOW = [{"probe": "fake", "name": "a", "measure_s": 0.05}]
LONG = {"rounds": 20, "warmup_rounds": 0}
"""Some seconds of trials that each take some 50 ms."""


@pytest.fixture
def running(bench: Bench) -> Iterator[subprocess.Popen[str]]:
    """A run of some seconds that has printed its path."""
    path = bench.write(probes=SLOW, design=LONG)
    with spawn("run", path, "--results", bench.results, "--quiet") as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == str(bench.folder())
        yield process
        process.kill()


def test_help_imports_nothing_heavy() -> None:
    heavy = (*HEAVY, "jinja2", "psutil", "rich", "opentelemetry")
    code = (
        "import sys; import sfcperf.cli.main as m; sys.argv = ['sfcperf', '--help']\n"
        "try: m.main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "resume" in done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_in_order(bench: Bench, number: signal.Signals) -> None:
    """What was measured is told: trials of all kinds."""
    script = {"r001-s000-a/attempt-1": "untrusted", "r001-s001-a/attempt-1": "impossible"}
    path = bench.write(probes=[{**SLOW[0], "script": script}], design=LONG)
    with spawn("run", path, "--results", bench.results) as process:
        assert process.stderr is not None
        while "round 3" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        _, err = process.communicate(timeout=RETRY_S)
    measured = len(bench.trials())
    assert process.returncode == 130
    assert err.splitlines()[-2:] == [
        f"the run was interrupted by {number.name}; {measured} of 40 trials measured: "
        f"{measured - 2} valid, 1 untrusted, 1 failed",
        f"hint: `sfcperf resume {bench.folder()}` continues it",
    ]
    assert bench.manifest()["status"] == "interrupted"
    assert bench.leftovers() == []


def test_impatience_leaves_nothing_behind(bench: Bench, running: subprocess.Popen[str]) -> None:
    while running.poll() is None:
        running.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, err = running.communicate(timeout=RETRY_S)
    assert running.returncode == 130, err
    assert bench.manifest()["status"] == "interrupted"
    assert bench.leftovers() == []


def test_two_runs_at_once_succeed(bench: Bench) -> None:
    path = bench.write(**SMALL)
    with ExitStack() as stack:
        runs = [
            stack.enter_context(spawn("run", path, "--results", bench.results, "--quiet"))
            for _ in range(2)
        ]
        paths = [run.communicate(timeout=RETRY_S)[0].strip() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert sorted(paths) == sorted(str(path) for path in bench.results.iterdir())
    assert len(set(paths)) == 2
    assert bench.leftovers() == []


def test_a_living_run_is_neither_resumed_nor_cleaned(
    bench: Bench, running: subprocess.Popen[str]
) -> None:
    with spawn("resume", bench.folder()) as resumed:
        _, err = resumed.communicate(timeout=RETRY_S)
    assert resumed.returncode == 2
    assert "another process" in err
    with spawn("clean") as clean:
        out, _ = clean.communicate(timeout=RETRY_S)
    assert clean.returncode == 0
    assert f"{bench.folder().name}: is still running, not touched" in out
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=RETRY_S)
    assert running.returncode == 130


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize("module", ["sfcperf.cli.failures", "typer", "sfcperf.cli.inputs"])
def test_interrupted_before_the_run_begins(bench: Bench, module: str) -> None:
    """Ctrl-C in the middle of the imports, before and after signals are ours."""
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from sfcperf.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "plan", str(bench.write())],
        capture_output=True,
        text=True,
        preexec_fn=default_signals,
        timeout=RETRY_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.gate_runs(1)
@pytest.mark.parametrize(
    ("closed", "verb"),
    [("<&- >&- 2>&-", "run"), (">&-", "list"), ("2>&-", "run"), ("<&-", "runs"), (">&-", "run -q")],
)
def test_closed_streams_are_no_error(bench: Bench, closed: str, verb: str) -> None:
    run = [str(bench.write()), "--results", str(bench.results)]
    command = [SFCPERF, *verb.split(), *(run if verb.startswith("run ") or verb == "run" else [])]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *command],
        capture_output=True,
        text=True,
        timeout=RETRY_S,
        check=False,
        env={**os.environ, "SFCPERF_RESULTS": str(bench.results)},
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "Exception ignored" not in done.stderr + done.stdout


def test_errors_do_not_move_to_stdout_when_stderr_is_closed(bench: Bench) -> None:
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", SFCPERF, "plan", "no-such-workflow"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RETRY_S, check=False)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.exhaustive
def test_a_reader_that_goes_away_does_not_end_a_run(bench: Bench) -> None:
    reader, writer = os.pipe()
    path = bench.write()
    with spawn("run", path, "--results", bench.results, stdout=writer) as process:
        os.close(writer)
        os.close(reader)
        _, err = process.communicate(timeout=RETRY_S)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert [record.trial_id for record in bench.trials()] == bench.planned()


def test_a_bar_is_drawn_on_a_terminal_only(bench: Bench) -> None:
    master, slave = os.openpty()
    path = bench.write(**SMALL)
    with subprocess.Popen(
        [SFCPERF, "run", str(path), "--results", str(bench.results)],
        stdout=subprocess.PIPE,
        stderr=slave,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(slave)
        drawn = read_all(master)
        out, _ = process.communicate(timeout=RETRY_S)
    assert process.returncode == 0
    assert "4/4" in drawn
    assert b"\x1b" not in out


def read_all(descriptor: int) -> str:
    """What a pseudo terminal gives until its other side is closed."""
    chunks = []
    try:
        while chunk := os.read(descriptor, 65536):
            chunks.append(chunk)
    except OSError:
        # Linux reports the closed other side of a pseudo terminal as EIO.
        pass
    finally:
        os.close(descriptor)
    return b"".join(chunks).decode()
