"""Where results come from: the machine, its software, plug-ins, VNF descriptors and files."""

from sfcperf.results.provenance.files import check_files, keep_files
from sfcperf.results.provenance.machine import host_facts
from sfcperf.results.provenance.modules import modules_of, plugins_of
from sfcperf.results.provenance.programs import programs_of
from sfcperf.results.provenance.software import TOOLS, python_versions, versions
from sfcperf.results.provenance.vnfds import check_descriptors, keep_descriptors

__all__ = [
    "TOOLS",
    "check_descriptors",
    "check_files",
    "host_facts",
    "keep_descriptors",
    "keep_files",
    "modules_of",
    "plugins_of",
    "programs_of",
    "python_versions",
    "versions",
]
