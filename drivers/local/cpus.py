"""CPUs of this machine for each node and each instance.

Nodes get CPUs of the machine in turn, and share them if there are too few. An instance gets the
CPUs of its node that the fewest other instances use.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from sfcperf.errors import EnvironmentLacks
from sfcperf.workflow.model import Node


def machine_cpus() -> tuple[int, ...]:
    """CPUs on which this process may run."""
    return tuple(sorted(os.sched_getaffinity(0)))


def usable_text(usable: Sequence[int]) -> str:
    """Say how many CPUs sfcperf can use: `2`, or `1 of 2: ...` where the process may use fewer than
    are online."""
    online = os.cpu_count() or len(usable)
    if len(usable) >= online:
        return str(len(usable))
    return f"{len(usable)} of {online}: `taskset` or a cpuset narrows the CPU affinity of sfcperf"


class CpuAssignment:
    """Assigns the CPUs of nodes to instances; `assigned` has those of each instance."""

    def __init__(self, nodes: Sequence[Node], machine: Sequence[int]) -> None:
        """`machine`: the CPUs of the machine. A node that sets no number of CPUs gets all of them.
        Raises EnvironmentLacks when a node wants more CPUs than the machine has."""
        self.assigned: dict[str, tuple[int, ...]] = {}
        self._load: Counter[int] = Counter()
        self._machine = usable_text(machine)
        self._nodes: dict[str, tuple[int, ...]] = {}
        first = 0
        for node in nodes:
            count = len(machine) if node.vcpus is None else node.vcpus
            if count > len(machine):
                raise EnvironmentLacks(
                    f"node {node.name} needs {count} vCPUs, but this machine has "
                    f"{usable_text(machine)}",
                    where=f"/topology/nodes/{node.name}/vcpus",
                    allowed=f"1 to {len(machine)}",
                )
            chosen = [machine[(first + offset) % len(machine)] for offset in range(count)]
            self._nodes[node.name] = tuple(sorted(chosen))
            first += count

    def assign(
        self, instance: str, node: str, vcpus: int, where: str | None = None
    ) -> tuple[int, ...]:
        """Assign CPUs to an instance. Raises EnvironmentLacks when its node has fewer; `where` is
        the place in the workflow that asks for them."""
        available = self._nodes[node]
        if vcpus > len(available):
            raise EnvironmentLacks(
                f"{instance} needs {vcpus} vCPUs, but its node {node} has {len(available)} (and "
                f"this machine {self._machine})",
                where=where,
                allowed=f"1 to {len(available)}",
                hint="lower resources.vcpus, or run on a machine with more CPUs",
            )
        chosen = sorted(available, key=lambda cpu: (self._load[cpu], cpu))[:vcpus]
        self._load.update(chosen)
        self.assigned[instance] = tuple(sorted(chosen))
        return self.assigned[instance]

    def share(self, instance: str, node: str) -> tuple[int, ...]:
        """Assign all CPUs of a node to an instance without a limit. It does not count as a user of
        them when `assign` looks for the CPUs with the fewest."""
        self.assigned[instance] = self._nodes[node]
        return self.assigned[instance]

    @property
    def shared(self) -> bool:
        """Whether a CPU may be used by more than one instance."""
        users = Counter(cpu for cpus in self.assigned.values() for cpu in cpus)
        return any(count > 1 for count in users.values())
