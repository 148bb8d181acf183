"""pktgen: packets of sfc-pktgen at a set rate, and loads for a search of the throughput."""

from sfcperf.active.pktgen.load import PktgenLoad
from sfcperf.active.pktgen.output import parse_sent
from sfcperf.active.pktgen.probe import Pktgen
from sfcperf.active.pktgen.run import BINARY, MOST_FLOWS, USUAL_PORT, PktgenRun

__all__ = ["BINARY", "MOST_FLOWS", "USUAL_PORT", "Pktgen", "PktgenLoad", "PktgenRun", "parse_sent"]
