"""DriverConformance: all tests of the contract, in an order that shares deployments."""

from __future__ import annotations

from sfcperf.drivers.conformance.admission import Admission
from sfcperf.drivers.conformance.chains import Chains
from sfcperf.drivers.conformance.deaths import Deaths
from sfcperf.drivers.conformance.declaration import Declaration
from sfcperf.drivers.conformance.deployment import Described
from sfcperf.drivers.conformance.endings import Endings
from sfcperf.drivers.conformance.hosts import Hosts
from sfcperf.drivers.conformance.together import Together


# pytest runs the tests of the last base first: what costs nothing, then what shares a long
# chain, then what changes the chain, then what needs drivers of its own.
class DriverConformance(
    Deaths, Together, Endings, Chains, Hosts, Described, Admission, Declaration
):
    """Derive from it, say which driver, and let pytest find the class (its name starts with
    `Test`). What else can be said stands in `Subject`."""
