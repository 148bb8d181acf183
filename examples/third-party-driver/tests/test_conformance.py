"""The driver keeps the contract of SFCPerf's drivers: `sudo python -m pytest`."""

from __future__ import annotations

import subprocess

from sfcperf.drivers.conformance import DriverConformance


class TestPolicyRouting(DriverConformance):
    """All tests come from SFCPerf."""

    driver = "policy-routing"

    def traces(self, tag: str) -> list[str]:
        """As anybody would look."""
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if tag in line]
