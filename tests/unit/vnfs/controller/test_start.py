"""What keeps the controller from starting: messages for people, and nothing left behind."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from sfcperf.dataplane.listening import listening
from sfcperf.errors import InputError, SfcperfError
from sfcperf.vnfs.sfcmon.controller.daemon import Options, serve
from sfcperf.vnfs.sfcmon.controller.model import State
from sfcperf.vnfs.sfcmon.controller.references import problems

TOKEN = "0123456789abcdef"


@pytest.fixture
def folder(state_dir: Path) -> Path:
    """Short enough for sockets, with a token."""
    token = state_dir / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    return state_dir


def _refused(folder: Path, **changed: Any) -> SfcperfError:
    options = {
        "state": folder / "state.json",
        "windows": folder / "windows.jsonl",
        "token_file": folder / "token",
        "listen": f"unix:{folder / 'rest.sock'}",
    }
    with pytest.raises(InputError) as caught:
        serve(Options(**(options | changed)), lambda _: pytest.fail("it serves"))
    return caught.value


def test_tokens_that_are_refused(folder: Path):
    """Other users can read it, or it is none."""
    assert "cannot be read" in str(_refused(folder, token_file=folder / "none"))
    for mode, text in (
        *((0o640, TOKEN), (0o604, TOKEN)),
        *((0o600, "short"), (0o600, "0123456789 bcdef"), (0o600, "")),
    ):
        (folder / "token").write_text(text)
        (folder / "token").chmod(mode)
        assert _refused(folder).where == str(folder / "token")
        assert [file.name for file in folder.iterdir()] == ["token"]


def test_places_to_listen_that_are_none(folder: Path):
    """Or that are on another machine."""
    for listen in ("nowhere", "192.0.2.1", "127.0.0.1:99999", "unix:relative", "[::1]", ":80"):
        assert listen in str(_refused(folder, listen=listen))
    assert "192.0.2.1:80" in str(_refused(folder, listen="192.0.2.1:80"))


def test_a_socket_of_somebody_who_listens_is_left_alone(folder: Path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(folder / "rest.sock"))
        other.listen()
        assert "somebody listens there already" in str(_refused(folder))
    assert (folder / "rest.sock").exists()
    (folder / "file").touch()
    assert "this is no socket" in str(_refused(folder, listen=f"unix:{folder / 'file'}"))


def test_the_socket_of_a_dead_process_is_replaced(folder: Path):
    path = folder / "rest.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with listening(f"unix:{path}"):
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
    assert not path.exists()
    with listening("[::1]:0") as opened:
        assert opened.getsockname()[0] == "::1"


def test_a_state_with_a_problem(folder: Path):
    state = {"version": 1, "monitoring": {"s1": {}}}
    (folder / "state.json").write_text(json.dumps(state))
    said = str(_refused(folder))
    assert f"{folder / 'state.json'}/monitoring/s1: there is no switch 's1'" in said
    assert sorted(file.name for file in folder.iterdir()) == ["state.json", "token"]


def test_the_state_of_the_guide_can_be_taken():
    guide = Path(__file__).parents[4] / "docs/how-to/run-the-sfc-controller.md"
    [text] = re.findall(r"```json\n(.*?)```", guide.read_text(), re.S)
    assert not problems(State.model_validate_json(text))
