"""The `Deployment` that a driver returns, compared with what was deployed."""

from __future__ import annotations

import ipaddress
import json
import re

import pytest

from sfcperf import plugins
from sfcperf.drivers.conformance import traffic
from sfcperf.drivers.conformance.driver_under_test import COMMAND_TIMEOUT_S, DriverUnderTest
from sfcperf.hosts.procfs import process_stat
from sfcperf.management.deployment import Deployment, Endpoint, Meter
from sfcperf.results.documents import plain

_BURN = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
"""Shell script that uses CPU time."""


class DeploymentDescription(DriverUnderTest):
    """Tests whether the `Deployment` that a driver returns is true: of the endpoints, functions,
    hops, meters and facts. `DriverConformance` inherits it for the authors of drivers."""

    @pytest.fixture
    def built(self) -> Deployment:
        """A deployed chain of `longest` functions, which replies cross as well."""
        return self.deployed(self.longest)

    def test_endpoints_are_as_asked(self, built: Deployment) -> None:
        """Name and node are those of the scenario, addresses are two different ones of IPv4, and
        the interface exists on the endpoint's machine with this MTU."""
        scenario = self.chain(self.longest)
        for endpoint, spec in ((built.client, scenario.client), (built.server, scenario.server)):
            assert (endpoint.name, endpoint.node) == (spec.name, spec.node)
            assert ipaddress.ip_address(endpoint.address).version == 4
            assert endpoint.mtu == _mtu(endpoint)
        assert built.client.address != built.server.address

    def test_its_functions_are_those_of_the_chain(self, built: Deployment) -> None:
        """Functions are in chaining order and have one or two different interfaces; they are
        NSH-aware only if their type is."""
        specs = self.chain(self.longest).chain.functions
        kind = plugins.load("vnf", self.vnf)
        found = [(f.name, f.vnf, f.type, f.position, f.node) for f in built.functions]
        assert found == [(s.name, s.vnf, s.type, s.position, s.node) for s in specs]
        for function in built.functions:
            assert len(function.interfaces) == len(set(function.interfaces)) > 0
            assert len(function.interfaces) <= 2
            assert all(isinstance(cpu, int) and cpu >= 0 for cpu in function.vcpus)
            assert kind.nsh_aware or not function.nsh_aware
            for interface in function.interfaces:
                # Raises KeyError if the host has no such interface.
                traffic.interface_packets(function.host, interface)

    def test_hosts_are_separate(self, built: Deployment) -> None:
        """Each instance has its own host and folder."""
        hosts = [built.client.host, built.server.host, *(f.host for f in built.functions)]
        assert len({host.name for host in hosts}) == len(hosts)
        for host in hosts:
            write = ["sh", "-c", 'echo "$1" >"$2"', "sh", host.name, str(host.workdir / "whose")]
            host.run(write, timeout_s=COMMAND_TIMEOUT_S)
        for host in hosts:
            assert host.read_text(str(host.workdir / "whose")) == f"{host.name}\n"

    def test_the_endpoints_reach_each_other(self, built: Deployment) -> None:
        """Client and server answer each other's pings."""
        assert traffic.ping(built.client, built.server, self.pings) == self.pings
        assert traffic.ping(built.server, built.client, self.pings) == self.pings

    def test_functions_count_packets(self, built: Deployment) -> None:
        """`received`, `forwarded` and `dropped` never decrease; all requests and replies count."""
        before = {f.name: dict(f.counters()) for f in built.functions}
        traffic.ping(built.client, built.server, self.pings)
        for function in built.functions:
            counted, earlier = dict(function.counters()), before[function.name]
            assert {"received", "forwarded", "dropped"} <= counted.keys()
            assert all(isinstance(value, int) and value >= 0 for value in counted.values())
            assert all(counted[name] >= value for name, value in earlier.items())
            for name in ("received", "forwarded"):
                assert counted[name] - earlier[name] >= 2 * self.pings, function.name

    def test_hops_are_on_the_path(self, built: Deployment) -> None:
        """The client's hop is the first; the interface of each hop exists, and sees the packets of
        the chain."""
        names = [hop.name for hop in built.hops]
        assert len(names) == len(set(names)) >= 2
        assert names[0].startswith("client")
        before = [traffic.interface_packets(hop.host, hop.interface) for hop in built.hops]
        traffic.ping(built.client, built.server, self.pings)
        for hop, earlier in zip(built.hops, before, strict=True):
            packets = traffic.interface_packets(hop.host, hop.interface) - earlier
            assert packets >= self.pings, f"hop {hop.name} saw {packets} packets"

    def test_meters_measure(self, built: Deployment) -> None:
        """Each function has a meter, whose CPU time increases with work; memory and processes are
        plausible numbers."""
        nodes = {node.name for node in self.chain(self.longest).topology.nodes}
        names = {function.name for function in built.functions}
        known = names | {"client", "server"} | {f"sff@{node}" for node in nodes}
        assert names <= built.meters.keys() <= known
        for name, meter in built.meters.items():
            assert _sane(meter), name
        for function in built.functions:
            meter = built.meters[function.name]
            earlier = meter.cpu_s()
            function.host.run(["sh", "-c", _BURN], timeout_s=COMMAND_TIMEOUT_S)
            assert meter.cpu_s() > earlier, f"the meter of {function.name} did not count its work"

    def test_it_is_healthy(self, built: Deployment) -> None:
        """A working deployment has no problems."""
        assert self.run.driver.problems(built) == []
        assert [function.alive() for function in built.functions] == [None] * self.longest

    def test_facts_are_json(self, built: Deployment) -> None:
        """Facts of the deployment and of the infrastructure can be written as JSON; diagnostics are
        numbers."""
        for facts in (built.facts, self.run.driver.facts()):
            assert isinstance(json.loads(json.dumps(dict(facts), default=plain)), dict)
        for tell in built.diagnostics.values():
            assert all(isinstance(value, int | float) for value in tell().values())
        # The encapsulation `none` is for a chain without functions.
        assert built.encapsulation.strip() not in ("", "none")

    def test_a_probe_and_its_monitors_work(self, built: Deployment) -> None:
        """The probes ping and iperf3 measure while the monitors cpu and memory observe."""
        raw_dir = self.run.raw_dir / "probes"
        raw_dir.mkdir(exist_ok=True)
        monitors = []
        for spec in self.chain(self.longest).monitors:
            monitors.append(plugins.load("monitor", spec.monitor)(spec.parameters))
            monitors[-1].start(built, raw_dir)
        try:
            for planned in self.chain(self.longest).probes:
                before = traffic.forwarded(built)
                result = traffic.measure(built, planned.probe, raw_dir)
                kind = plugins.load("probe", planned.probe)
                declared = {metric.name for metric in kind.metrics(planned.parameters)}
                assert result.samples
                assert {sample.metric for sample in result.samples} <= declared
                crossed = traffic.rise(before, built)
                assert min(crossed.values()) >= kind.expected_packets(planned.parameters)
        finally:
            observed = [row for monitor in reversed(monitors) for row in monitor.stop()]
        sources = {row.source for row in observed if row.metric == "memory_bytes"}
        assert {function.name for function in built.functions} <= sources


def _mtu(endpoint: Endpoint) -> int:
    """Return the MTU that `ip` reports on the endpoint's machine. Raises if there is no such
    interface."""
    argv = ["ip", "link", "show", "dev", endpoint.interface]
    shown = endpoint.host.run(argv, timeout_s=COMMAND_TIMEOUT_S).text
    found = re.search(r"\bmtu (\d+)", shown)
    assert found is not None, shown
    return int(found[1])


def _sane(meter: Meter) -> bool:
    """Return whether a meter's CPU time and memory are plausible. Fails the test itself for ids or
    processes that are not."""
    assert all(isinstance(pid, int) and pid > 0 for pid in meter.pids())
    assert all(process_stat(line).pid > 0 for line in meter.processes())
    return meter.cpu_s() >= 0 and meter.memory_bytes() >= 0
