"""Judge a package in a process with limits: whatever is in it, only that process comes to harm."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks, InputError, SfcperfError
from sfcperf.package.layout import MAX_BYTES
from sfcperf.package.signature import Keys
from sfcperf.package.unpack import PackageCopy, private_copy
from sfcperf.package.verify.verification import Verification

MAX_MIB = 512
"""Memory that judging a package may take."""
DATA_MIB = 400
"""RLIMIT_DATA (setrlimit(2)) of the process: heap, and what is mapped and writable. The rest of
MAX_MIB is the code of libraries; RLIMIT_AS would also count 300 MiB that they reserve and never
use."""
CPU_S = 60
"""CPU time of the process (RLIMIT_CPU) for an empty package. The checks themselves are bounded, so
that only a slow machine comes near this limit."""
BYTES_PER_S = 5_000_000
"""The process may use one more second of CPU time for so many bytes of the package."""

OUT_OF_MEMORY = 77
"""Exit code of the process when memory is used up."""
_ONE_THREAD = {
    # Each thread reserves memory, and a package is small.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}
_ERRORS: dict[str, type[SfcperfError]] = {"EnvironmentLacks": EnvironmentLacks}
"""Kind of error in the process's answer -> its class; all others are InputError."""


@dataclass(frozen=True)
class JudgingSpec:
    """What the process that judges a package is told, as JSON: fields of `PackageCopy` and `Keys`,
    and its limits."""

    source: str
    file: str
    sha256: str
    folder: str
    allowed_signers: str | None
    public_key: str | None
    max_bytes: int
    """Most bytes of the unpacked files."""
    data_mib: int
    """Its RLIMIT_DATA, MiB."""
    parent: int
    """Id of the process that waits for it. It ends when that one does."""


def verify_limited(
    path: Path,
    *,
    allowed_signers: Path | None = None,
    public_key: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> Verification:
    """Verify a package in a process whose memory and CPU time are limited. Raises as `verify`, and
    InputError when the package needs more than that."""
    with private_copy(path, max_bytes=max_bytes) as copy:
        return verify_copy(copy, Keys(allowed_signers, public_key), max_bytes=max_bytes)


def verify_copy(copy: PackageCopy, keys: Keys, *, max_bytes: int) -> Verification:
    """Unpack a private copy and verify it. Raises as `verify`, and InputError when the package
    needs more memory or time than it may have, EnvironmentLacks when this process is limited."""
    private = copy.folder.parent
    spec, answer = private / "judging.json", private / "answer.json"
    spec.write_text(json.dumps(asdict(_spec(copy, keys.copied(private), max_bytes))))
    # -P: do not import modules from the current folder.
    argv = [sys.executable, "-P", "-m", "sfcperf.package.verify.child", str(spec), str(answer)]
    done = subprocess.run(
        argv,
        env={**without_secrets(), **_ONE_THREAD, "TMPDIR": str(private)},
        capture_output=True,
        check=False,
    )
    # Libraries in C end the process themselves, with another code, when they get no memory.
    # Python's own lack of memory has that code, so a traceback tells of something else.
    in_library = done.returncode > 0 and b"Traceback" not in done.stderr
    no_memory = done.returncode == OUT_OF_MEMORY or (
        in_library and b"memory" in done.stderr.lower()
    )
    if no_memory and _is_limited():
        raise EnvironmentLacks(
            "a package cannot be judged with the memory that this process may use",
            hint=f"allow {MAX_MIB} MiB and the code of libraries: `ulimit -v`, `ulimit -d`",
        )
    # A negative code: the kernel ended it by a signal, as at the limit of CPU time.
    if done.returncode < 0 or no_memory:
        size = copy.file.stat().st_size
        raise InputError(
            f"the package needs more than {MAX_MIB} MiB of memory, or more than "
            f"{CPU_S} s and a second for each {BYTES_PER_S // 1_000_000} MB, to be judged",
            where=str(copy.source),
            hint=f"its size is {size} bytes; split it into packages of fewer runs",
        )
    if done.returncode or not answer.is_file():
        raise RuntimeError(done.stderr.decode(errors="replace"))
    found = json.loads(answer.read_text())
    if "error" in found:
        raise _error(found["error"], copy)
    return Verification.of_document(copy.source, found["verification"])


def _is_limited() -> bool:
    """Whether whoever started this process limited its memory."""
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


def _spec(copy: PackageCopy, keys: Keys, max_bytes: int) -> JudgingSpec:
    """Put together what the process is told."""
    return JudgingSpec(
        source=str(copy.source),
        file=str(copy.file),
        sha256=copy.sha256,
        folder=str(copy.folder),
        allowed_signers=None if keys.allowed_signers is None else str(keys.allowed_signers),
        public_key=keys.public_key,
        max_bytes=max_bytes,
        data_mib=DATA_MIB,
        parent=os.getpid(),
    )


def _error(document: dict[str, Any], copy: PackageCopy) -> SfcperfError:
    """Return the error that the process reported. Where it names the private copy, the error names
    the user's package."""
    where = document["where"]
    return _ERRORS.get(document["kind"], InputError)(
        document["message"],
        where=str(copy.source) if where == str(copy.file) else where,
        allowed=document["allowed"],
        hint=document["hint"],
    )
