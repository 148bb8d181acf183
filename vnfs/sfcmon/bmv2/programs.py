"""The compiled P4 programs, and the sources that they were made from.

`vnfs/sfcmon/p4/compiled` has for each program the JSON that bmv2 loads and the P4Info of
P4Runtime, so that a run needs no compiler, and `sources.sha256`, in the format of sha256sum, which
says what they were made from, and in a comment by which p4c.
"""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "p4"
COMPILED = FOLDER / "compiled"
_SOURCES = "sources.sha256"
_COMPILER = "# compiled by p4c "
REMEDY = (
    "bmv2 and p4c are not in Debian; p4lang publishes packages: add its repository, then install "
    "p4lang-bmv2 and p4lang-p4c (docs/how-to/use-bmv2.md)"
)


DROP_REASONS = (
    "truncated",
    "encapsulation",
    "version",
    "md_type",
    "length",
    "oam",
    "ttl",
    "si_zero",
    "no_path",
    "wrong_port",
    "next_protocol",
    "not_ip",
    "no_station",
    "oversize",
    "si_exhausted",
    "unparsed",
)
"""What the cells of the counter `drops` count, from 1 (`drop_t` in headers.p4); cell 0 is unused.
"""
WAYS = ("served", "path", "bypassed")
"""What the cells of the counter `forwarded` count (`way_t` in headers.p4)."""


class Program(Enum):
    """What a switch runs."""

    SKETCHES = "sfc_switch"
    """Classifier, SFCMon with sketches, SFF."""
    TABLE = "sfc_switch_table"
    """A table with an entry for each flow in the place of the sketches."""
    PLAIN = "sfc_switch_plain"
    """No monitoring."""

    @property
    def source(self) -> Path:
        """The P4 file that includes the others."""
        return FOLDER / f"{self.value}.p4"

    @property
    def json(self) -> Path:
        """What bmv2 loads."""
        return COMPILED / f"{self.value}.json"

    @property
    def p4info(self) -> Path:
        """P4Info, as text."""
        return COMPILED / f"{self.value}.p4info.txt"


def sources() -> dict[str, str]:
    """Names of the P4 files, and the SHA-256 of each, in hexadecimal."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(FOLDER.glob("*.p4"))
    }


def compiled_sources() -> dict[str, str]:
    """Names of the P4 files that the compiled programs were made from, and the SHA-256 of each."""
    lines = _noted()[1:]
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def compiled_by() -> str:
    """Version of the p4c that compiled the programs."""
    return _noted()[0].removeprefix(_COMPILER)


def changed_sources() -> list[str]:
    """P4 files that were changed, added or removed since the programs were compiled."""
    now, then = sources(), compiled_sources()
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def note_sources(compiler: str) -> None:
    """Write down that the compiled programs were made from the P4 files as they are now.
    `compiler`: version of p4c."""
    lines = [f"{_COMPILER}{compiler}\n"]
    lines += [f"{digest}  {name}\n" for name, digest in sources().items()]
    (COMPILED / _SOURCES).write_text("".join(lines))


def _noted() -> list[str]:
    """Return the lines that `note_sources` wrote."""
    return (COMPILED / _SOURCES).read_text().splitlines()


@cache
def registers(program: Program) -> dict[str, int]:
    """Names of the registers of a program, and how many cells each has."""
    compiled: dict[str, Any] = json.loads(program.json.read_text())
    return {array["name"]: array["size"] for array in compiled["register_arrays"]}
