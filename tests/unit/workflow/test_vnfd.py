"""VNF descriptors: what is read from TOSCA, and how bad files are refused."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfcperf.errors import InputError
from sfcperf.workflow.vnfd import Descriptor, read_descriptor

NFV = "tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0\n"
VDU = """
    {name}:
      type: {type}
      capabilities:
        host:
          properties: {{{properties}}}
"""


def template(*nodes: str) -> str:
    return NFV + "topology_template:\n  node_templates:" + "".join(nodes)


def vdu(properties: str, name: str = "VDU1", type_name: str = "tosca.nodes.nfv.VDU") -> str:
    return VDU.format(name=name, type=type_name, properties=properties)


def importing(what: str) -> str:
    return template(vdu("")).replace(NFV, f"{NFV}imports: ['{what}']\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (template(vdu("num_cpus: 3, mem_size: 1 GiB")), Descriptor(3, 1024)),
        (template(vdu("mem_size: 100 MB")), Descriptor(None, 96)),
        (template(vdu("")), Descriptor(None, None)),
        (template(vdu("num_cpus: '2', mem_size: 2 GiB")), Descriptor(2, 2048)),
        (
            template(vdu("num_cpus: {get_input: n}")),
            Descriptor(None, None, left_open=frozenset({"vcpus"})),
        ),
        (template(vdu("mem_size: {get_input: m}")), Descriptor(None, 1024)),
        (
            template(vdu("num_cpus: {get_input: n}"), vdu("num_cpus: 2", "VDU2")),
            Descriptor(None, None, left_open=frozenset({"vcpus"})),
        ),
        (template(vdu("num_cpus: 1"), vdu("num_cpus: 2", "VDU2")), Descriptor(3, None)),
    ],
)
def test_sizes(tmp_path: Path, text: str, expected: Descriptor) -> None:
    if "get_input" in text:
        text = text.replace(
            "  node_templates:",
            "  inputs: {n: {type: integer}, m: {type: scalar-unit.size, default: 1 GiB}}\n"
            "  node_templates:",
        )
    file = tmp_path / "vnfd.yaml"
    file.write_text(text)
    assert read_descriptor(file) == expected


def test_what_a_vdu_stands_on(tmp_path: Path) -> None:
    """As Tacker's legacy descriptors say it, whose types nobody declares."""
    file = tmp_path / "vnfd.yaml"
    file.write_text(
        template(
            """
    VDU1:
      type: tosca.nodes.nfv.VDU.Tacker
      capabilities:
        nfv_compute: {properties: {num_cpus: 2, mem_size: 512 MB, disk_size: 1 GB}}
      properties: {image: acme, flavor: m1.acme, user_data: "#!/bin/sh", mgmt_driver: noop}
    CP1:
      type: tosca.nodes.nfv.CP.Tacker
      properties: {management: true, order: 0, anti_spoofing_protection: false}
      requirements:
        - virtualLink: {node: VL1}
        - virtualBinding: {node: VDU1}
    VL1:
      type: tosca.nodes.nfv.VL
      properties: {network_name: net_mgmt, vendor: Acme}
"""
        )
    )
    assert read_descriptor(file) == Descriptor(
        2, 489, "acme", "m1.acme", "#!/bin/sh", unused=("nfv_compute/disk_size of VDU1",)
    )


SOL001 = """tosca_definitions_version: tosca_simple_yaml_1_2
data_types:
  my.Memory:
    derived_from: tosca.datatypes.Root
    properties: {virtual_mem_size: {type: scalar-unit.size}}
  my.Cpu:
    derived_from: tosca.datatypes.Root
    properties:
      num_virtual_cpu: {type: integer}
      virtual_cpu_clock: {type: scalar-unit.frequency, required: false}
capability_types:
  my.VirtualCompute:
    derived_from: tosca.capabilities.Root
    properties: {virtual_memory: {type: my.Memory}, virtual_cpu: {type: my.Cpu}}
node_types:
  tosca.nodes.nfv.Vdu.Compute:
    derived_from: tosca.nodes.Root
    capabilities: {virtual_compute: {type: my.VirtualCompute}}
  tosca.nodes.nfv.VduCp:
    derived_from: tosca.nodes.Root
    requirements: [{virtual_link: {capability: tosca.capabilities.Node}}]
  my.VNF:
    derived_from: tosca.nodes.Root
    requirements: [{virtual_link_ext: {capability: tosca.capabilities.Node}}]
topology_template:
  substitution_mappings:
    node_type: my.VNF
    requirements: MAPPED
  node_templates:
    VNF: {type: my.VNF}
    CP1: {type: tosca.nodes.nfv.VduCp}
    VDU1:
      type: tosca.nodes.nfv.Vdu.Compute
      capabilities:
        virtual_compute:
          properties:
            virtual_memory: {virtual_mem_size: 2 GiB}
            virtual_cpu: {num_virtual_cpu: 2, virtual_cpu_clock: 2 GHz}
"""


@pytest.mark.parametrize(
    "mapped",
    [
        "{virtual_link_ext: [CP1, virtual_link]}",
        "{virtual_link_ext: {mapping: [CP1, virtual_link]}}",
        "[{virtual_link_ext: [CP1, virtual_link]}]",
    ],
)
def test_a_package_of_sol001(tmp_path: Path, mapped: str) -> None:
    """Its sizes are nested, and its requirements are met by the substitution alone."""
    file = tmp_path / "vnfd.yaml"
    file.write_text(SOL001.replace("MAPPED", mapped))
    clock = "virtual_compute/virtual_cpu/virtual_cpu_clock of VDU1"
    assert read_descriptor(file) == Descriptor(2, 2048, unused=(clock,))


@pytest.mark.parametrize("mapped", ["{}", "{virtual_link_ext: [VDU1, dependency]}"])
def test_a_requirement_that_nothing_meets(tmp_path: Path, mapped: str) -> None:
    file = tmp_path / "vnfd.yaml"
    file.write_text(SOL001.replace("MAPPED", mapped))
    with pytest.raises(InputError, match="virtual_link"):
        read_descriptor(file)


def test_what_it_asks_for_in_vain_is_said(tmp_path: Path) -> None:
    storage = """
    disk: {type: tosca.nodes.BlockStorage, properties: {size: 1 GB}}
"""
    file = tmp_path / "vnfd.yaml"
    file.write_text(template(vdu("num_cpus: 1, disk_size: 9 GB, cpu_frequency: 2 GHz"), storage))
    assert set(read_descriptor(file).unused) == {
        "host/disk_size of VDU1",
        "host/cpu_frequency of VDU1",
        "node disk of type tosca.nodes.BlockStorage",
    }


def test_what_is_known_at_deployment_only(tmp_path: Path) -> None:
    file = tmp_path / "vnfd.yaml"
    node = """
    VDU1: {type: tosca.nodes.nfv.VDU.Tacker, properties: {flavor: {get_input: size}}}
"""
    inputs = "  inputs: {size: {type: string}}\n  node_templates:"
    file.write_text(template(node).replace("  node_templates:", inputs))
    descriptor = read_descriptor(file)
    assert (descriptor.flavor, descriptor.left_open) == (None, {"flavor"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML"),
        ("- 1", "not TOSCA"),
        ("a: 1", "not TOSCA"),
        (NFV, "is empty"),
        (template(vdu("num_cpus: two")), "not an integer"),
        (template(vdu("num_cpus: 2.5")), "num_cpus of 2.5"),
        (template(vdu("num_cpus: '2_0'")), "num_cpus of '2_0'"),
        (template(vdu("num_cpus: true")), "num_cpus of True"),
        (template(vdu("mem_size: 512")), "mem"),
        (template(vdu("num_cpus: 1", type_name="acme.Thing")), '"acme.Thing" is not a valid type'),
        (NFV + "topology_template: {node_templates: [1]}", "no mapping"),
        (template(vdu("num_cpus: 1")) + "own_types: [a]\n", 'unknown field "own_types"'),
        (importing("http://127.0.0.1:9/x.yaml"), "network"),
        (importing("absent.yaml"), "absent.yaml cannot be read"),
        ("#" * (1 << 20) + "\n", "too large"),
    ],
)
def test_bad_descriptors_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_descriptor(file)
    assert "bad.yaml" in caught.value.message


def test_missing_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.yaml", Path("nul\0.yaml")):
        with pytest.raises(InputError, match="cannot be read"):
            read_descriptor(path)
    with pytest.raises(InputError, match="a folder"):
        read_descriptor(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match="not a regular file"):
        read_descriptor(tmp_path / "pipe.yaml")


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "vnfd.yaml"
    file.write_text(template(vdu("num_cpus: 1")))
    assert read_descriptor(file).vcpus == 1
    file.write_text(template(vdu("num_cpus: 2")))
    os.utime(file, ns=(1, 1))
    assert read_descriptor(file).vcpus == 2


SOUND = template(vdu("num_cpus: 3, mem_size: 1 GiB"))


@given(st.integers(0, len(SOUND)), st.integers(0, len(SOUND)), st.text(max_size=5))
def test_mutated_descriptors_never_give_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, start: int, length: int, text: str
) -> None:
    file = tmp_path_factory.mktemp("vnfd") / "vnfd.yaml"
    mutated = SOUND[:start] + text + SOUND[start + length % 12 :]
    file.write_bytes(mutated.encode(errors="surrogatepass"))
    with suppress(InputError):
        assert isinstance(read_descriptor(file), Descriptor)
