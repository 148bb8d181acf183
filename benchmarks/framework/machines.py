"""The driver machines beside the driver local: calls, deployments, and a chain over two nodes.

The machines are made of namespaces (sfcperf.playbooks.lab), so that kernel and wires are the same:
what differs is agents and SSH.

    sudo .venv/bin/python benchmarks/framework/machines.py
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sfcperf.active.ping import Ping
from sfcperf.drivers.base import Driver
from sfcperf.drivers.local.driver import LocalDriver
from sfcperf.drivers.machines.config import machine_configs
from sfcperf.drivers.machines.driver import MachinesDriver
from sfcperf.hosts.agent import Agent
from sfcperf.hosts.base import Host
from sfcperf.hosts.namespace import LocalHost
from sfcperf.hosts.ssh import SshAccess, SshHost
from sfcperf.playbooks.lab.namespaces import NamespaceLab
from sfcperf.workflow.load import load_document
from sfcperf.workflow.model import Scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from _runner import Benchmark, Budget, Row, Run
from _shared.chain import driver_of, workflow
from support.network.lab import config, namespace_lab

LENGTHS = (1, 5)
TIMES_LOCAL = 1.5
CALLS = 50


def calls(run: Run) -> Iterator[Row]:
    """A command on this machine, by an agent, and by SSH alone; and the agent's bare call."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        lab = stack.enter_context(namespace_lab(folder / "lab", machines=1))
        [machine] = machine_configs(config(lab)).values()
        agent = Agent("node1", machine.access, folder / "ssh.log")
        stack.callback(agent.close)
        ssh = _ssh_host(lab, folder)
        stack.callback(ssh.close)
        hosts: dict[str, Host] = {
            "here": LocalHost(folder),
            "agent": agent.host("node1", None, folder, ()),
            "SSH": ssh,
        }
        ways: dict[str, Callable[[], object]] = {
            name: partial(host.run, ["true"], timeout_s=10) for name, host in hosts.items()
        }
        ways["call"] = partial(agent.call, os.getpid)
        found = run.in_turn(ways, _per_call_ms, warm_up=True)
    for name, text in (
        ("agent", "a command, by the agent"),
        ("SSH", "a command, by SSH alone"),
        ("call", "a call of the agent"),
    ):
        yield Row(text, found[name], "ms", "a command here", found["here"])


def deployment(run: Run) -> Iterator[Row]:
    """Chains over three nodes."""
    scenarios = {length: _scenario("T3", length) for length in LENGTHS}
    with _both_drivers() as drivers:
        ways = {
            (name, length): partial(_deployment_ms, driver, scenarios[length])
            for name, driver in drivers.items()
            for length in LENGTHS
        }
        found = run.in_turn(ways, lambda way: way(), warm_up=True)
    first, last = LENGTHS
    per_vnf = {
        name: [
            (long - short) / (last - first)
            for short, long in zip(found[name, first], found[name, last], strict=True)
        ]
        for name in drivers
    }
    for length in LENGTHS:
        times = found["machines", length], "ms", "driver local", found["local", length]
        yield Row(f"deploy and tear down a chain of {length} over three nodes", *times)
    ratio = median(per_vnf["machines"]) / median(per_vnf["local"])
    yield Row("a VNF on three machines by one on local", ratio, budget=Budget(high=TIMES_LOCAL))


def round_trip(run: Run) -> Iterator[Row]:
    """A chain of one forwarder over two nodes: adaptive pings."""
    scenario = _scenario("T2", 1)
    with _both_drivers(machines=2) as drivers, TemporaryDirectory() as folder:
        deployments = {name: driver.deploy(scenario) for name, driver in drivers.items()}
        probe = Ping({"count": 5000, "adaptive": True, "interval_s": 0.01, "payload_bytes": 56,
                      "timeout_s": 1, "loss_warning": 0.01})  # fmt: skip

        def rtt_us(name: str) -> float:
            result = probe.measure(deployments[name], Path(folder))
            return next(s.value for s in result.samples if s.metric == "rtt_us")

        found = run.in_turn({name: name for name in drivers}, rtt_us, warm_up=True)
    budget = Budget(high=1.05)
    ratio = median(found["machines"]) / median(found["local"])
    yield Row("round-trip time over two nodes", found["machines"], "us", "local", found["local"])
    yield Row("the same, machines by local", ratio, budget=budget)


@contextmanager
def _both_drivers(machines: int = 3) -> Iterator[dict[str, Driver]]:
    """The drivers `local`, and `machines` with a lab of its own, by name."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        lab = stack.enter_context(namespace_lab(folder / "lab", machines))
        yield {
            "local": stack.enter_context(driver_of(LocalDriver, {"dataplane": "ebpf"}, "bench1")),
            "machines": stack.enter_context(driver_of(MachinesDriver, config(lab), "bench2")),
        }


def _ssh_host(lab: NamespaceLab, folder: Path) -> SshHost:
    key = (folder / "lab" / "host.pub").read_text().strip()
    access = SshAccess(lab.address("node1"), folder / "lab" / "key", (key,))
    return SshHost("node1", access, folder / "there")


def _per_call_ms(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) * 1e3 / CALLS


def _deployment_ms(driver: Driver, scenario: Scenario) -> float:
    begin = time.perf_counter()
    driver.teardown(driver.deploy(scenario))
    return (time.perf_counter() - begin) * 1e3


def _scenario(topology: str, length: int) -> Scenario:
    document = workflow(
        vnfs={"fwd": {"type": "forwarder"}},
        chain={"functions": [{"vnf": "fwd", "count": length}]},
        topology=topology,
    )
    [scenario] = load_document(document, Path()).scenarios
    return scenario


if __name__ == "__main__":
    Benchmark(__doc__, {calls: 7, deployment: 5, round_trip: 7}).main()
