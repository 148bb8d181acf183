"""What keeps the controller from starting: messages for people."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.command import SFCPERF

from sfcperf.dataplane.sdnmon.controller.daemon import Options, serve
from sfcperf.errors import InputError

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("changed", "where", "words"),
    [
        ({"listen": "unix:/tmp/x"}, "--listen", "unix:/tmp/x"),
        ({"listen": "192.0.2.1:0"}, "--listen", "192.0.2.1:0"),
        ({"rest": "nowhere"}, "--rest", "nowhere"),
        ({"token_file": Path("/nowhere")}, "/nowhere", "cannot be read"),
        ({"apps": ("no.such.module",)}, "--app", "no.such.module cannot be loaded"),
        ({"apps": ("json",)}, "--app", "json has no application"),
    ],
)
def test_what_is_refused(tmp_path: Path, changed: dict[str, Any], where: str, words: str):
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    options = {"listen": "127.0.0.1:0", "rest": "127.0.0.1:0", "token_file": token, **changed}
    with pytest.raises(InputError, match=words) as caught:
        serve(Options(**options), lambda *_: pytest.fail("it serves"))
    assert caught.value.where == where


APP = """
from os_ken.base.app_manager import OSKenApp
class Broken(OSKenApp):
    def __init__(self, *args, **kwargs):
        raise RuntimeError("no database configured")
"""


def test_an_application_that_does_not_start(tmp_path: Path) -> None:
    # In a process of its own: os-ken has one manager in each.
    (tmp_path / "broken_app.py").write_text(APP)
    (tmp_path / "token").touch(0o600)
    (tmp_path / "token").write_text(TOKEN)
    command = [SFCPERF, "sdnmon", "controller", "--listen", "127.0.0.1:0", "--app", "broken_app"]
    command += ["--rest", "127.0.0.1:0"]
    command += ["--token-file", str(tmp_path / "token")]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no database configured" in done.stderr
    assert "internal error" not in done.stderr
