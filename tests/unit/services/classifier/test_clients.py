"""Clients of REST interfaces on this machine obey nothing in the environment."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.network.answering import answering
from support.services.service import new_context

import sfcperf
from sfcperf.errors import EnvironmentLacks
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.running import RunningClassifier
from sfcperf.services.classifier.serving.client import ServingLayer
from sfcperf.services.classifier.serving.interfaces import RuleSetter
from sfcperf.services.classifier.serving.session import Target
from sfcperf.vnfs.rule_interface.rules import Source

ROOT = Path(sfcperf.__file__).parents[1]
TOKEN = "correct-horse-battery-staple"


@pytest.fixture
def authorizations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str | None]]:
    """What a server was sent in this header. The environment has a .netrc, proxies that nobody
    answers at, and certificates that are not there."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "absent.pem"))
    found: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found.append(self.headers["Authorization"])
            body = json.dumps({"added": 1, "renewed": 0, "refused": []}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_DELETE = _answer  # noqa: N815 - their names

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        monkeypatch.setenv("PORT_OF_THE_TEST", str(server.server_port))
        yield found


def _serving_layer(port: str, folder: Path) -> None:
    context: Any = SimpleNamespace(state_dir=folder, outputs=folder, name="classifier")
    layer = ServingLayer(context, Broker("127.0.0.1:1", "records", "verdicts", "dead", "run"))
    layer.token = TOKEN
    (folder / "serving.port").write_text(port)
    layer.status()


def _rule_setter(port: str, folder: Path) -> None:
    target = Target(url=f"http://127.0.0.1:{port}", token=TOKEN)
    RuleSetter([target], 1.0, lambda _: True).put([Source("192.0.2.1")])


def _classifier(port: str, folder: Path) -> None:
    targets = [{"url": f"http://127.0.0.1:{port}", "token": TOKEN}]
    classifier: Any = SimpleNamespace(_targets=targets)
    RunningClassifier._clear(classifier)


@pytest.mark.parametrize("ask", [_serving_layer, _rule_setter, _classifier])
def test_a_token_is_sent_as_it_is(
    ask: Callable[[str, Path], None],
    authorizations: list[str | None],
    tmp_path: Path,
) -> None:
    ask(os.environ["PORT_OF_THE_TEST"], tmp_path)
    assert authorizations == [f"Bearer {TOKEN}"]


def test_a_serving_layer_that_does_not_come_back_is_told(tmp_path: Path) -> None:
    """Although the file with the port is there since the first start. Nothing needs a broker
    before a session."""
    context = new_context(tmp_path)
    layer = ServingLayer(context, Broker("127.0.0.1:1", "records", "verdicts", "dead", "run"))
    try:
        layer.start()
        place = layer.address
        layer.process.stop()
        layer.start()
        assert (layer.address, layer.status()["records"]) == (place, 0)
        layer.process.stop()
        (context.state_dir / "serving.token").unlink()
        with pytest.raises(EnvironmentLacks, match="has ended"):
            layer.start()
    finally:
        layer.process.stop()


def test_no_request_is_made_without_a_session_of_ours() -> None:
    """`requests.get` and its kind obey the environment."""
    careless = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("sfcperf", "drivers", "vnfs")
        for path in (ROOT / folder).rglob("*.py")
        if "requests." in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr)
        in {("requests", verb) for verb in ("get", "put", "post", "delete", "head", "request")}
    ]
    assert careless == []
