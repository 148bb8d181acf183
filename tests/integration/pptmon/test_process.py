"""pptmon as a process: attached by tcx and clsact, ended in every way, nothing left behind.

Judges are the kernel (BPF_PROG_QUERY), tc and /proc.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.needs import compiled
from support.network.wires import Lab, Port, eventually, ip, space
from support.pptmon.hooks import children, clsact, is_alive, qdiscs, tcx
from support.pptmon.process import BINARY, Pptmon

from sfcperf.dataplane import binaries
from sfcperf.dataplane.pptmon.events import Counters, ErrorEvent, ReadyEvent
from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root

HOOKS = {"tcx": tcx, "clsact": clsact}
BACK = ("eth1", "eth0")
BOTH = pytest.mark.parametrize("hook", ["tcx", "clsact"])
KILLS = 20


class Vnf:
    """Two interfaces in a namespace, and pptmons on them."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab, self.folder = lab, folder
        self._numbers = itertools.count()
        outside, self.host = lab.host("outside"), lab.host("vnf")
        _, self.one = lab.join((outside, "out0"), (self.host, "eth0"))
        _, self.other = lab.join((outside, "out1"), (self.host, "eth1"))

    def start(self, *options: str, way: tuple[str, str] = ("eth0", "eth1")) -> Pptmon:
        # Output is appended: each one has a file of its own.
        folder = self.folder / str(next(self._numbers))
        pptmon = Pptmon(self.host, folder, "source-sink", 7, *way, options)
        self.lab.at_end(pptmon.kill)
        return pptmon

    def attached(self, hook: str) -> dict[str, list[str]]:
        """By place, what is attached there."""
        show: Callable[[Port, str], list[str]] = HOOKS[hook]
        places = {
            f"{port.interface} {direction}": show(port, direction)
            for port in (self.one, self.other)
            for direction in ("ingress", "egress")
        }
        return {place: programs for place, programs in places.items() if programs}

    def is_clean(self) -> bool:
        """No program, no filter, no clsact."""
        return (
            not self.attached("tcx")
            and not self.attached("clsact")
            and "clsact" not in qdiscs(self.one) + qdiscs(self.other)
        )

    def tc(self, *arguments: str) -> None:
        subprocess.run(["tc", "-n", space(self.host), *arguments], check=True, timeout=10)

    def filter(self, direction: str, *priority: str) -> None:
        """Somebody else's, on eth0, that knows every packet."""
        what = ["protocol", "ip", "u32", "match", "u32", "0", "0", "classid", "1:1"]
        self.tc("filter", "add", "dev", "eth0", direction, *priority, *what)


@pytest.fixture
def vnf(lab: Lab, tmp_path: Path) -> Vnf:
    compiled(BINARY)
    return Vnf(lab, tmp_path / "pptmon")


@BOTH
def test_programs_are_attached_while_it_runs(vnf: Vnf, hook: str) -> None:
    """On both sides, which may be one interface. It counts when asked, also after a stop."""
    for ingress, egress in (("eth0", "eth1"), ("eth0", "eth0")):
        pptmon = vnf.start("--attach", hook, way=(ingress, egress))
        assert pptmon.wait_ready() == ReadyEvent("source-sink", 7, ingress, egress, hook, "paper")
        assert vnf.attached(hook) == {"eth0 ingress": ["enter"], f"{egress} egress": ["leave"]}
        pptmon.process.send_signal(signal.SIGSTOP)
        pptmon.process.send_signal(signal.SIGCONT)
        assert set(pptmon.counters().values.values()) == {0}
        pptmon.stop()
        assert vnf.is_clean()
        assert isinstance(pptmon.events()[-1], Counters)


@pytest.mark.parametrize(
    ("hook", "how"),
    [
        ("tcx", signal.SIGTERM),
        ("clsact", signal.SIGINT),
        ("clsact", signal.SIGHUP),
        ("tcx", signal.SIGKILL),
        ("clsact", signal.SIGKILL),
    ],
)
def test_nothing_stays(vnf: Vnf, hook: str, how: signal.Signals) -> None:
    pptmon = vnf.start("--attach", hook)
    pptmon.wait_ready()
    helpers = children(pptmon.process.pid)
    assert len(helpers) == (1 if hook == "clsact" else 0)
    pptmon.process.send_signal(how)
    status = pptmon.process.wait(10)
    assert status == (0 if how != signal.SIGKILL else -signal.SIGKILL)
    assert eventually(vnf.is_clean)
    assert eventually(lambda: not any(map(is_alive, helpers)))


def test_the_guard_outlives_the_process_group(vnf: Vnf) -> None:
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    os.killpg(os.getpgid(pptmon.process.pid), signal.SIGKILL)
    assert eventually(vnf.is_clean)


@pytest.mark.gate_runs(1)
@BOTH
def test_killed_at_any_moment_of_its_start(vnf: Vnf, hook: str) -> None:
    began = time.monotonic()
    pptmon = vnf.start("--attach", hook)
    pptmon.wait_ready()
    whole_s = time.monotonic() - began
    pptmon.stop()
    rng = random.Random(hook)
    for _ in range(KILLS):
        pptmon = vnf.start("--attach", hook)
        time.sleep(rng.uniform(0, 1.7) * whole_s)  # it attaches at about 0.9
        pptmon.kill()
        assert eventually(vnf.is_clean)
    # And no guard is left: each holds a slot.
    assert eventually(lambda: _guards(vnf) == [])


def _guards(vnf: Vnf) -> list[str]:
    """Sockets by which the living are known in the namespace."""
    with inside(vnf.host.namespace):
        sockets = Path("/proc/thread-self/net/unix").read_text()
    return [line for line in sockets.splitlines() if "@sfcperf/pptmon/" in line]


def _kill_both(pptmon: Pptmon) -> None:
    """So that filters stay: the guard first."""
    [guard] = children(pptmon.process.pid)
    os.kill(guard, signal.SIGKILL)
    pptmon.kill()


def test_what_two_dead_left_is_cleaned_by_the_next(vnf: Vnf) -> None:
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    _kill_both(pptmon)
    left = {"eth0 ingress": ["enter"], "eth1 egress": ["leave"]}
    assert vnf.attached("clsact") == left
    following = vnf.start("--attach", "clsact")
    following.wait_ready()
    assert vnf.attached("clsact") == left
    following.stop()
    assert vnf.is_clean()


def test_the_next_one_cleans_the_other_direction_as_well(vnf: Vnf) -> None:
    """The dead one had another slot than the one that comes."""
    first = vnf.start("--attach", "clsact")
    first.wait_ready()
    second = vnf.start("--attach", "clsact", way=BACK)
    second.wait_ready()
    _kill_both(second)
    first.stop()
    assert vnf.attached("clsact") == {}
    assert vnf.is_clean()


@pytest.mark.parametrize(("hook", "how"), [("tcx", signal.SIGTERM), ("clsact", signal.SIGKILL)])
def test_two_directions_on_the_same_interfaces(vnf: Vnf, hook: str, how: signal.Signals) -> None:
    there, back = vnf.start("--attach", hook), vnf.start("--attach", hook, way=BACK)
    there.wait_ready()
    back.wait_ready()
    assert vnf.attached(hook) == {
        "eth0 ingress": ["enter"], "eth0 egress": ["leave"],
        "eth1 ingress": ["enter"], "eth1 egress": ["leave"],
    }  # fmt: skip
    there.process.send_signal(how)
    there.process.wait(10)
    rest = {"eth1 ingress": ["enter"], "eth0 egress": ["leave"]}
    assert eventually(lambda: vnf.attached(hook) == rest)
    back.stop()
    assert eventually(vnf.is_clean)


@pytest.mark.parametrize(("how", "priority"), [(signal.SIGTERM, "1"), (signal.SIGKILL, "49152")])
def test_filters_of_others_are_left(vnf: Vnf, how: signal.Signals, priority: str) -> None:
    vnf.tc("qdisc", "add", "dev", "eth0", "clsact")
    vnf.filter("ingress", "prio", priority)
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    assert vnf.attached("clsact") == {"eth0 ingress": ["enter"], "eth1 egress": ["leave"]}
    pptmon.process.send_signal(how)
    pptmon.process.wait(10)
    assert eventually(lambda: not vnf.attached("clsact"))
    assert eventually(lambda: "clsact" not in qdiscs(vnf.other))
    show = ["tc", "filter", "show", "dev", "eth0", "ingress"]
    assert "u32" in vnf.host.run(show, timeout_s=10).text


def test_qdiscs_that_others_use_are_left(vnf: Vnf) -> None:
    """One that was there, though empty, and one that got a filter meanwhile."""
    vnf.tc("qdisc", "add", "dev", "eth1", "clsact")
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    vnf.filter("egress")
    pptmon.stop()
    assert "clsact" in qdiscs(vnf.one)
    assert "clsact" in qdiscs(vnf.other)


def _read_by_the_test(vnf: Vnf, hook: str) -> subprocess.Popen[str]:
    argv = [str(binaries.find(BINARY)), "--mode", "sink", "--vnf-id", "1"]
    argv += ["--ingress", "eth0", "--egress", "eth1", "--attach", hook]
    with inside(vnf.host.namespace):
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ends_when_nobody_reads(vnf: Vnf) -> None:
    with _read_by_the_test(vnf, "clsact") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert '"ready"' in process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 1
        assert "nobody reads stdout" in process.stderr.read()
    assert vnf.is_clean()


def test_a_reader_that_does_not_read_does_not_keep_it(vnf: Vnf) -> None:
    """SIGTERM detaches although the pipe is full."""
    with _read_by_the_test(vnf, "tcx") as process:
        assert eventually(lambda: bool(vnf.attached("tcx")))
        for _ in range(400):
            process.send_signal(signal.SIGUSR1)
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 1
    assert vnf.is_clean()


def test_ends_with_its_interface(vnf: Vnf) -> None:
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    ip("-n", space(vnf.host), "link", "delete", "eth1")
    assert pptmon.process.wait(10) == 1
    failed = pptmon.events()[-1]
    assert isinstance(failed, ErrorEvent)
    assert failed.error == "interface eth1 has gone"
    assert eventually(lambda: "clsact" not in qdiscs(vnf.one))
