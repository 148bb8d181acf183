"""ditg: one-way delay or round-trip time of a flow of D-ITG."""

from sfcperf.active.ditg.probe import Ditg

__all__ = ["Ditg"]
