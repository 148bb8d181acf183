"""Conformance: tests of the driver contract, for any driver, also a third party's.

    from sfcperf.drivers.conformance import DriverConformance

    class TestMyDriver(DriverConformance):
        driver = "my-driver"
        config = {"mtu": 1400}

`python -m pytest` then builds chains with it. `DriverUnderTest` documents what a class may declare.
Needs pytest, which SFCPerf itself does not.
"""

from __future__ import annotations

import pytest

_TESTS = (
    *("declaration", "validation", "deployment", "hosts", "chains", "removal"),
    "killed_deployment",
)
# The modules are registered before they are imported, so that an assertion that fails shows its
# values.
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _TESTS))

from sfcperf.drivers.conformance.chains import Chains  # noqa: E402
from sfcperf.drivers.conformance.declaration import Declaration  # noqa: E402
from sfcperf.drivers.conformance.deployment import DeploymentDescription  # noqa: E402
from sfcperf.drivers.conformance.driver_under_test import DriverUnderTest  # noqa: E402
from sfcperf.drivers.conformance.hosts import Hosts  # noqa: E402
from sfcperf.drivers.conformance.killed_deployment import KilledDeployment  # noqa: E402
from sfcperf.drivers.conformance.removal import Removal  # noqa: E402
from sfcperf.drivers.conformance.validation import Validation  # noqa: E402

__all__ = ["DriverConformance", "DriverUnderTest"]


# pytest runs the tests of the last base first. So the bases are in this order, from the last one:
# tests that cost nothing, tests that share a long chain, tests that change the chain, and tests
# that need drivers of their own.
class DriverConformance(
    KilledDeployment, Removal, Chains, Hosts, DeploymentDescription, Validation, Declaration
):
    """All tests of the driver contract. Derive a class whose name starts with `Test`, name the
    driver in it, and let pytest find it. `DriverUnderTest` has what else a class may declare."""
