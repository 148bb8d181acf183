"""ab (ApacheBench): HTTP requests per second."""

from sfcperf.active.ab.probe import Ab

__all__ = ["Ab"]
