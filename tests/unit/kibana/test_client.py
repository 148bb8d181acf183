"""The import call, against a stand-in for Kibana's API (support/servers/kibana.py says why)."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from support.servers.kibana import kibana
from typer.testing import CliRunner

from sfcperf.cli.app import app
from sfcperf.elasticsearch.target import target
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.kibana import import_objects, ndjson, saved_objects

CONTENT = ndjson(saved_objects())
SECRETS = ("SFCPERF_ES_API_KEY", "SFCPERF_ES_USER", "SFCPERF_ES_PASSWORD")


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.delenv(name, raising=False)


def test_import_again_replaces_unless_told_otherwise():
    with kibana() as server:
        first = import_objects(target([server.url]), CONTENT)
        again = import_objects(target([server.url]), CONTENT)
        kept = import_objects(target([server.url]), CONTENT, overwrite=False)
    count = len(CONTENT.splitlines()) - 1
    assert (first.count, first.errors) == (again.count, again.errors) == (count, ())
    assert len(server.objects) == count
    assert kept.count == 0
    assert len(kept.errors) == count
    assert "dashboard 'SFCPerf: telemetry over time': exists already" in "\n".join(kept.errors)


def test_what_could_not_be_imported_is_named():
    boards = "".join(line + "\n" for line in CONTENT.splitlines() if '"type": "dashboard"' in line)
    details = json.dumps({"exportedCount": 3})
    with kibana() as server:
        done = import_objects(target([server.url]), boards + details)
    assert done.count == 0
    assert all("which this Kibana does not have" in error for error in done.errors)


def test_a_space_has_objects_of_its_own():
    with kibana() as server:
        server.spaces.add("lab")
        import_objects(target([server.url]), CONTENT, space="lab")
        assert {space for space, _, _ in server.objects} == {"lab"}
        with pytest.raises(InputError, match="no space 'elsewhere'"):
            import_objects(target([server.url]), CONTENT, space="elsewhere")


def test_a_kibana_that_starts_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []
    monkeypatch.setattr("sfcperf.waiting.sleep", pauses.append)
    with kibana() as server:
        server.busy = 3
        done = import_objects(target([server.url]), CONTENT)
    assert done.count
    assert len(pauses) == 3
    assert all(0.5 <= pause <= 2**number for number, pause in enumerate(pauses))


def test_waiting_has_an_end():
    with kibana() as server:
        server.busy = 1000
        with pytest.raises(EnvironmentLacks, match="it answers 503"):
            import_objects(target([server.url]), CONTENT, wait_s=1)
        assert len(server.requests) < 20


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(EnvironmentLacks, match="does not answer"):
            import_objects(target([url]), CONTENT, wait_s=0)


def test_secrets_come_from_the_environment_and_are_not_shown(monkeypatch: pytest.MonkeyPatch):
    with kibana() as server:
        server.authorization = "ApiKey c2VjcmV0"
        with pytest.raises(EnvironmentLacks, match="credentials"):
            import_objects(target([server.url]), CONTENT)
        monkeypatch.setenv("SFCPERF_ES_API_KEY", "c2VjcmV0")
        assert import_objects(target([server.url]), CONTENT).count
        monkeypatch.setenv("SFCPERF_ES_API_KEY", "d3Jvbmc=")
        with pytest.raises(EnvironmentLacks) as refused:
            import_objects(target([server.url]), CONTENT)
    assert "d3Jvbmc=" not in str(refused.value)


def test_export_and_import_by_the_command_line(tmp_path: Path):
    file = tmp_path / "sfcperf.ndjson"
    runner = CliRunner()
    assert runner.invoke(app, ["kibana", "export", "-o", str(file)]).exit_code == 0
    assert file.read_text() == CONTENT
    assert runner.invoke(app, ["kibana", "export"]).stdout == CONTENT
    with kibana() as server:
        done = runner.invoke(app, ["kibana", "import", "--url", server.url])
        assert done.exit_code == 0
        assert f"{len(saved_objects())} objects imported" in done.stdout
        kept = runner.invoke(app, ["kibana", "import", "--url", server.url, "--no-overwrite"])
    assert isinstance(kept.exception, EnvironmentLacks)
    wrong = runner.invoke(app, ["kibana", "import", "--url", server.url, "--space", "../x"])
    assert isinstance(wrong.exception, InputError)


@pytest.mark.parametrize("answer", [{}, {"successCount": "7"}, {"successCount": 1, "errors": "no"}])
def test_an_answer_of_another_shape_is_not_from_kibana(
    answer: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    with kibana() as server:
        monkeypatch.setattr(server, "_import", lambda *_: answer)
        with pytest.raises(EnvironmentLacks, match="not Kibana"):
            import_objects(target([server.url]), CONTENT)


@pytest.mark.parametrize(
    "entry", [{}, {"error": "broken"}, {"type": "x", "error": {"type": "odd"}}]
)
def test_an_error_of_another_shape_is_shown_as_it_is(
    entry: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    with kibana() as server:
        monkeypatch.setattr(server, "_import", lambda *_: {"successCount": 0, "errors": [entry]})
        done = import_objects(target([server.url]), CONTENT)
    assert len(done.errors) == 1
