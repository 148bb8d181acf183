"""The time of BPF programs, as the kernel measures it."""

from __future__ import annotations

import json
from typing import NamedTuple

from _shared.chain import output


class Spent(NamedTuple):
    """By a program, so far."""

    time_ns: int
    runs: int

    def since(self, before: Spent) -> Spent:
        """The difference."""
        return Spent(self.time_ns - before.time_ns, self.runs - before.runs)

    @property
    def ns(self) -> float:
        """Of a run."""
        return self.time_ns / self.runs


def totals(program: str) -> dict[int, Spent]:
    """Id -> what they spent, of all programs of this name."""
    found = json.loads(output(["bpftool", "-j", "prog", "show"]))
    return {each["id"]: spent(each) for each in found if each.get("name") == program}


def spent(program: dict[str, int]) -> Spent:
    """By a program as bpftool describes it."""
    return Spent(program.get("run_time_ns", 0), program.get("run_cnt", 0))
