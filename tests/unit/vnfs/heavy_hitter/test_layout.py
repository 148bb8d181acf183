"""Where the fields of a compiled program's metadata are."""

from __future__ import annotations

import re

from sfcperf.vnfs.heavy_hitter.layout import HASH_BYTES, laid_out

MOST_BYTES = 64

# As p4c-dpdk writes them: `t` and `u` are written and read between labels; `v` is read behind one,
# `w` is in use while a table runs, `x` is read before it is written.
SPEC = """struct metadata_t {
	bit<32> port
	bit<64> key
	bit<16> t
	bit<16> u
	bit<16> v
	bit<16> w
	bit<16> x
	bit<32> place
}
metadata instanceof metadata_t

action found args none {
	return
}

learner flows {
	key {
		m.key
	}
	actions {
		found
	}
}

apply {
	rx m.port
	mov m.t h.a.b
	and m.t 0x3F
	jmpeq NEXT m.t 0x1
	mov m.u h.a.c
	add m.u m.x
	mov m.x m.u
	mov m.v 0x1
	NEXT :	hash jhash m.place h.a.b h.a.c
	mov m.w m.v
	table flows
	add m.w 0x1
	tx m.port
}
"""


def places(spec: str) -> dict[str, int]:
    """Byte of each field."""
    found, at = {}, 0
    for bits, name in re.findall(r"bit<(\d+)> (\w+)", spec.partition("}")[0]):
        found[name] = at
        at += int(bits) // 8
    assert at <= MOST_BYTES
    return found


def test_the_instructions_stay() -> None:
    assert laid_out(SPEC, MOST_BYTES).partition("metadata ")[2].replace("m.u", "m.t") == (
        SPEC.partition("metadata ")[2].replace("m.u", "m.t")
    )


def test_temporaries_that_are_never_in_use_together_share_a_field() -> None:
    kept = places(laid_out(SPEC, MOST_BYTES))
    assert ("t" in kept) != ("u" in kept)
    assert {"port", "key", "v", "w", "x", "place"} <= kept.keys()


def test_what_was_just_written_is_not_read_with_its_neighbours() -> None:
    at = places(laid_out(SPEC, MOST_BYTES))
    temporary = at.get("t", at.get("u", -1))
    assert abs(temporary - at["x"]) >= 8
    assert abs(at["v"] - at["place"]) >= 8
    assert at["place"] + 4 <= HASH_BYTES


def test_the_metadata_do_not_exceed_their_limit() -> None:
    """What is left of the fields takes 24 bytes."""
    assert sum(map(int, re.findall(r"bit<(\d+)> gap", laid_out(SPEC, 26)))) == 16
    assert "gap" not in laid_out(SPEC, 24)
