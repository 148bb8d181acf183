"""Compile the P4 program: `python -m sfcperf.vnfs.heavy_hitter.compile` (or `make p4-dpdk`).

Only whoever changes the program needs p4c-dpdk, which is built from the sources of p4c
(`cmake -DENABLE_DPDK=ON`).
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from pathlib import Path

from sfcperf.environment.tools import find
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.vnfs import p4c
from sfcperf.vnfs.heavy_hitter.layout import laid_out

FOLDER = Path(__file__).resolve().parent / "p4"
SOURCE = FOLDER / "heavy_hitter.p4"
SPEC = FOLDER / "heavy_hitter.spec"
COMPILER = "p4c-dpdk"
METADATA_BYTES = 256
"""Most bytes of metadata: instructions have 8 bits for the place of a field, and DPDK does not
notice a larger one."""
_NOTE = "; made by p4c-dpdk from a source with SHA-256 "
"""What SPEC begins with; the hash follows."""
_FIELD = re.compile(r"\s*bit<(\d+)> (\w+)")


def digest() -> str:
    """SHA-256 of the source, in hexadecimal."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def compiled_digest() -> str:
    """SHA-256 of the source that SPEC was made from, in hexadecimal."""
    return SPEC.read_text().partition("\n")[0].removeprefix(_NOTE)


def metadata_bytes(spec: str) -> int:
    """Return how many bytes the metadata of a compiled program takes."""
    block = spec.partition("struct metadata_t {")[2].partition("}")[0]
    return sum(int(field[1]) for field in _FIELD.finditer(block)) // 8


def compile_in_place() -> None:
    """Compile the program, and write SPEC."""
    SPEC.write_text(f"{_NOTE}{digest()}\n{compiled()}")


def compiled() -> str:
    """Compile the program, lay its metadata out (`laid_out`), and return the text. Raises
    EnvironmentLacks without the compiler, InputError with what it complains about or if the
    metadata takes more than METADATA_BYTES."""
    includes = Path(_compiler()).resolve().parents[1] / "share" / "p4c" / "p4include"
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / SPEC.name
        argv = [_compiler(), "--arch", "pna", "-I", str(includes / "dpdk"), "-I", str(includes)]
        # Variables of rows that are not asked for stay without a value, but are not read.
        argv += ["--Wdisable=uninitialized_use", SOURCE.name, "-o", str(spec)]
        p4c.run(argv, SOURCE)
        text = re.sub(r"\n{3,}", "\n\n", spec.read_text()).lstrip()
    text = laid_out(text, METADATA_BYTES)
    if (size := metadata_bytes(text)) > METADATA_BYTES:
        raise InputError(
            f"its metadata takes {size} bytes",
            where=SOURCE.name,
            allowed=f"{METADATA_BYTES}",
            hint="use fewer variables, or narrower ones",
        )
    return text


def _compiler() -> str:
    """Return the path of the compiler. Raises EnvironmentLacks."""
    found = find(COMPILER)
    if found is None:
        raise EnvironmentLacks(
            f"{COMPILER} was not found", hint="build p4c with cmake -DENABLE_DPDK=ON"
        )
    return found


if __name__ == "__main__":
    sys.exit(p4c.exit_code(compile_in_place))
