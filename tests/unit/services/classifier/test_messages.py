"""Records and verdicts, against their JSON Schemas."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.classifier import POISONED, flow_packets, record, syn
from support.tiers import examples

from sfcperf.services.classifier import records, verdicts
from sfcperf.services.classifier.features import FEATURES, PLACES, SCHEMA_HASH, seen
from sfcperf.services.classifier.records import LARGEST_RECORD_BYTES, PoisonedRecord
from sfcperf.vnfs.ids.features import NAMES

SCHEMAS = files("sfcperf.schemas")


def validator(name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return jsonschema_rs.validator_for(schema, validate_formats=True)


RECORD, VERDICT = validator("flow-record"), validator("verdict")
GOOD = record(flow_packets(10, 41_000, 10))

values = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**65), st.floats(), st.text(max_size=9),
    st.sampled_from(["::1", "192.0.2.1", "fe80::1%1", "1.2.3", 65_535, 65_536, 255, 256, 64]),
)  # fmt: skip


def is_record(message: bytes) -> bool:
    try:
        records.parse(message)
    except PoisonedRecord:
        return False
    return True


@examples(1000)
@given(st.integers(0, len(NAMES) - 1), values)
def test_columns_are_checked_as_the_schema_says(place: int, value: Any) -> None:
    features = list(GOOD["features"])
    features[place] = value
    message = json.dumps({**GOOD, "features": features})
    # A whole number may be written as 1.0 by JSON Schema; the IDS never does.
    if isinstance(value, float) or (isinstance(value, int) and value > records.MOST_NUMBER):
        return
    assert is_record(message.encode()) == RECORD.is_valid(json.loads(message))


def test_all_fields_are_needed() -> None:
    assert is_record(json.dumps(GOOD).encode())
    for name in GOOD:
        message = {key: value for key, value in GOOD.items() if key != name}
        assert not is_record(json.dumps(message).encode()), name


def test_poisoned_messages_are_told() -> None:
    for message in POISONED:
        with pytest.raises(PoisonedRecord, match=r"."):
            records.parse(message)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_record_or_poisoned(message: bytes) -> None:
    is_record(message)


GOOD_VERDICT = verdicts.Verdict(
    version=1, record=(3, 17), recorded_ms=1, source="ids-1", sequence=5, kind="early",
    first_ns=9, protocol=6, src="192.0.2.1", src_port=4, dst="192.0.2.2", dst_port=80,
    label="syn-flood",
)  # fmt: skip


def test_verdicts_are_as_their_schema_says() -> None:
    text = verdicts.encode(GOOD_VERDICT)
    VERDICT.validate(json.loads(text))
    assert list(json.loads(text)) == list(verdicts.Verdict.__struct_fields__)
    assert verdicts.decode(text) == GOOD_VERDICT


NUMBERS = st.sampled_from([-1, 0, 1, 255, 256, 65_535, 65_536, 2**62, 2**63 - 1, 2**63, 10**30])
LENGTHS = st.sampled_from([0, 1, 128, 129, 1000, 1001, 990_000])


@examples(1000)
@given(st.data())
def test_verdicts_are_checked_as_the_schema_says(data: st.DataObject) -> None:
    """Anybody who reaches the broker can write one."""
    fields = json.loads(verdicts.encode(GOOD_VERDICT))
    name = data.draw(st.sampled_from([n for n in fields if n not in ("src", "dst")]))
    number, text = data.draw(NUMBERS), "x" * data.draw(LENGTHS)
    fields[name] = data.draw(st.sampled_from([number, text, None, 1.5, [0, number], [number, 0]]))
    message = json.dumps(fields).encode()
    try:
        verdicts.decode(message)
    except msgspec.MsgspecError:
        decoded = False
    else:
        decoded = True
    assert decoded == VERDICT.is_valid(fields)


def test_reasons_are_short() -> None:
    """They are headers of dead letters, which must be smaller than what the broker takes."""
    for wrong in ({**GOOD, "x" * 60_000: 1}, {**GOOD, "source": "x" * LARGEST_RECORD_BYTES}):
        with pytest.raises(PoisonedRecord) as raised:
            records.parse(json.dumps(wrong).encode())
        assert len(str(raised.value)) <= 200


def test_a_model_sees_neither_addresses_nor_ports() -> None:
    first, second = record([syn(50_000)]), record([syn(50_001, source=77)])
    assert first["features"] != second["features"]
    assert seen("window", first["features"]) == seen("window", second["features"])
    assert not {"srcip", "dstip", "srcport", "dstport", "class"} & set(FEATURES)
    assert len(FEATURES) == len(PLACES) + 1 == 42
    assert seen("early", first["features"])[0] == 1
    # Stored models depend on it: a change refuses them all.
    assert SCHEMA_HASH == "2465c0cd45cae50d"
