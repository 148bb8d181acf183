"""The process that judges a package: `python -m sfcperf.package.verify.child SPEC ANSWER`."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Read the specification, set the limits, judge, write the answer."""
    from sfcperf.environment.parent import end_with
    from sfcperf.errors import SfcperfError
    from sfcperf.package.verify.limited import OUT_OF_MEMORY, JudgingSpec

    spec = JudgingSpec(**json.loads(Path(sys.argv[1]).read_text()))
    # If the parent is killed, this process ends too: nobody would want the answer.
    if not end_with(spec.parent, signal.SIGKILL):
        return
    try:
        answer = {"verification": _judge(spec)}
    except SfcperfError as error:
        kind = "EnvironmentLacks" if type(error).__name__ == "EnvironmentLacks" else "InputError"
        facts = {name: getattr(error, name) for name in ("message", "where", "allowed", "hint")}
        answer = {"error": {"kind": kind, **facts}}
    except Exception as error:
        # Libraries report a lack of memory in their own ways: a failed import, a thread that does
        # not start.
        words = str(error).lower()
        if isinstance(error, MemoryError) or "memory" in words or "start new thread" in words:
            os._exit(OUT_OF_MEMORY)
        raise
    Path(sys.argv[2]).write_text(json.dumps(answer))


def _judge(spec: Any) -> dict[str, Any]:
    """Limit this process, unpack the private copy and verify it; return `Verification.document`.
    `spec` is a JudgingSpec. Raises as `verify`."""
    from sfcperf.package.signature import Keys
    from sfcperf.package.unpack import PackageCopy, unpack
    from sfcperf.package.verify.verification import verify_unpacked

    resource.setrlimit(resource.RLIMIT_DATA, (spec.data_mib << 20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    file, folder = Path(spec.file), Path(spec.folder)
    # How much there is to read is known only after unpacking, which is limited by itself.
    _limit_time(file.stat().st_size)
    names = unpack(file, folder, max_bytes=spec.max_bytes)
    _limit_time(sum((folder / name).stat().st_size for name in names))
    copy = PackageCopy(Path(spec.source), file, spec.sha256, folder)
    signers = None if spec.allowed_signers is None else Path(spec.allowed_signers)
    return verify_unpacked(copy, Keys(signers, spec.public_key)).document()


def _limit_time(size: int) -> None:
    """Limit the CPU time of this process by the number of bytes that it has to read."""
    from sfcperf.package.verify.limited import BYTES_PER_S, CPU_S

    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = CPU_S + size // BYTES_PER_S
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard < 0 else min(soft, hard), hard))


if __name__ == "__main__":
    main()
