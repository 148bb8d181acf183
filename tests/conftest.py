"""What all tests share: tiers, skips with reasons, and a state folder of their own."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cpu_times import CpuTimes
from support.needs import skip_unless
from support.records.runs import MADE_RUNS
from support.tiers import mark_exhaustive, register_profiles

from sfcperf.vnfs.sfcmon.bmv2 import switch

MEMORY = "/dev/shm"
ROOM_BYTES = 4 << 30
TESTS = Path(__file__).parent


def _use_memory() -> None:
    """Temporary files belong in memory where there is room for those of all tests: what a test
    writes it removes again, and disks make it wait for both."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    found = os.statvfs(MEMORY)
    if found.f_bavail * found.f_frsize >= ROOM_BYTES and not found.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = MEMORY


def _heed_signals() -> None:
    """A shell has what it starts in the background ignore SIGINT, and so would the processes that
    tests send it to. SIGHUP stays ignored under nohup, which protects the runner and its children
    from the end of a terminal; tests that send it use `support.signals.default_signals`."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _ask_servers_directly() -> None:
    """Servers of tests are on this machine: neither a proxy nor .netrc has to do with them."""
    os.environ.update(NETRC=os.devnull, no_proxy="*", NO_PROXY="*")


_use_memory()
_heed_signals()
_ask_servers_directly()
register_profiles()
if MADE_RUNS not in os.environ:  # workers have it from the process that started them
    os.environ[MADE_RUNS] = tempfile.mkdtemp(prefix="sfcperf-runs-")
# What a disk has, matters after a power cut alone, and waiting for it took half of the time.
os.fsync = lambda descriptor: None
TOGETHER = ("tests/e2e/elasticsearch/", "tests/e2e/services/")
"""Folders whose tests share a server."""
_DESELECTED = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cpu-times", type=int, metavar="N", help="print the N tests that took most CPU time"
    )


def pytest_configure(config: pytest.Config) -> None:
    if (most := config.getoption("--cpu-times")) is not None:
        config.pluginmanager.register(CpuTimes(most))


def pytest_collection() -> None:
    """Nothing that collecting makes is garbage: to look for it takes a tenth of its time."""
    gc.disable()
    _ask_no_neighbours()


def _ask_no_neighbours() -> None:
    """A frame without a destination is to everybody. Otherwise scapy asks the machine's own network
    for the address that belongs to the packet's, and waits seconds for an answer."""
    from scapy.layers.l2 import conf  # scapy.config alone has no conf.neighbor yet

    conf.neighbor.resolve = lambda frame, packet: "ff:ff:ff:ff:ff:ff"


def pytest_collection_finish() -> None:
    """What is there stays there: it is not looked at again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before pytest deselects by markers."""
    mark_exhaustive(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=_turns(items))


def _turns(items: Sequence[pytest.Item]) -> Callable[[pytest.Item], float]:
    """Files with servers first: they are the longest. Then files of the other tiers by turns: unit
    tests use the CPUs while integration tests wait for the kernel, and two of these seldom meet."""
    files = defaultdict(list)
    for path in dict.fromkeys(item.path for item in items):
        files[path.relative_to(TESTS).parts[0]].append(path)
    turns = {
        path: -1.0 if tier == "e2e" else position / len(paths)
        for tier, paths in files.items()
        for position, path in enumerate(paths)
    }
    return lambda item: turns[item.path]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One worker runs a file, and with it what the file's tests share; also a folder of `TOGETHER`.

    Not groups (`xdist_group`): pytest 9.2 ignores those of pytest-xdist 3.8.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((folder for folder in TOGETHER if path.startswith(folder)), path)

    return ByFile(config, log)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The process that started the workers removes the runs that all have copied."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ[MADE_RUNS], ignore_errors=True)


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count them: pytest-xdist does not tell what its workers deselect."""
    if items:
        stash = items[0].config.stash
        stash[_DESELECTED] = stash.get(_DESELECTED, 0) + len(items)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its count to the process that prints the summary."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = session.config.stash.get(_DESELECTED, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All workers deselect the same tests."""
    node.config.stash[_DESELECTED] = getattr(node, "workeroutput", {}).get("deselected", 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was not run."""
    if count := terminalreporter.config.stash.get(_DESELECTED, 0):
        terminalreporter.line(f"{count} tests deselected; `make test-all` runs every test")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, and say why."""
    if item.get_closest_marker("root"):
        if not sys.platform.startswith("linux"):
            pytest.skip("needs Linux network namespaces")
        if os.geteuid() != 0:
            pytest.skip("needs root: sudo make test")
    if item.get_closest_marker("bmv2"):
        skip_unless(switch.requirement())


@pytest.fixture(autouse=True)
def state_dir(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder for this test alone: `clean` and `resume` must not meet other tests' runs.

    Directly under the temporary folder, since sockets in it must fit the 107 bytes of a
    socket's path, which pytest's own tmp_path often exceeds.
    """
    folder = Path(tempfile.mkdtemp(prefix="sfcperf-"))
    monkeypatch.setenv("SFCPERF_STATE_DIR", str(folder))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bystander() -> Iterator[tuple[str, int]]:
    """A namespace and a process of somebody else, with a name that looks a little like ours."""
    name = f"sfcperfish-{os.getpid()}-{time.monotonic_ns()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    process = subprocess.Popen(["ip", "netns", "exec", name, "sleep", "300"])
    yield name, process.pid
    process.kill()
    process.wait()
    subprocess.run(["ip", "netns", "del", name], check=True)
