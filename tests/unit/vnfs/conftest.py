"""The C codec as a function."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sfcperf.vnfs import binaries

CDecoder = Callable[[Sequence[bytes]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def c_decode() -> CDecoder:
    """Headers -> what nsh.h makes of each."""
    found = binaries.requirement("nsh-decode")
    if not found.met:
        pytest.skip(f"nsh-decode: {found.detail}; {found.remedy}")

    def decode(headers: Sequence[bytes]) -> list[dict[str, Any]]:
        lines = "".join(f"{header.hex()}\n" for header in headers)
        done = subprocess.run(
            [found.detail], input=lines, capture_output=True, text=True, check=True, timeout=10
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    return decode
