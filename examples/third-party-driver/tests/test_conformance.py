"""The driver keeps the contract of SFCPerf's drivers: `sudo python -m pytest`."""

from __future__ import annotations

import subprocess

from sfcperf.drivers.conformance import DriverConformance


class TestPolicyRouting(DriverConformance):
    """All tests but the last come from SFCPerf."""

    driver = "policy-routing"
    refuses = frozenset({"bridged"})

    def traces(self, tag: str) -> list[str]:
        """What `ip netns` lists."""
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if tag in line]

    def test_a_function_that_is_passed_by_is_noticed(self) -> None:
        """What only somebody can try who knows how chains are made here: a rule that leads from the
        first function straight to the server."""
        scenario = self.chain(2)
        deployment = self.run.deployed(scenario)
        node = f"sfcperf-{self.run.tag}-node"
        astray = ["rule", "add", "iif", "sf1-out", "lookup", "101", "priority", "1"]
        subprocess.run(["ip", "-n", node, *astray], check=True)
        proof = self.run.driver.prove_traversal(deployment, scenario)
        assert not proof.proven
        assert "sf-2 was crossed once by 0 of 3 packets from client to server" in proof.problems
        self.run.teardown()
