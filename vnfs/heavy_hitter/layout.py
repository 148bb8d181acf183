"""Places the metadata's fields of a compiled program so that the CPU does not wait for them.

The pipeline reads and writes 64 bits at the place of a field, however narrow it is. A CPU passes a
value that was just written on to who reads it only if one write has all bits that are read; else it
waits until they are in its cache, 10 cycles and more (Fog, "The microarchitecture of Intel, AMD and
VIA CPUs", store forwarding). p4c-dpdk puts fields next to each other in the order in which they are
declared, which is also that in which they are used.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

ACCESS_BYTES = 8
ROOM_BITS = 32
"""Bits that a narrower field gets where the metadata have room, so that its neighbour is farther
away."""
NEAR = 24
"""So many instructions after a write, its value is in the cache."""
HASH_BYTES = 32
"""Fields with hash values must lie in the first so many bytes."""
_METADATA = re.compile(r"(?<=struct metadata_t \{\n)[^}]*")
_FIELD = re.compile(r"bit<(\d+)> (\w+)")
_USE = re.compile(r"\bm\.(\w+)")
_CODE = re.compile(r"^(?:action \w+ args none|apply) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^\s*\w+\s*:\s*")
_WRITES = {"mov", "add", "sub", "and", "or", "xor", "shl", "shr", "regrd", "rx"}
_BEGINS = {"mov", "regrd"}
_ELSEWHERE = {"table", "learn"}
"""Instructions that run other instructions."""


@dataclass(frozen=True)
class Instruction:
    """An instruction of the program."""

    words: tuple[str, ...]
    labelled: bool
    uses: tuple[str, ...]
    """Fields of the metadata that the instruction names, in that order."""

    @classmethod
    def of(cls, line: str) -> Instruction:
        """Read a line of code."""
        return cls(
            words=tuple(_LABEL.sub("", line).split()),
            labelled=bool(_LABEL.match(line)),
            uses=tuple(_USE.findall(line)),
        )

    @property
    def writes(self) -> str | None:
        """The field that the instruction changes; None if it changes none."""
        at = 2 if self.words[0] == "hash" else 1
        if self.words[0] not in {*_WRITES, "hash"} or not self.words[at].startswith("m."):
            return None
        return self.words[at].removeprefix("m.")


def laid_out(spec: str, most_bytes: int) -> str:
    """Return a program that does the same with fewer fields, at better places. Its metadata take
    at most `most_bytes`."""
    return _placed(_shared(spec), most_bytes)


def _code(spec: str) -> list[list[Instruction]]:
    """Return the instructions of each action, and of the pipeline."""
    return [[Instruction.of(line) for line in code.splitlines()] for code in _CODE.findall(spec)]


def _bits(spec: str) -> dict[str, int]:
    """Return the widths of the metadata's fields, in their order."""
    found = _METADATA.search(spec)
    assert found is not None
    return {name: int(bits) for bits, name in _FIELD.findall(found[0])}


# --- fewer fields ---


def _shared(spec: str) -> str:
    """Let temporaries that are never in use at the same time share one field."""
    bits, hosts = _bits(spec), {}
    taken: dict[tuple[int, str], tuple[int, int]] = {}  # width and host: where it was used last
    for block, last, _first, name in sorted(
        _temporaries(_code(spec)), key=lambda temporary: temporary[:3]
    ):
        for (width, host), (other, until) in taken.items():
            if width == bits[name] and (other, until) < (block, _first):
                hosts[name] = host
                break
        taken[bits[name], hosts.get(name, name)] = (block, last)
    spec = _USE.sub(lambda use: f"m.{hosts.get(use[1], use[1])}", spec)
    return re.sub(rf"\tbit<\d+> (?:{'|'.join(hosts)})\n", "", spec) if hosts else spec


def _temporaries(code: Sequence[Sequence[Instruction]]) -> Iterator[tuple[int, int, int, str]]:
    """Yield the fields that hold a value only for a while: written before they are read, and not
    used outside one stretch without labels. Each comes as block, last and first instruction, and
    name."""
    places = defaultdict(list)
    for block, instructions in enumerate(code):
        for number, instruction in enumerate(instructions):
            for name in instruction.uses:
                places[name].append((block, number))
    for name, used in places.items():
        (block, first), (other, last) = used[0], used[-1]
        inside = code[block][first + 1 : last + 1]
        begin = code[block][first]
        if (
            block == other
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
    """Put the fields in a better order. Keys of tables and fields of 64 bits stay together at
    the end."""
    code, bits = _code(spec), _bits(spec)
    key = _USE.findall(spec.partition("key {")[2].partition("}")[0])
    fixed = [*key, *(name for name in bits if bits[name] == 64 and name not in key)]
    hashed = {
        instruction.writes or ""
        for block in code
        for instruction in block
        if instruction.words[0] == "hash"
    }
    room = _with_room(bits, fixed, code, most_bytes)
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
    """Return the bits that each field gets. The fields that are used most get more room first."""
    uses = Counter(name for block in code for instruction in block for name in instruction.uses)
    room, left = dict(bits), 8 * most_bytes - sum(bits.values())
    for name in sorted(bits.keys() - set(fixed), key=lambda name: (-uses[name], name)):
        if 0 < ROOM_BITS - bits[name] <= left:
            left -= ROOM_BITS - bits[name]
            room[name] = ROOM_BITS
    return room


def _waits(code: Sequence[Sequence[Instruction]]) -> dict[tuple[str, str], float]:
    """Return the cost of each pair of fields that lie within one read of 64 bits. The sooner one
    is used after the other was written, the more the CPU waits."""
    found: dict[tuple[str, str], float] = defaultdict(float)
    for block in code:
        for number, instruction in enumerate(block):
            written = instruction.writes
            for passed, later in enumerate(block[number + 1 : number + NEAR], 1):
                for name in later.uses:
                    if written and name != written:
                        found[min(written, name), max(written, name)] += 1 / passed
    return found


def _climbed(
    narrow: list[str],
    fixed: Sequence[str],
    room: Mapping[str, int],
    waits: Mapping[tuple[str, str], float],
    hashed: set[str],
) -> list[str]:
    """Return an order of the narrow fields that no exchange of two makes better (hill climbing)."""

    def cost(order: Sequence[str]) -> float:
        """Return what an order costs; infinite if a hash value lies too far behind."""
        at, places = 0, {}
        for name in (*order, *fixed):
            places[name] = at
            at += room[name] // 8
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
