"""ndr: search for the throughput with no loss (NDR) and with a bounded loss (PDR)."""

from sfcperf.active.ndr.probe import Ndr

__all__ = ["Ndr"]
