"""The C codec as a function."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

CDecoder = Callable[[Sequence[bytes]], list[dict[str, Any]]]


@pytest.fixture(scope="session")
def c_decode(tmp_path_factory: pytest.TempPathFactory) -> CDecoder:
    """Headers -> what nsh.h makes of each."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("cc: not found on this machine; install the package gcc")
    binary = tmp_path_factory.mktemp("nsh") / "nsh-decode"
    source = Path(__file__).with_name("nsh_decode.c")
    include = f"-I{files('sfcperf.dataplane') / 'nsh'}"
    argv = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", include, "-o", binary, source]
    subprocess.run(argv, check=True, timeout=60)

    def decode(headers: Sequence[bytes]) -> list[dict[str, Any]]:
        lines = "".join(f"{header.hex()}\n" for header in headers)
        done = subprocess.run(
            [binary], input=lines, capture_output=True, text=True, check=True, timeout=10
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    return decode
