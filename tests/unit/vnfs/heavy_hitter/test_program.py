"""The compiled P4 program is that of its source, and one that DPDK does not corrupt silently."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.vnfs.heavy_hitter import write_pcap

from sfcperf.dataplane import binaries
from sfcperf.vnfs.heavy_hitter import compile as compiling

SPEC = compiling.SPEC.read_text()


def test_it_was_made_from_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiling.compiled_digest() == compiling.digest(), "run `make p4-dpdk`: it has changed"
    changed = tmp_path / "changed.p4"
    changed.write_text(compiling.SOURCE.read_text() + "// changed\n")
    monkeypatch.setattr(compiling, "SOURCE", changed)
    assert compiling.compiled_digest() != compiling.digest()


def test_the_metadata_is_no_larger_than_instructions_can_reach() -> None:
    assert 0 < compiling.metadata_bytes(SPEC) <= compiling.METADATA_BYTES


def test_hash_values_go_to_the_first_256_bits() -> None:
    fields = re.findall(r"bit<(\d+)> (\w+)", SPEC.partition("struct metadata_t")[2].split("}")[0])
    at, places = 0, {}
    for bits, name in fields:
        places[name] = at
        at += int(bits)
    targets = re.findall(r"hash jhash m\.(\w+)", SPEC)
    assert targets
    assert all(places[name] + 32 <= 256 for name in targets)


def test_constants_go_to_constant_places_of_the_first_array_only() -> None:
    """DPDK 22.11 forgets which array REGADD_RII and REGWR_RII change, and takes the first one."""
    first = re.findall(r"regarray (\w+)", SPEC)[0]
    changed = re.findall(r"(?:regadd|regwr) (\w+) (?:0x)?\w+ (?:0x)?\d\w*$", SPEC, re.MULTILINE)
    assert set(changed) == {first} == {"counters_0"}


def test_the_numbers_of_the_tool_are_those_of_the_program() -> None:
    source = compiling.SOURCE.read_text()
    names = re.findall(r"const bit<32> COUNT_(\w+) = (\d+)", source)
    header = (compiling.FOLDER.parent / "settings.h").read_text()
    listed = re.findall(r"^\tCOUNT_(\w+),", header, re.MULTILINE)
    assert [name for name, _ in names] == listed
    assert [int(number) for _, number in names] == list(range(len(names)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda spec: spec.replace("apply {", "supply {"), "this is not understood"),
        (lambda spec: spec.partition("apply {")[0] + "apply {\n", "a block does not end"),
        (lambda spec: spec.replace("hash jhash", "hash md5"), "DPDK refuses what ends here"),
        (lambda spec: spec.replace("key {\n", "key {\n" + 100 * "m.x\n"), "the block is too long"),
        (lambda spec: spec.replace("actions {\n", "actions {\n" + 100 * "NoAction\n"), "too long"),
    ],
)
def test_a_broken_program_is_refused(
    tmp_path: Path, change: Callable[[str], str], complaint: str
) -> None:
    spec = tmp_path / "broken.spec"
    spec.write_text(change(SPEC))
    argv = [binaries.find("sfc-heavy-hitter"), "--engine", "swx", "--spec", spec]
    write_pcap(tmp_path / "trace.pcap", [])
    argv += ["--trace", tmp_path / "trace.pcap"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--engine", "swx", "--trace", "x"], "--spec"),
        (["--engine", "native"], "--trace, --interface and --generate"),
        (["--engine", "native", "--trace", "x", "--columns", "1000"], "power of two"),
        (["--engine", "native", "--trace", "x", "--rows", "9"], "9"),
    ],
)
def test_wrong_options(words: list[str], complaint: str) -> None:
    argv = [binaries.find("sfc-heavy-hitter"), *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_its_c_has_the_sizes_that_are_asked_for(tmp_path: Path) -> None:
    """What is compiled to a library, where DPDK's sources are."""
    code = tmp_path / "pipeline.c"
    argv = [binaries.find("sfc-heavy-hitter"), "--engine", "swx", "--spec", compiling.SPEC]
    argv += ["--columns", "1024", "--flows", "128", "--generate", code]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    text = code.read_text()
    arrays = re.findall(r'\.name = "(\w+)",\n\t+\.init_val = \d+,\n\t+\.size = (\d+)', text)
    assert [size for name, size in arrays if name.startswith("row_")] == ["1024"] * 8
    assert ".size = 128," in text
