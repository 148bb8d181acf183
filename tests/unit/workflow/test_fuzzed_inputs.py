"""Mutated workflows and descriptors, as text: only errors that people can read, in bounded time
and memory."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from support.attacks import descriptors, workflows
from support.fuzzing import fuzz

from sfcperf.errors import InputError
from sfcperf.workflow.document import read_document
from sfcperf.workflow.load import load_document
from sfcperf.workflow.plan import workflow_s
from sfcperf.workflow.vnfd import read_descriptor

ROOT = Path(__file__).parents[3]
WORKFLOWS = [path.read_bytes() for path in sorted((ROOT / "workflows").glob("*.json"))]
WORDS_OF_JSON = [
    b"[]", b"{}", b"null", b"-1", b"0", b"1e999", b"1e18", b"9" * 30, b'"', b"\\", b"\\u0000", b"[",
    b'"${chain_length}"', b"${", b"}", b'{"name": "a", "value": [', b'"\\ud800"', b"\x1b", b"\xff",
    b'"variants": {"a": {}, "b": {"chain.spi": 2}},', b'"preset": "a",',
    b'"design": {"rounds": 1},',
    b'"vnfd": "vnfd.yaml",', b'"monitors": [{"monitor": "cpu"}],', b",", b":", b"\n",
]  # fmt: skip
DESCRIPTORS = [
    *(path.read_bytes() for path in sorted((ROOT / "vnfs").glob("*/vnfd.yaml"))),
    descriptors.laughs(4).encode() + descriptors.template("num_cpus: 2, mem_size: 1 GB").encode(),
    descriptors.template(
        "num_cpus: {get_input: n}",
        head="imports: [{a: {file: types.yaml, namespace_prefix: x}}]\n"
        "node_types: {t.a: {derived_from: tosca.nodes.Root, properties: {p: {type: string, "
        "constraints: [{min_length: 1}]}}}}\n",
        vdu="      properties: {image: a}\n"
        "      artifacts: {i: {type: tosca.artifacts.Deployment.Image.VM, file: a.qcow2}}\n"
        "    N: {type: t.a, properties: {p: {concat: [a, {get_property: [SELF, p]}]}}}\n"
        "  inputs: {n: {type: integer, default: 1}}\n",
    ).encode(),
]
WORDS_OF_TOSCA = [
    b"[]", b"{}", b"null", b"-5", b"0", b"1e999", b"9" * 30, b"&a ", b"*a", b"<<: *a", b"!!int ",
    b"!!binary ", b"!!set ", b"!!timestamp 2001-01-01", b"? ", b"- ", b": ", b"\n", b"  ", b"\t",
    b"|\n", b"'", b'"', b"{get_property: [SELF, p]}", b"{get_attribute: [HOST, p]}", b"[[[[", b"%",
    b"{get_input: n}", b"{token: [a, b, 1]}", b"imports: [types.yaml]\n", b"derived_from: t.a",
    b"type: tosca.nodes.Compute", b"type: tosca.nodes.nfv.VDU.Tacker", b"requirements: [{host: N}]",
    b"artifacts: ", b"properties: ", b"capabilities: ", b"node_types: ", b"data_types: ", b"---\n",
    b"substitution_mappings: {node_type: t.a}", b"policies: ", b"groups: ", b"\xff", b"\x00",
]  # fmt: skip


@pytest.mark.exhaustive
def test_mutated_workflows(tmp_path: Path) -> None:
    (tmp_path / "vnfd.yaml").write_bytes(DESCRIPTORS[0])
    path = tmp_path / "workflow.json"
    sound = [*WORKFLOWS, workflows.workflow().encode()]

    def load(content: bytes) -> None:
        path.write_bytes(content)
        workflow_s(load_document(read_document(path), tmp_path))

    fuzz(load, sound, WORDS_OF_JSON, InputError, count=4_000)


@pytest.mark.exhaustive
def test_mutated_descriptors(tmp_path: Path) -> None:
    (tmp_path / "types.yaml").write_text(descriptors.TYPES)
    numbers = count()

    def read(content: bytes) -> None:
        # Another file each time: what was read is kept by name and time.
        path = tmp_path / f"vnfd-{next(numbers)}.yaml"
        path.write_bytes(content)
        try:
            read_descriptor(path)
        finally:
            path.unlink()

    fuzz(read, DESCRIPTORS, WORDS_OF_TOSCA, InputError, count=4_000)
