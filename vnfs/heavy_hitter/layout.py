"""Places of the metadata's fields in a compiled program, so that the CPU does not wait for them.

The pipeline reads and writes 64 bits at the place of a field, however narrow it is. A CPU passes a
value that was just written on to an instruction that reads it only if one write has all bits that
are read; else it waits until they are in its cache, 10 cycles and more (Fog, "The microarchitecture
of Intel, AMD and VIA CPUs", store forwarding). p4c-dpdk puts fields next to each other in the order
of their declarations, which is also the order in which they are used.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

ACCESS_BYTES = 8
ROOM_BITS = 32
"""Bits that a narrower field gets where the metadata have room."""
NEAR = 24
"""Instructions after which a value that was written is in the cache."""
HASH_BYTES = 32
"""Hash values must lie in the first so many bytes."""
_METADATA = re.compile(r"(?<=struct metadata_t \{\n)[^}]*")
_FIELD = re.compile(r"bit<(\d+)> (\w+)")
_USE = re.compile(r"\bm\.(\w+)")
_CODE = re.compile(r"^(?:action \w+ args none|apply) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^\s*\w+\s*:\s*")
_WRITES = {"mov", "add", "sub", "and", "or", "xor", "shl", "shr", "regrd", "rx"}
"""Instructions that change their first operand."""
_BEGINS = {"mov", "regrd"}
"""Those with which the life of a temporary may begin: they do not read what they overwrite."""
_ELSEWHERE = {"table", "learn"}
"""Instructions that run others, elsewhere in the program."""


@dataclass(frozen=True)
class Instruction:
    """A line of the program."""

    words: tuple[str, ...]
    """Its name and operands."""
    labelled: bool
    """Whether a label stands in front of it, to which others jump."""
    uses: tuple[str, ...]
    """Fields of the metadata, in the order in which they are named."""

    @classmethod
    def of(cls, line: str) -> Instruction:
        """Read it from a line of code."""
        return cls(
            words=tuple(_LABEL.sub("", line).split()),
            labelled=bool(_LABEL.match(line)),
            uses=tuple(_USE.findall(line)),
        )

    @property
    def writes(self) -> str | None:
        """The field of the metadata that it changes; None: it changes none."""
        at = 2 if self.words[0] == "hash" else 1  # the function stands in front: `hash jhash m.x`
        if self.words[0] not in {*_WRITES, "hash"} or not self.words[at].startswith("m."):
            return None
        return self.words[at].removeprefix("m.")


def laid_out(spec: str, most_bytes: int) -> str:
    """Return a program that does the same, with fewer fields in its metadata, and these at other
    places. `most_bytes`: limit to which its metadata may grow where fields get more room."""
    return _placed(_shared(spec), most_bytes)


def _code(spec: str) -> list[list[Instruction]]:
    """Return the instructions of each action, and of the pipeline (`apply`)."""
    return [[Instruction.of(line) for line in code.splitlines()] for code in _CODE.findall(spec)]


def _bits(spec: str) -> dict[str, int]:
    """Return the widths of the metadata's fields, in their order."""
    found = _METADATA.search(spec)
    assert found is not None
    return {name: int(bits) for bits, name in _FIELD.findall(found[0])}


# --- fewer fields ---


def _shared(spec: str) -> str:
    """Return the program with one field for temporaries that are never in use at the same time."""
    bits, hosts = _bits(spec), {}  # hosts: temporary -> the one whose field it shares
    taken: dict[tuple[int, str], tuple[int, int]] = {}  # width and host: where it was used last
    for block, last, first, name in sorted(
        _temporaries(_code(spec)), key=lambda temporary: temporary[:3]
    ):
        for (width, host), (last_block, last_use) in taken.items():
            if width == bits[name] and (last_block, last_use) < (block, first):
                hosts[name] = host
                break
        taken[bits[name], hosts.get(name, name)] = (block, last)
    spec = _USE.sub(lambda use: f"m.{hosts.get(use[1], use[1])}", spec)
    return re.sub(rf"\tbit<\d+> (?:{'|'.join(hosts)})\n", "", spec) if hosts else spec


def _temporaries(code: Sequence[Sequence[Instruction]]) -> Iterator[tuple[int, int, int, str]]:
    """Yield block, last and first instruction, and name of each temporary. That is a field which is
    written before it is read, and only used in a stretch of instructions that no jump enters, and
    that runs no instructions elsewhere."""
    places = defaultdict(list)
    for block, instructions in enumerate(code):
        for number, instruction in enumerate(instructions):
            for name in instruction.uses:
                places[name].append((block, number))
    for name, used in places.items():
        (block, first), (last_block, last) = used[0], used[-1]
        inside = code[block][first + 1 : last + 1]
        begin = code[block][first]
        if (
            block == last_block
            and begin.words[0] in _BEGINS
            and begin.writes == name
            and begin.uses.count(name) == 1
            and not any(
                instruction.labelled or instruction.words[0] in _ELSEWHERE for instruction in inside
            )
        ):
            yield block, last, first, name


# --- other places ---


def _placed(spec: str, most_bytes: int) -> str:
    """Return the program with the fields of its metadata in an order that makes the CPU wait
    little, with gaps behind those that get more room. The table's key and fields of 64 bits come
    last, in their order."""
    code, bits = _code(spec), _bits(spec)
    key = _USE.findall(spec.partition("key {")[2].partition("}")[0])
    fixed = [*key, *(name for name in bits if bits[name] == 64 and name not in key)]
    hashed = {  # fields that get hash values
        instruction.writes or ""
        for block in code
        for instruction in block
        if instruction.words[0] == "hash"
    }
    room = _with_room(bits, fixed, code, most_bytes)
    # Hash values come first, because an order with them beyond HASH_BYTES costs infinitely much.
    narrow = sorted(bits.keys() - set(fixed), key=lambda name: (name not in hashed, name))
    order = [*_climbed(narrow, fixed, room, _waits(code), hashed), *fixed]
    lines = []
    for name in order:
        lines.append(f"\tbit<{bits[name]}> {name}\n")
        if gap := room[name] - bits[name]:
            lines.append(f"\tbit<{gap}> gap_{len(lines)}\n")
    return _METADATA.sub("".join(lines), spec)


def _with_room(
    bits: Mapping[str, int],
    fixed: Sequence[str],
    code: Sequence[Sequence[Instruction]],
    most_bytes: int,
) -> dict[str, int]:
    """Return the bits that each field gets, with the gap behind it. A field narrower than ROOM_BITS
    gets so many, the most used first, if the metadata then still fit into `most_bytes`: fewer other
    fields are then within a read of 64 bits at its place. The `fixed` ones, which `_placed` puts
    last, get no gap."""
    uses = Counter(name for block in code for instruction in block for name in instruction.uses)
    room, spare = dict(bits), 8 * most_bytes - sum(bits.values())
    for name in sorted(bits.keys() - set(fixed), key=lambda name: (-uses[name], name)):
        if 0 < ROOM_BITS - bits[name] <= spare:
            spare -= ROOM_BITS - bits[name]
            room[name] = ROOM_BITS
    return room


def _waits(code: Sequence[Sequence[Instruction]]) -> dict[tuple[str, str], float]:
    """Return for pairs of fields, in alphabetical order, what it costs if both are within a read of
    64 bits: the sooner one is used after the other was written, the more."""
    costs: dict[tuple[str, str], float] = defaultdict(float)
    for block in code:
        for number, instruction in enumerate(block):
            written = instruction.writes
            for passed, later in enumerate(block[number + 1 : number + NEAR], 1):
                for name in later.uses:
                    if written and name != written:
                        costs[min(written, name), max(written, name)] += 1 / passed
    return costs


def _climbed(
    narrow: list[str],
    fixed: Sequence[str],
    room: Mapping[str, int],
    waits: Mapping[tuple[str, str], float],
    hashed: set[str],
) -> list[str]:
    """Return an order of the narrow fields that no exchange of two makes better (hill climbing)."""

    def cost(order: Sequence[str]) -> float:
        """Return what an order costs: the waits of all pairs of fields within one read. It is
        infinite if a hash value does not lie in the first HASH_BYTES."""
        at, places = 0, {}
        for name in (*order, *fixed):
            places[name] = at
            at += room[name] // 8
        # A hash value has 32 bits.
        if any(places[name] > HASH_BYTES - ACCESS_BYTES // 2 for name in hashed):
            return float("inf")
        return sum(
            each
            for (one, other), each in waits.items()
            if abs(places[one] - places[other]) < ACCESS_BYTES
        )

    best, before = cost(narrow), float("inf")
    while best < before:
        before = best
        for one, other in combinations(range(len(narrow)), 2):
            narrow[one], narrow[other] = narrow[other], narrow[one]
            if (now := cost(narrow)) < best:
                best = now
            else:
                narrow[one], narrow[other] = narrow[other], narrow[one]
    return narrow
