"""Infrastructure drivers: the contract, and the drivers that come with SFCPerf."""

from sfcperf.drivers.base import Driver, DriverContext, Journal, Resource

__all__ = ["Driver", "DriverContext", "Journal", "Resource"]
