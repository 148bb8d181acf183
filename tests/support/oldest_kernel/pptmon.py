"""pptmon in the machine."""

from __future__ import annotations

import itertools
import json
from typing import Any

from sfcperf.dataplane.pptmon.events import Counters, Event, ReadyEvent, Sample, parse
from support.oldest_kernel.machine import Machine

READY_WITHIN_S = 90
ENDS_WITHIN_S = 60
SAMPLES_WITHIN_S = 30
SIGKILLED = 128 + 9
_numbers = itertools.count()


class Pptmon:
    """A running one, on interfaces of a namespace."""

    def __init__(self, machine: Machine, namespace: str, options: str) -> None:
        self._machine = machine
        self._name = f"/tmp/pptmon{next(_numbers)}"
        self._in_space = f"ip netns exec {namespace}"
        name = self._name
        machine.check(
            f"( set +e; dash -c 'echo $$ >{name}.pid; exec {self._in_space} pptmon {options}'"
            f" >{name}.out 2>{name}.err; echo $? >{name}.status ) &\n"
        )

    def wait_ready(self) -> ReadyEvent:
        """Once its programs are attached, which is when the verifier has accepted them."""
        self._wait(f"[ -s {self._name}.out ] || [ -s {self._name}.status ]", READY_WITHIN_S)
        first = next(iter(self.events()), None)
        assert isinstance(first, ReadyEvent), f"pptmon is not ready: {self.said()}"
        return first

    def events(self) -> list[Event]:
        return [parse(line) for line in self._read("out").splitlines(keepends=True)]

    def samples(self, wanted: int = 0) -> list[Sample]:
        """Reported samples; waits for a number of them, which may be all there is."""
        self._wait(
            f'[ $(grep -c \'"sample", "ts_ns"\' {self._name}.out) -ge {wanted} ]', SAMPLES_WITHIN_S
        )
        return [event for event in self.events() if isinstance(event, Sample)]

    def stop(self) -> Counters:
        """SIGTERM; it must end well, with counters."""
        self._machine.check(f"kill $(cat {self._name}.pid)")
        assert self._status() == 0, self.said()
        last = self.events()[-1]
        assert isinstance(last, Counters), self.said()
        return last

    def kill(self) -> None:
        """SIGKILL."""
        self._machine.check(f"kill -9 $(cat {self._name}.pid)")
        assert self._status() == SIGKILLED, self.said()

    def said(self) -> str:
        return self._read("out") + self._read("err")

    def _status(self) -> int:
        self._wait(f"[ -s {self._name}.status ]", ENDS_WITHIN_S)
        return int(self._read("status") or -1)

    def _read(self, what: str) -> str:
        return self._machine.check(f"cat {self._name}.{what} 2>/dev/null || :")

    def _wait(self, condition: str, seconds: int) -> None:
        answer = self._machine.run(f"until {condition}; do sleep 0.2; done 2>/dev/null", seconds)
        assert answer.status == 0, f"waited {seconds} s for {condition}: {self.said()}"


def check(machine: Machine, before: str = "") -> tuple[int, dict[str, Any], str]:
    """`pptmon --check` after shell commands: status, what it says in JSON, and on stderr."""
    answer = machine.run(f"{before}\npptmon --check 2>/tmp/check.err")
    last = answer.said.splitlines()[-1] if answer.said.strip() else "{}"
    return answer.status, json.loads(last), machine.check("cat /tmp/check.err")


def left_behind(machine: Machine, namespace: str = "vnf") -> str:
    """The namespace's clsact, and every program of traffic control that the kernel has."""
    return machine.check(
        f"tc -n {namespace} qdisc show | grep clsact || :\nbpftool prog show | grep sched_cls || :"
    ).strip()
