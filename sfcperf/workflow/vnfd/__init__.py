"""VNF descriptors: reads TOSCA YAML with tosca-parser (paper, section IV)."""

from sfcperf.workflow.vnfd.descriptor import VDU_TYPES, Descriptor, descriptor_tree, read_descriptor
from sfcperf.workflow.vnfd.files import DescriptorFile, descriptor_files

__all__ = [
    "VDU_TYPES",
    "Descriptor",
    "DescriptorFile",
    "descriptor_files",
    "descriptor_tree",
    "read_descriptor",
]
