"""What keeps the controller from starting: messages for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sfcperf.dataplane.sdnmon.controller.daemon import Options, serve
from sfcperf.errors import InputError

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("changed", "where", "words"),
    [
        ({"listen": "unix:/tmp/x"}, "--listen", "is no place to listen"),
        ({"listen": "6653"}, "--listen", "is no place to listen"),
        ({"listen": "127.0.0.1:99999"}, "--listen", "is no place to listen"),
        ({"listen": "192.0.2.1:0"}, "--listen", "cannot listen at 192.0.2.1:0"),
        ({"rest": "nowhere"}, "--rest", "is no place to listen"),
        ({"token_file": Path("/nowhere")}, "/nowhere", "the token cannot be read"),
        ({"apps": ("no.such.module",)}, "--app", "no.such.module cannot be loaded"),
        ({"apps": ("json",)}, "--app", "json has no application of os-ken"),
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
