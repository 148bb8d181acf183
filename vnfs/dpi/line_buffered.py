"""A program's output line by line, as `stdbuf` gets it, also where `stdbuf` itself is not."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from sfcperf.environment.tools import find
from sfcperf.errors import EnvironmentLacks
from sfcperf.hosts.base import Host

COMMAND = "stdbuf"
_TIMEOUT_S = 10.0


def line_buffered(host: Host, argv: Sequence[str]) -> list[str]:
    """Return a command line that runs `argv`, a program linked to the C library, so that it writes
    each line at once.

    stdbuf is a library that is loaded before all others and told what to do by the environment.
    This library is copied to the host. Raises EnvironmentLacks when this machine has no stdbuf.
    """
    variables = dict(_variables())
    variables["LD_PRELOAD"] = host.program(Path(variables["LD_PRELOAD"]))
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *argv]


@cache
def _variables() -> tuple[tuple[str, str], ...]:
    """Return (name, value) of the variables that stdbuf puts into the environment of a program:
    `env`, started by stdbuf, prints them. Raises EnvironmentLacks."""
    path = find(COMMAND)
    if path is None:
        raise EnvironmentLacks(f"{COMMAND} is not there", hint="install the package coreutils")
    completed = subprocess.run(
        [path, "--output=L", "env", "-0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=True,
        env={},
    )
    return tuple(
        (name, value)
        for name, _, value in (entry.partition("=") for entry in completed.stdout.split("\0"))
        if name == "LD_PRELOAD" or name.startswith("_STDBUF_")
    )
