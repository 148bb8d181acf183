"""Where packets go: proofs that can fail, replies, the classifier, health."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from sfcperf.drivers.conformance import programs, traffic
from sfcperf.drivers.conformance.driver_under_test import DriverUnderTest
from sfcperf.management.deployment import Deployment, TraversalProof
from sfcperf.workflow.model import Match, Scenario

FEW_PACKETS = 20
"""A transfer by iperf3 has more packets than this; what hosts send by themselves stays below."""


class Chains(DriverUnderTest):
    """Tests of what deployments do with packets."""

    def prove(self, scenario: Scenario) -> TraversalProof:
        """Deploy the chain, unless it is the current one, and return a new proof of its
        traversal."""
        return self.run.driver.prove_traversal(self.run.deployed(scenario), scenario)

    def check_proof(self, scenario: Scenario) -> None:
        """Check that the chain is proven, and that the proof has what was observed in each
        direction."""
        proof = self.prove(scenario)
        names = [function.name for function in scenario.chain.functions]
        assert proof.proven, proof.problems
        assert proof.problems == ()
        assert proof.method.strip() and proof.sent > 0
        back = names[::-1] if scenario.chain.reverse == "symmetric" else []
        assert [seen.function for seen in proof.forward] == names
        assert [seen.function for seen in proof.reverse] == back
        assert all(0 < seen.packets <= proof.sent for seen in (*proof.forward, *proof.reverse))
        built = self.run.deployed(scenario)
        has_nsh = built.encapsulation.startswith("nsh")
        # A function that gets plain IP may hide the SI: its SFC proxy knows it.
        aware = {function.name: function.nsh_aware for function in built.functions}
        for direction in (proof.forward, proof.reverse):
            for si, seen in zip(range(scenario.chain.initial_si, 0, -1), direction, strict=False):
                if has_nsh and (aware[seen.function] or seen.spi is not None):
                    assert (seen.si, seen.si_after) == (si, si - 1)
                else:
                    assert (seen.spi, seen.si, seen.si_after) == (None, None, None)
        for name in proof.evidence:
            assert (self.run.raw_dir / name).stat().st_size > 0

    def test_the_chain_is_proven(self) -> None:
        """Packets cross the functions in order, in both directions, and a second proof says the
        same."""
        self.check_proof(self.chain(self.longest))
        self.check_proof(self.chain(self.longest))

    @pytest.mark.parametrize("place", [0, -1], ids=["first", "last"])
    def test_a_broken_chain_is_not_proven(self, place: int) -> None:
        """A function of the deployment forwards nothing: the proof fails, health names the
        function, and both recover when it forwards again."""
        scenario = self.chain(self.longest)
        built = self.run.deployed(scenario)
        function = built.functions[place]
        self.break_function(function)
        try:
            proof = self.prove(scenario)
            problems = self.run.driver.problems(built)
        finally:
            self.mend_function(function)
        assert not proof.proven
        assert proof.problems, "`problems` must say what is wrong"
        assert any(function.name in problem for problem in problems), problems
        assert self.run.driver.problems(built) == []
        self.check_proof(scenario)

    def test_replies_may_bypass_the_chain(self) -> None:
        """Requests cross the function, replies do not, so that it forwards each ping once."""
        if "bypass" in self.refuses:
            pytest.skip("the driver refuses it")
        scenario = self.chain(1, reverse="bypass")
        self.check_proof(scenario)
        crossed = self._crossed_by_pings(self.run.deployed(scenario))
        assert self.pings <= crossed < 2 * self.pings

    def test_the_classifier_lets_in_only_what_it_matches(self) -> None:
        """TCP does not cross a chain for ICMP."""
        if "match" in self.refuses:
            pytest.skip("the driver refuses it")
        scenario = self.chain(1, match=Match("icmp"))
        self.check_proof(scenario)
        deployment = self.run.deployed(scenario)
        assert self._crossed_by_pings(deployment) >= 2 * self.pings
        assert self._crossed_by_tcp(deployment) < FEW_PACKETS

    def test_the_next_chain_is_not_affected_by_the_last(self) -> None:
        """All traffic crosses this chain, although earlier ones had a classifier for ICMP, and
        replies that bypassed the chain."""
        scenario = self.chain(1)
        self.check_proof(scenario)
        deployment = self.run.deployed(scenario)
        assert self._crossed_by_pings(deployment) >= 2 * self.pings
        assert self._crossed_by_tcp(deployment) > FEW_PACKETS

    def test_a_function_keeps_no_state_of_the_last_chain(self) -> None:
        """After a firewall that drops everything, one that drops nothing lets all pings through,
        although it may be on the same machine."""
        if self.firewall is None:
            pytest.skip("the driver builds no firewall")
        knobs = {"rules": 3, "default": "drop"}
        shut = self.deployed(1, vnf=self.firewall, knobs=knobs)
        assert traffic.ping(shut.client, shut.server, 1) == 0
        scenario = self.chain(1, vnf=self.firewall, knobs={**knobs, "default": "accept"})
        self.check_proof(scenario)
        opened = self.run.deployed(scenario)
        assert traffic.ping(opened.client, opened.server, self.pings) == self.pings

    def test_a_program_of_the_workflow_runs(self) -> None:
        """A function that only the workflow describes is ready, crossed and counted."""
        knobs = {
            "command": ["sh", "-c", "cat greeting; exec sleep 100000"],
            "files": {"greeting": ["{{client}} meets {{server}}"]},
            "ready": {"output": "meets"},
            "counters": ["sh", "-c", "echo lines $(wc -l <greeting)"],
            "data_plane": "kernel",
        }
        scenario = self.chain(1, vnf="program", knobs=knobs)
        self.check_proof(scenario)
        deployment = self.run.deployed(scenario)
        assert self._crossed_by_pings(deployment) >= 2 * self.pings
        assert deployment.functions[0].counters()["lines"] == 1

    def test_a_bridged_program_runs(self) -> None:
        """Frames cross a function without addresses as they are."""
        if "bridged" in self.refuses:
            pytest.skip("the driver refuses it")
        self._check_frames(programs.BRIDGED, "counters")

    def test_a_program_that_takes_nsh_runs(self) -> None:
        """It gets NSH frames as they are, and returns them with a lower SI."""
        if "nsh-eth" not in self.encapsulations:
            pytest.skip("the driver refuses it")
        deployment = self._check_frames(programs.nsh(), "process", encapsulation="nsh-eth")
        assert deployment.functions[0].nsh_aware

    def _check_frames(self, knobs: Mapping[str, Any], proven: str, **changes: Any) -> Deployment:
        """Check that a program with these knobs is proven by this method, and crossed."""
        scenario = self.chain(1, vnf="program", knobs=knobs, **changes)
        self.check_proof(scenario)
        assert self.prove(scenario).data_planes == {"sf-1": proven}
        deployment = self.run.deployed(scenario)
        assert self._crossed_by_pings(deployment) >= 2 * self.pings
        return deployment

    def test_a_chain_without_functions_is_a_baseline(self) -> None:
        """There is nothing to cross, and packets are not encapsulated."""
        scenario = self.chain(0)
        none = self.run.deployed(scenario)
        assert (none.functions, none.encapsulation) == ((), "none")
        self.check_proof(scenario)
        assert traffic.ping(none.client, none.server, self.pings) == self.pings
        assert self.run.driver.problems(none) == []
        traffic.measure(none, "iperf3", self.run.raw_dir / "baseline")

    def _crossed_by_pings(self, deployment: Deployment) -> int:
        """Ping the server, and return how many packets the first function forwarded meanwhile."""
        before = traffic.forwarded(deployment)
        assert traffic.ping(deployment.client, deployment.server, self.pings) == self.pings
        return traffic.rise(before, deployment)[deployment.functions[0].name]

    def _crossed_by_tcp(self, deployment: Deployment) -> int:
        """Run iperf3 by TCP, and return how many packets the first function forwarded
        meanwhile."""
        before = traffic.forwarded(deployment)
        traffic.measure(deployment, "iperf3", self.run.raw_dir / "classifier")
        return traffic.rise(before, deployment)[deployment.functions[0].name]
