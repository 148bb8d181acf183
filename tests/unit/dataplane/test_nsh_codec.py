"""Both NSH codecs against the golden vectors and against each other."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

from sfcperf.dataplane.nsh import ContextHeader, Nsh, NshError, VxlanGpe

VECTORS = json.loads((files("sfcperf.dataplane.nsh") / "vectors.json").read_text())

contexts = st.builds(
    ContextHeader,
    md_class=st.integers(0, 0xFFFF),
    type=st.integers(0, 0xFF),
    data=st.binary(max_size=40),
)
headers = st.builds(
    Nsh,
    spi=st.integers(0, 0xFFFFFF),
    si=st.integers(0, 0xFF),
    next_protocol=st.integers(0, 0xFF),
    metadata=st.binary(min_size=16, max_size=16) | st.lists(contexts, max_size=5).map(tuple),
    ttl=st.integers(0, 0x3F),
    oam=st.booleans(),
)


def _name(vector: dict[str, Any]) -> str:
    return str(vector["name"])


def _fields(header: Nsh) -> dict[str, Any]:
    """In the words of the vectors."""
    metadata = header.metadata
    return {
        "spi": header.spi,
        "si": header.si,
        "ttl": header.ttl,
        "oam": header.oam,
        "next_protocol": header.next_protocol,
        "md_type": header.md_type,
        "bytes": len(header.encode()),
        "metadata": metadata.hex()
        if isinstance(metadata, bytes)
        else [
            {"md_class": context.md_class, "type": context.type, "data": context.data.hex()}
            for context in metadata
        ],
    }


def _judge(data: bytes) -> dict[str, Any]:
    """What the Python codec makes of bytes, in the words of the vectors."""
    try:
        return _fields(Nsh.decode(data)[0])
    except NshError as error:
        return {"error": error.reason}


@pytest.mark.parametrize("vector", VECTORS["nsh"], ids=_name)
def test_python_agrees_with_the_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    expected = vector.get("fields") or {"error": vector["error"]}
    assert _judge(data) == expected
    if "bytes" in expected:
        header, payload = Nsh.decode(data + b"payload")
        assert payload == (data + b"payload")[expected["bytes"] :]
        # Encoding restores all but unassigned bits.
        again = header.encode()
        assert (again == data[: expected["bytes"]]) == vector.get("canonical", True)
        assert _judge(again) == expected


def test_c_agrees_with_the_vectors(c_decode: Any) -> None:
    answers = c_decode([bytes.fromhex(vector["hex"]) for vector in VECTORS["nsh"]])
    assert len(answers) == len(VECTORS["nsh"])
    for vector, answer in zip(VECTORS["nsh"], answers, strict=True):
        again = answer.pop("again", None)
        assert answer == (vector.get("fields") or {"error": vector["error"]}), vector["name"]
        if again is not None and vector.get("canonical", True):
            assert vector["hex"].startswith(again), vector["name"]


@given(data=st.lists(st.binary(max_size=64) | headers.map(Nsh.encode), min_size=1, max_size=50))
@examples(100)
def test_c_and_python_judge_any_bytes_alike(c_decode: Any, data: list[bytes]) -> None:
    answers = c_decode(data)
    for answer in answers:
        answer.pop("again", None)
    assert answers == [_judge(item) for item in data]


@given(header=headers, payload=st.binary(max_size=40))
def test_round_trip(header: Nsh, payload: bytes) -> None:
    assert Nsh.decode(header.encode() + payload) == (header, payload)


@given(header=headers, bits=st.lists(st.integers(0, 8 * 24), max_size=4), cut=st.integers(0, 60))
def test_damaged_headers_decode_or_raise_nsh_error(header: Nsh, bits: list[int], cut: int) -> None:
    data = bytearray(header.encode())
    for bit in bits:
        if bit < 8 * len(data):
            data[bit // 8] ^= 1 << bit % 8
    try:
        Nsh.decode(bytes(data[: len(data) - cut] if cut else data))
    except NshError as error:
        assert error.reason in {"truncated", "version", "md_type", "length", "metadata"}


@pytest.mark.parametrize(
    "fields",
    [
        {"spi": 1 << 24},
        {"spi": -1},
        {"spi": 1, "si": 256},
        {"spi": 1, "ttl": 64},
        {"spi": 1, "next_protocol": 256},
        {"spi": 1, "metadata": b"short"},
        {"spi": 1, "metadata": (ContextHeader(0, 0, bytes(127)),) * 2},
    ],
    ids=str,
)
def test_fields_that_do_not_fit_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(NshError) as caught:
        Nsh(**fields)
    assert caught.value.reason == "field"


@pytest.mark.parametrize("vector", VECTORS["vxlan_gpe"], ids=_name)
def test_vxlan_gpe_agrees_with_the_vectors(vector: dict[str, Any]) -> None:
    data = bytes.fromhex(vector["hex"])
    if "error" in vector:
        with pytest.raises(NshError) as caught:
            VxlanGpe.decode(data)
        assert caught.value.reason == vector["error"]
    else:
        header = VxlanGpe(**vector["fields"])
        assert VxlanGpe.decode(data + b"x") == (header, b"x")
        assert VxlanGpe.decode(header.encode()) == (header, b"")
