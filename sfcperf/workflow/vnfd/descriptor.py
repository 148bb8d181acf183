"""VNF descriptors: TOSCA YAML, read with tosca-parser (paper, section IV)."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError
from sfcperf.workflow.schema import own_schema
from sfcperf.workflow.vnfd.checks import check_ancestry, without_patterns
from sfcperf.workflow.vnfd.files import descriptor_files, merged
from sfcperf.workflow.vnfd.substitution import with_mapped_requirements
from sfcperf.workflow.vnfd.tacker import with_tacker_types
from sfcperf.workflow.vnfd.tosca_parser import template_class

_MAX_NODES = 500
_Places = Mapping[str, tuple[str, ...]]
_TOSCA: _Places = {"vcpus": ("num_cpus",), "memory_mib": ("mem_size",)}
_SOL001: _Places = {
    "vcpus": ("virtual_cpu", "num_virtual_cpu"),
    "memory_mib": ("virtual_memory", "virtual_mem_size"),
}
_SIZES: Mapping[str, _Places] = {"nfv_compute": _TOSCA, "host": _TOSCA, "virtual_compute": _SOL001}
"""For each profile, the capability that states sizes -> field of Descriptor -> path in its
properties (ETSI GS NFV-SOL 001, 6.3.1: VirtualCompute)."""


@dataclass(frozen=True)
class Descriptor:
    """The parts of a VNFD that a run needs; None: the descriptor does not state it."""

    vcpus: int | None
    """Sum of `num_cpus` or `num_virtual_cpu` of its VDUs."""
    memory_mib: int | None
    """Sum of `mem_size` or `virtual_mem_size` of its VDUs, MiB, rounded up."""
    image: str | None = None
    """Image of its first VDU. It is Tacker's `image` property, or the file of the image artifact
    without its ending, as an image service names it."""
    flavor: str | None = None
    """Flavor of its first VDU (Tacker's property)."""
    user_data: str | None = None
    """User data of its first VDU for cloud-init: Tacker's `user_data`, or SOL001's `boot_data`."""
    left_open: frozenset[str] = frozenset()
    """Names of the fields above whose value is not fixed: an input without a default, or a file of
    a package."""
    unused: tuple[str, ...] = ()
    """What else it says of resources, and no driver uses: properties of capabilities, and nodes of
    storage."""


def read_descriptor(path: Path) -> Descriptor:
    """Parse and check a VNFD with its imports. Raises InputError, which names the file."""
    try:
        changed_ns = path.stat().st_mtime_ns
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"the VNF descriptor {path} cannot be read: {reason}") from error
    return _read(path, changed_ns)


def descriptor_tree(path: Path) -> dict[str, Any]:
    """Read the tree of a VNFD, with the types that it imports merged in. Raises InputError, which
    names the file."""
    tree = merged(descriptor_files(path))
    topology = tree.get("topology_template")
    nodes = topology.get("node_templates") if isinstance(topology, dict) else None
    if not nodes:
        raise InputError(f"the VNF descriptor {path} is empty: it has no node_templates")
    if not isinstance(nodes, dict):
        raise InputError(
            f"the VNF descriptor {path} has node_templates that are no mapping",
            allowed="{NAME: {type: ...}}",
        )
    if len(nodes) > _MAX_NODES:
        raise InputError(
            f"the VNF descriptor {path} has {len(nodes)} node_templates",
            allowed=f"up to {_MAX_NODES}",
        )
    return tree


@lru_cache(maxsize=64)
def _read(path: Path, _changed_ns: int) -> Descriptor:
    """Read a VNFD. `_changed_ns` only makes the cache miss after the file has changed."""
    tree = descriptor_tree(path)
    try:
        return _descriptor(tree, _parse(tree))
    except InputError as error:
        # Messages of the functions below go on after the file's name: "has num_cpus of 0".
        raise InputError(
            f"the VNF descriptor {path} {error.message}", allowed=error.allowed
        ) from None


def _parse(tree: dict[str, Any]) -> Any:
    """Let tosca-parser check the tree; return its template. Raises InputError."""
    template = template_class()  # first: other imports would load the parts that it leaves out
    from toscaparser.common.exception import ExceptionCollector

    # The parser's messages must not be logged: they may contain anything. Its exceptions have them.
    logging.getLogger("tosca").addHandler(logging.NullHandler())
    check_ancestry(tree)
    try:
        checked = without_patterns(with_tacker_types(with_mapped_requirements(tree)))
        return template(yaml_dict_tpl=checked)
    except Exception as error:
        # A malformed template may make the parser raise anything.
        reports = ExceptionCollector.getExceptionsReport(False)  # False: without stack traces
        text = "; ".join(reports) or f"{type(error).__name__}: {error}"
        raise InputError(f"is not valid TOSCA: {' '.join(text.split())}") from error
    finally:
        ExceptionCollector.stop()


def _descriptor(tree: Mapping[str, Any], template: Any) -> Descriptor:
    """Collect what a run needs from the tree and the parser's template. Sizes of all VDUs are added
    up."""
    sizes_by_node = [_sizes(node) for node in template.nodetemplates]
    totals, open_sizes = {}, set()
    for field, read in _READERS.items():
        present = [sizes[field] for sizes in sizes_by_node if field in sizes]
        values = [read(*each) for each in present]
        fixed = [value for value in values if value is not None]
        if len(fixed) < len(values):
            open_sizes.add(field)
        elif fixed:
            # Errors name the property as the first node does.
            totals[field] = _within(field, present[0][0], sum(fixed))
    properties, left_open = _properties(tree)
    return Descriptor(
        totals.get("vcpus"),
        totals.get("memory_mib"),
        properties.get("image") or _image(tree),
        properties.get("flavor"),
        properties.get("user_data"),
        left_open | open_sizes,
        tuple(_unused(tree)),
    )


def _within(field: str, source: str, value: int) -> int:
    """Return a value that a workflow, too, could ask for in `field` of its `resources`. Raises
    InputError for any other; `source` is the descriptor's name of the property."""
    limits = own_schema()["$defs"]["resources"]["properties"][field]
    if not limits["minimum"] <= value <= limits["maximum"]:
        unit = " MiB" if field == "memory_mib" else ""
        raise InputError(
            f"has {source} of {value}{unit} in all",
            allowed=f"{limits['minimum']} to {limits['maximum']}{unit}",
        )
    return value


def _sizes(node: Any) -> dict[str, tuple[str, Any]]:
    """Field of Descriptor -> the property's name and its value in a node template, as far as it
    states them. The value is None for an input without a default."""
    capabilities = node.get_capabilities()
    found: dict[str, tuple[str, Any]] = {}
    for name, paths in _SIZES.items():
        if name not in capabilities:
            continue
        values = {prop.name: prop.value for prop in capabilities[name].get_properties_objects()}
        for field, (*parents, last) in paths.items():
            inner: Any = values
            for step in parents:
                inner = inner.get(step) if isinstance(inner, dict) else None
            if isinstance(inner, dict) and last in inner:
                found.setdefault(field, (last, inner[last]))
    return found


def _vcpus(source: str, value: Any) -> int | None:
    """Read a number of CPUs, which may be quoted. None for an input without a default or another
    TOSCA function, which has a value only at deployment. Raises InputError for anything else, and
    for numbers that no machine has. `source` names the property in errors."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _within("vcpus", source, value)
    _refuse_literal(source, value, "a whole number")
    return None


def _memory_mib(source: str, value: Any) -> int | None:
    """Read an amount of memory, MiB. None for an input without a default or another TOSCA function,
    which has a value only at deployment. Raises InputError for anything else."""
    if isinstance(value, str):
        return _mebibytes(source, value)
    _refuse_literal(source, value, "a number and its unit (2 GiB)")
    return None


_READERS = {"vcpus": _vcpus, "memory_mib": _memory_mib}
"""Field of Descriptor -> function that reads its value in one node."""


def _refuse_literal(source: str, value: Any, allowed: str) -> None:
    """Raise InputError if the value is literal; here it has the wrong type. A mapping is a TOSCA
    function, and None an input without a default: both are allowed."""
    if isinstance(value, str | int | float | list):
        raise InputError(f"has {source} of {value!r}", allowed=allowed)


def _unused(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the descriptor says of resources and no driver uses."""
    for name, node in tree["topology_template"]["node_templates"].items():
        if "Storage" in str(node["type"]):
            yield f"node {name} of type {node['type']}"
        for capability, content in _mapping(node, "capabilities").items():
            used = _SIZES.get(capability, {}).values()
            for path in _paths(_mapping(content, "properties")):
                if not any(path[: len(known)] == known for known in used):
                    yield f"{'/'.join((str(capability), *path))} of {name}"


def _paths(properties: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the path of each property; for one whose value is a mapping, the paths inside of it."""
    for key, value in properties.items():
        inner = _paths(value) if isinstance(value, dict) and value else [()]
        yield from ((str(key), *path) for path in inner)


def _image(tree: Mapping[str, Any]) -> str | None:
    """Name of the first artifact that is an image; None if there is none, or if it names no file.
    It is read from the tree, since the parser has no model of a VDU's artifacts."""
    for node in tree["topology_template"]["node_templates"].values():
        for artifact in _mapping(node, "artifacts").values():
            if isinstance(artifact, dict) and "Image" in str(artifact.get("type", "")):
                file = artifact.get("file")
                return Path(file).stem if isinstance(file, str) and file else None
    return None


def _mapping(node: Any, key: str) -> Mapping[str, Any]:
    """Return a part of a node template, which the parser does not check; empty if it is absent.
    Raises InputError if it is no mapping."""
    value = (node.get(key) if isinstance(node, dict) else None) or {}
    if not isinstance(value, dict):
        raise InputError(f"has {key} that are no mapping", allowed=f"{key}: {{NAME: ...}}")
    return value


VDU_TYPES = ("tosca.nodes.nfv.VDU", "tosca.nodes.nfv.VDU.Tacker", "tosca.nodes.nfv.Vdu.Compute")
_PROPERTIES = {
    "image": "image",
    "flavor": "flavor",
    "user_data": "user_data",
    "boot_data": "user_data",
}
"""Property of a VDU -> field of Descriptor."""


def _properties(tree: Mapping[str, Any]) -> tuple[dict[str, str], frozenset[str]]:
    """Read the first VDU's properties in _PROPERTIES. Returns those that are literal strings, and
    the fields of those that are not. They are read from the tree: the parser gives only properties
    that the type declares."""
    nodes = tree["topology_template"]["node_templates"].values()
    vdus = (node for node in nodes if node.get("type") in VDU_TYPES)
    first: dict[str, Any] = next(vdus, {})
    properties = _mapping(first, "properties")
    values = {
        field: _content(properties[name])
        for name, field in _PROPERTIES.items()
        if properties.get(name) is not None
    }
    texts = {field: value for field, value in values.items() if isinstance(value, str)}
    return texts, frozenset(values) - frozenset(texts)


def _content(value: Any) -> Any:
    """Unwrap a value that SOL001's BootData (7.1.12) nests; return any other value as it is."""
    for key in ("content_or_file_data", "content"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value


def _mebibytes(source: str, size: str) -> int:
    """Convert a size with its unit to MiB, rounded up. Raises InputError if it is too large."""
    from toscaparser.elements.scalarunit import ScalarUnit_Size

    mib: float = ScalarUnit_Size(size).get_num_from_scalar_unit("MiB")
    most = own_schema()["$defs"]["resources"]["properties"]["memory_mib"]["maximum"]
    if not mib <= most:
        raise InputError(f"has {source} of {mib:g} MiB", allowed=f"up to {most} MiB")
    return math.ceil(mib)
