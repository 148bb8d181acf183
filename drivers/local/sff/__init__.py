"""Classifier, SFF and SFC proxies of one node, by each of the data planes."""

from sfcperf.drivers.local.sff.bmv2 import Bmv2Sff
from sfcperf.drivers.local.sff.ovs import OpenVSwitchSff
from sfcperf.drivers.local.sff.watches import LocalSff
from sfcperf.drivers.sff.base import Sff
from sfcperf.drivers.sff.ebpf import EbpfSff

__all__ = ["Bmv2Sff", "EbpfSff", "LocalSff", "OpenVSwitchSff", "Sff"]
