"""The controller's resources: what is refused, where, and with which words."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.sfcmon.controller_states import mac, states, switch, two_switches
from support.tiers import examples

from sfcperf.vnfs.sfcmon.bmv2 import banks
from sfcperf.vnfs.sfcmon.controller.entries import entries
from sfcperf.vnfs.sfcmon.controller.model import Sizes, State
from sfcperf.vnfs.sfcmon.controller.references import problems

PATH, BACK = two_switches()["paths"][10], two_switches()["rules"]["back"]
OTHER = {"switch": "s1", "port": 1, "mac": mac(99)}
LINK_END = {"switch": "s1", "port": 384}
ALL_PORTS = {"source_port": {"first": 0, "last": 65535}}
SSH = {"address": "198.18.7.1", "host_key": "ssh-ed25519 AAAA", "key_file": "/keys/switches"}
AWAY = {"p4runtime": "127.0.0.1:9559", "ssh": SSH}
"""A switch on another machine."""


def changed(place: str, value: Any) -> str:
    """`two_switches` with another value, or with more of them, there; `...`: there is none."""
    raw = json.loads(json.dumps(two_switches()))
    *folders, name = place.split()
    part: Any = raw
    for folder in folders:
        part = part.setdefault(folder, {})
    if value is ...:
        del part[name]
    elif isinstance(value, dict) and isinstance(part.get(name), dict):
        part[name] |= value
    else:
        part[name] = value
    return json.dumps(raw)


def test_sizes_are_those_that_the_program_has_room_for():
    schema = Sizes.model_json_schema()["properties"]
    most = banks.most_sizes()
    assert schema["cms_columns"]["maximum"] == most["columns"]
    assert schema["bloom_bits"]["maximum"] == most["bits"]
    assert schema["iblt_cells"]["maximum"] == most["cells"]


def test_a_state_survives_json():
    state = State.model_validate_json(changed("switches s1", {**AWAY, "thrift": {}}))
    assert State.model_validate_json(state.model_dump_json()) == state
    assert State.model_validate_json(state.model_dump_json(exclude_defaults=True)) == state


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("switches s1 colour", 1),
        ("switches s1 address", 5),
        ("switches s1 address", "192.0.2.256"),
        ("switches s1 mac", "02:00:00:00:01"),
        ("switches s1 mac", "01:00:00:00:00:01"),
        ("switches s1 p4runtime", "localhost"),
        ("switches s1", {"p4runtime": "198.18.7.1:9559"}),
        ("switches s1", {**AWAY, "p4runtime": "unix:/run/s1.sock"}),
        ("switches s1", {**AWAY, "p4runtime": "198.18.7.1:9559"}),
        ("switches s1", {**AWAY, "thrift": {"namespace": "/run/netns/s1"}}),
        ("switches s1", {"ssh": SSH}),
        ("switches s1 ssh", SSH | {"key_file": "keys"}),
        ("switches s1 ssh", SSH | {"host_key": "AAAA"}),
        ("switches s1 ssh", SSH | {"user": "-x"}),
        ("switches s1 device", True),
        ("switches s1 device", "1"),
        ("switches s1 program", "switch"),
        ("switches s1 ports 01", 1500),
        ("switches s1 ports 510", 1500),
        ("switches ../x", switch(3)),
        ("links s1-s2 ends", [LINK_END]),
        ("functions fwd-1", {"transport": "gpe"}),
        ("functions fwd-1", {"ingress": {"port": 128, "mac": mac(21), "address": "192.0.2.9"}}),
        ("chains web types", []),
        ("paths 0", PATH),
        ("paths 16777216", PATH),
        ("rules back path", ...),
        ("rules back priority", 0),
        ("rules back match version", 5),
        ("rules back match source", "10.0.0.1/8"),
        ("rules back match source", "fe80::%1/64"),
        ("rules back match source", 7),
        ("rules back match", {"version": 4, "source": "::/0"}),
        ("rules there match source_port", {"first": 2, "last": 1}),
        ("monitoring s1 thresholds share", 1.0),
        ("monitoring s1 sizes iblt_cells", 513),
    ],
)
def test_what_is_wrong_by_itself(place: str, value: Any):
    """And not what is around it."""
    with pytest.raises(ValidationError) as caught:
        State.model_validate_json(changed(place, value))
    [found] = {" ".join(map(str, each["loc"])) for each in caught.value.errors()}
    assert found.startswith(place)


@pytest.mark.parametrize(
    ("place", "value", "where", "words"),
    [
        ("endpoints client switch", "s9", "endpoints/client/switch", "switch 's9'"),
        ("paths 10 hops", ["fwd-1", "none"], "paths/10/hops/1", "'none'"),
        ("monitoring s9", {}, "monitoring/s9", "switch 's9'"),
        ("endpoints client port", 2, "endpoints/client/port", "port 2"),
        ("endpoints client port", 128, "endpoints/client/port", "of another kind"),
        ("endpoints other", OTHER, "endpoints/other/port", "/endpoints/client/port"),
        ("endpoints client mac", mac(12), "endpoints/server/mac", "/endpoints/client/mac"),
        ("switches s2 address", "192.0.2.1", "switches/s2/address", "192.0.2.1"),
        ("links s1-s2 ends", [LINK_END] * 2, "links/s1-s2/ends/1/port", "taken"),
        ("monitoring s1", {}, "monitoring/s1", "Thrift"),
        ("paths 10 hops", ["fwd-1"], "paths/10/hops", "1 function"),
        ("paths 10 hops", ["fw-1", "fwd-1"], "paths/10/hops/0", "'forwarder'"),
        ("paths 10 initial_si", 2, "paths/10/initial_si", "too small"),
        ("paths 10 destination", "client", "paths/10/destination", "source"),
        ("paths 10 reverse_spi", 10, "paths/10/reverse_spi", "/paths/10"),
        ("links s1-s2", ..., "paths/10", "no links"),
        ("paths 20", PATH | {"reverse_spi": None}, "paths/20", "SI 254 return by its port 257"),
        ("functions fw-1 egress", None, "paths/10", "SPI 10, SI 254 return"),
        ("rules back port", 1, "rules/back/port", "port 1"),
        ("rules back path", 12, "rules/back/path", "SPI 12"),
        ("rules back path", 10, "rules/back/path", "switch 's1', port 1"),
        ("rules other", BACK | {"match": ALL_PORTS}, "rules/other", "/rules/back"),
    ],
)
def test_what_is_wrong_with_others(place: str, value: Any, where: str, words: str):
    found = problems(State.model_validate_json(changed(place, value)))
    assert (f"/{where}", True) in [(each.where, words in each.message) for each in found], found


def test_a_program_without_sketches_and_a_path_that_is_too_long():
    plain, long = two_switches(), two_switches()
    plain["monitoring"] = {"s1": {}}
    plain["switches"]["s1"]["program"] = "sfc_switch_plain"
    long["chains"]["web"]["types"] = ["forwarder"] * 62
    long["paths"][10]["hops"] = ["fwd-1"] * 62
    for raw, where, words in (
        (plain, "/monitoring/s1", "sfc_switch_plain"),
        (long, "/paths/10/hops", "64 lookups"),
    ):
        found = problems(State.model_validate(raw))
        assert (where, True) in [(each.where, words in each.message) for each in found], found


def test_switches_on_other_machines():
    """Both may have P4Runtime at the same port, but not on the same machine."""
    raw = two_switches()
    for number, name in enumerate(("s1", "s2")):
        raw["switches"][name] |= {**AWAY, "ssh": SSH | {"address": f"198.18.7.{number}"}}
    assert problems(State.model_validate(raw)) == problems(State.model_validate(two_switches()))
    raw["switches"]["s1"]["ssh"] = raw["switches"]["s2"]["ssh"]
    [found] = problems(State.model_validate(raw))
    assert found.where == "/switches/s2/p4runtime"
    assert "127.0.0.1:9559 of 198.18.7.1, port 22, device 1 is taken" in found.message


def test_a_link_of_a_switch_with_itself():
    raw = two_switches()
    raw["switches"]["s1"]["ports"][385] = 1500
    raw["links"]["loop"] = {"ends": [{"switch": "s1", "port": p} for p in (384, 385)]}
    raw["links"].pop("s1-s2")
    [found] = problems(State.model_validate(raw))
    assert found.where == "/links/loop/ends/1/switch"


def test_more_entries_than_a_table_has_room_for():
    raw = {"switches": {"s0": switch(255)}, "endpoints": {}}
    for number in range(1025):
        name = f"s{number // 64 + 1}"
        raw["switches"].setdefault(name, switch(number // 64 + 1, dict.fromkeys(range(64), 1500)))
        raw["endpoints"][f"e{number}"] = {
            "switch": name,
            "port": number % 64,
            "mac": mac(1000 + number),
        }
    raw["links"] = {}
    names = sorted(raw["switches"])
    for one, other in pairwise(names):
        for name, port in ((one, 384), (other, 385)):
            raw["switches"][name]["ports"][port] = 1500
        raw["links"][f"{one}-{other}"] = {
            "ends": [{"switch": one, "port": 384}, {"switch": other, "port": 385}]
        }
    found = problems(State.model_validate(raw))
    assert {each.where for each in found} == {f"/switches/{name}" for name in names}
    assert "1025 entries do not fit into its table `stations`" in found[0].message


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where numbers, texts and nulls are."""
    if isinstance(value, dict):
        return [each for key, part in value.items() for each in _places(part, (*place, key))]
    if isinstance(value, list):
        return [each for key, part in enumerate(value) for each in _places(part, (*place, key))]
    return [place]


@st.composite
def changed_states(draw: st.DrawFn) -> State | None:
    """States in which some values were exchanged with others; None if one is no state."""
    raw = draw(states()).model_dump(mode="json")
    places = _places({name: part for name, part in raw.items() if name != "switches"})
    for _ in range(draw(st.integers(1, 3))):
        to, of = draw(st.sampled_from(places)), draw(st.sampled_from(places))
        target, source = raw, raw
        for key in to[:-1]:
            target = target[key]
        for key in of:
            source = source[key]
        target[to[-1]] = source
    try:
        return State.model_validate(raw)
    except ValidationError:
        return None


@examples(2000, gate=60)
@given(changed_states())
def test_a_state_without_problems_has_entries(state: State | None):
    if state is None or problems(state):
        return
    event("taken")
    for wanted in entries(state).values():
        assert len({entry.identity for entry in wanted}) == len(wanted)
