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
from sfcperf.dataplane.pptmon.events import Counters, Failed, Ready
from sfcperf.hosts.process import inside

pytestmark = pytest.mark.root

HOOKS = {"tcx": tcx, "clsact": clsact}
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

    def start(self, *options: str, backwards: bool = False, mode: str = "source-sink") -> Pptmon:
        ways = ("eth1", "eth0") if backwards else ("eth0", "eth1")
        # Output is appended: each one has a file of its own.
        folder = self.folder / str(next(self._numbers))
        pptmon = Pptmon(self.host, folder, mode, 7, *ways, options)
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
def test_programs_are_on_both_sides_while_it_runs(vnf: Vnf, hook: str) -> None:
    pptmon = vnf.start("--attach", hook)
    assert pptmon.wait_ready() == Ready("source-sink", 7, "eth0", "eth1", hook, "paper")
    assert vnf.attached(hook) == {"eth0 ingress": ["enter"], "eth1 egress": ["leave"]}
    pptmon.stop()
    assert vnf.is_clean()
    assert isinstance(pptmon.events()[-1], Counters)


@BOTH
def test_one_interface_may_be_both(vnf: Vnf, hook: str) -> None:
    pptmon = Pptmon(vnf.host, vnf.folder, "transit", 1, "eth0", "eth0", ("--attach", hook))
    vnf.lab.at_end(pptmon.kill)
    pptmon.wait_ready()
    assert vnf.attached(hook) == {"eth0 ingress": ["enter"], "eth0 egress": ["leave"]}
    pptmon.stop()
    assert vnf.is_clean()


@pytest.mark.gate_runs("each value")
@BOTH
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
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
    second = vnf.start("--attach", "clsact", backwards=True)
    second.wait_ready()
    _kill_both(second)
    first.stop()
    assert vnf.attached("clsact") == {}
    assert vnf.is_clean()


@pytest.mark.gate_runs("each value")
@BOTH
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_two_directions_on_the_same_interfaces(vnf: Vnf, hook: str, how: signal.Signals) -> None:
    there, back = vnf.start("--attach", hook), vnf.start("--attach", hook, backwards=True)
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


@pytest.mark.gate_runs("each value")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("priority", ["1", "49152"])
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
    shown = subprocess.run(
        ["tc", "-n", space(vnf.host), "filter", "show", "dev", "eth0", "ingress"],
        check=True, capture_output=True, text=True, timeout=10,
    )  # fmt: skip
    assert "u32" in shown.stdout


def test_a_filter_that_comes_meanwhile_keeps_the_qdisc(vnf: Vnf) -> None:
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    vnf.filter("egress")
    pptmon.stop()
    assert "clsact" in qdiscs(vnf.one)
    assert "clsact" not in qdiscs(vnf.other)


def test_an_empty_clsact_of_others_is_left(vnf: Vnf) -> None:
    vnf.tc("qdisc", "add", "dev", "eth1", "clsact")
    pptmon = vnf.start("--attach", "clsact")
    pptmon.wait_ready()
    pptmon.stop()
    assert "clsact" in qdiscs(vnf.other)
    assert "clsact" not in qdiscs(vnf.one)


@BOTH
def test_ends_when_nobody_reads(vnf: Vnf, hook: str) -> None:
    argv = [str(binaries.find(BINARY)), "--mode", "sink", "--vnf-id", "1"]
    argv += ["--ingress", "eth0", "--egress", "eth1", "--attach", hook]
    with inside(vnf.host.namespace):
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert '"ready"' in process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 1
        assert "nobody reads stdout" in process.stderr.read()
    assert vnf.is_clean()


def test_a_reader_that_does_not_read_does_not_keep_it(vnf: Vnf) -> None:
    """SIGTERM detaches although the pipe is full."""
    argv = [str(binaries.find(BINARY)), "--mode", "sink", "--vnf-id", "1"]
    argv += ["--ingress", "eth0", "--egress", "eth1"]
    with inside(vnf.host.namespace):
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
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
    assert isinstance(failed, Failed)
    assert failed.error == "interface eth1 has gone"
    assert eventually(lambda: "clsact" not in qdiscs(vnf.one))


def test_counters_when_asked(vnf: Vnf) -> None:
    pptmon = vnf.start(mode="transit")
    pptmon.wait_ready()
    assert set(pptmon.counters().values.values()) == {0}
    pptmon.process.send_signal(signal.SIGSTOP)
    pptmon.process.send_signal(signal.SIGCONT)
    pptmon.counters()
    pptmon.stop()
