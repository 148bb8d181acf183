"""Conformance: tests that hold any driver, also a third party's, to the contract of drivers.

    from sfcperf.drivers.conformance import DriverConformance

    class TestMyDriver(DriverConformance):
        driver = "my-driver"
        config = {"mtu": 1400}

`python -m pytest` then builds chains with it. What a driver may adapt stands in
`sfcperf.drivers.conformance.subject`; needs pytest, which SFCPerf itself does not.
"""

from __future__ import annotations

import pytest

_TESTS = (
    *("declaration", "admission", "deployment", "hosts", "chains", "endings", "together"),
    "deaths",
)
# Before they are imported: so that an assertion that fails shows its values.
pytest.register_assert_rewrite(*(f"{__name__}.{module}" for module in _TESTS))

from sfcperf.drivers.conformance.suite import DriverConformance  # noqa: E402

__all__ = ["DriverConformance"]
