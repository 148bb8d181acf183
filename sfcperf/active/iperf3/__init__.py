"""iperf3: goodput of TCP or UDP, and loads of UDP datagrams for a search of the throughput."""

from sfcperf.active.iperf3.load import Iperf3Load
from sfcperf.active.iperf3.probe import Iperf3

__all__ = ["Iperf3", "Iperf3Load"]
