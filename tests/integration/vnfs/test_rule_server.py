"""The process of a rule interface, and a keeper that answers what no keeper does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import Any

import pytest

_START_S = 60


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (b"[5]\n", "the lease of the data plane has ended"),
        (b"{\n", "the conversation with sfcperf has ended"),
        (b"", "the conversation with sfcperf has ended"),
    ],
)
def test_it_ends_when_a_task_of_its_own_does(answer: bytes, ended: str) -> None:
    """RunningRules then starts it again; without that, nobody would renew the lease."""
    limits = {"max_ttl_s": 10.0, "max_rules": 10, "on_failure": "fail-closed"}
    with socket.create_server(("127.0.0.1", 0)) as listening:
        start: dict[str, Any] = {
            "parent": os.getpid(),
            "socket": listening.fileno(),
            "token": "x" * 32,
            "limits": limits,
        }
        server = subprocess.Popen(
            [sys.executable, "-m", "sfcperf.vnfs.rule_interface.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(start).encode() + b"\n")
    server.stdin.flush()
    heard = {json.dumps(json.loads(server.stdout.readline())) for _ in range(2)}
    assert heard == {'"ready"', '[["tick"]]'}
    server.stdin.write(answer)
    _, said = server.communicate(timeout=_START_S)
    assert ended in said.decode()
