"""Where results come from: the machine, its software, plug-ins and VNF descriptors."""

from sfcperf.results.provenance.machine import host_facts
from sfcperf.results.provenance.modules import modules_of, plugins_of
from sfcperf.results.provenance.software import TOOLS, python_versions, versions
from sfcperf.results.provenance.vnfds import check_descriptors, keep_descriptors

__all__ = [
    "TOOLS",
    "check_descriptors",
    "host_facts",
    "keep_descriptors",
    "modules_of",
    "plugins_of",
    "python_versions",
    "versions",
]
