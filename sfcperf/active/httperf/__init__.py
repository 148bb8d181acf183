"""httperf: rate of HTTP requests that the chain supports."""

from sfcperf.active.httperf.probe import Httperf

__all__ = ["Httperf"]
