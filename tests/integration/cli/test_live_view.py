"""`sfcperf report --serve` and `sfcperf watch` beside a run, as processes."""

from __future__ import annotations

import signal
import urllib.request

from support.command import spawn
from support.engine import SMALL, Bench

_TIMEOUT_S = 60


def test_ctrl_c_ends_the_server(bench: Bench) -> None:
    bench.start(**SMALL)
    with spawn("report", "--serve", "--port", 0, bench.folder()) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            assert b"<strong>4</strong> valid" in answer.read()
        server.send_signal(signal.SIGINT)
        rest, errors = server.communicate(timeout=_TIMEOUT_S)
    assert (server.returncode, rest, errors) == (130, "", "interrupted\n")


def test_watch_ends_with_the_run(bench: Bench) -> None:
    workflow = bench.write(**SMALL)
    with spawn("run", workflow, "--results", bench.results) as run:
        assert run.stderr is not None
        # The folder is complete before the first trial begins.
        assert any("planned" in line for line in run.stderr)
        with spawn("watch", bench.folder()) as watching:
            said, errors = watching.communicate(timeout=_TIMEOUT_S)
        run.communicate(timeout=_TIMEOUT_S)
    assert (run.returncode, watching.returncode, errors) == (0, 0, "")
    assert "the run is complete; 4 trials: 4 valid" in said
    assert [line.split()[0] for line in said.splitlines() if " of 4: " in line] == list("1234")
