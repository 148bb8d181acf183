"""The OpenStack driver keeps the contract of drivers, on the project's own cloud."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import pytest
from support.cloud.openstack_project import inventory, left_over

from sfcperf.cli.shipped import shipped
from sfcperf.drivers.conformance import DriverConformance
from sfcperf.workflow.profile import read_profile

# VMs are shared: the tests run one after another.
pytestmark = pytest.mark.exhaustive


class TestOpenStack(DriverConformance):
    driver = "openstack"
    config: ClassVar[dict[str, Any]] = {
        **read_profile(shipped("profiles")["openstack"]).config,
        "cloud": os.environ.get("OS_CLOUD", "sfcperf"),
        # Nova tells diagnostics to administrators.
        "telemetry_cloud": "sfcperf-admin",
    }
    encapsulations = frozenset({"nsh-eth", "mpls"})
    refuses = frozenset({"bridged"})
    # Four VMs at a time: emulated ones share two cores.
    longest = 2
    # An emulated VM boots in the time of two thirds of a deployment.
    kill_moments: ClassVar[dict[str, float]] = {"early": 0.1, "midway": 0.4, "late": 0.9}
    connection: ClassVar[Any] = None

    @pytest.fixture(autouse=True)
    def _cloud(self, cloud: Any) -> None:
        type(self).connection = cloud

    def traces(self, tag: str) -> list[str]:
        """As the cloud lists them."""
        now = inventory(self.connection)
        found = left_over({kind: {} for kind in now}, now).items()
        return [f"{kind}: {name}" for kind, names in found for name in names if tag in name]


class TestOverlay(TestOpenStack):
    """The same, with chains by SFFs in the VMs."""

    config: ClassVar[dict[str, Any]] = {**TestOpenStack.config, "chaining": "overlay"}
    encapsulations = frozenset({"nsh-eth"})
