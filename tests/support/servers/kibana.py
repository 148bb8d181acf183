"""What a dashboard uses, found in the saved objects themselves; and a stand-in for Kibana's
saved-objects API, because Kibana itself cannot be had from a package registry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.network.answering import answering

_KQL_FIELD = re.compile(r"([\w@.]+)\s*:")
_HIT = re.compile(r"\b_source\.([\w@.]+)")


@dataclass(frozen=True)
class Used:
    """A field that some part of a dashboard uses."""

    data_view: str
    field: str
    how: str
    """`average`, `terms`, `last_value`, `date_histogram`, `range`, `control`, `kql`, `hit`, ..."""
    where: str


def parse(content: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Objects of an NDJSON file, and its last line."""
    lines = [json.loads(line) for line in content.splitlines()]
    return lines[:-1], lines[-1]


def used_fields(dashboard: Mapping[str, Any]) -> Iterator[Used]:
    """Every field of every panel and control, by the documented shape of the objects alone."""
    references = {r["name"]: r["id"] for r in dashboard["references"]}
    attributes = dashboard["attributes"]
    for panel in json.loads(attributes["panelsJSON"]):
        config = panel["embeddableConfig"]
        if panel["type"] == "lens":
            yield from _lens(panel, config["attributes"]["state"], references)
        else:
            yield from _vega(panel, json.loads(config["savedVis"]["params"]["spec"]))
    for id_, control in json.loads(attributes["controlGroupInput"]["panelsJSON"]).items():
        view = references[f"controlGroup_{id_}:optionsListDataView"]
        yield Used(view, control["explicitInput"]["fieldName"], "control", id_)


def _lens(
    panel: Mapping[str, Any], state: Mapping[str, Any], references: Mapping[str, str]
) -> Iterator[Used]:
    for layer, content in state["datasourceStates"]["formBased"]["layers"].items():
        view = references[f"{panel['panelIndex']}:indexpattern-datasource-layer-{layer}"]
        for column in content["columns"].values():
            if column["sourceField"] != "___records___":
                yield Used(view, column["sourceField"], column["operationType"], panel["title"])
            if "sortField" in column["params"]:
                yield Used(view, column["params"]["sortField"], "date_histogram", panel["title"])
        for name in _KQL_FIELD.findall(state["query"]["query"]):
            yield Used(view, name, "kql", panel["title"])


def _vega(panel: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Used]:
    view = spec["data"]["url"]["index"]
    for name in _HIT.findall(json.dumps(spec)):
        yield Used(view, name, "hit", panel["title"])
    body = spec["data"]["url"]["body"]
    for clause in body["query"]["bool"]["must"]:
        if isinstance(clause, dict):
            (content,) = clause.values()
            yield from (Used(view, name, "kql", panel["title"]) for name in content)
    for order in body["sort"]:
        yield from (Used(view, name, "date_histogram", panel["title"]) for name in order)


@dataclass
class Kibana:
    """The stand-in's state."""

    url: str = ""
    objects: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    """(Space, type, id) -> object."""
    spaces: set[str] = field(default_factory=lambda: {"default"})
    authorization: str | None = None
    """What the header must be; None: anybody may."""
    busy: int = 0
    """So many requests are answered 503, as Kibana does while it starts."""
    requests: list[str] = field(default_factory=list)

    def answer(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, Any]]:
        """As POST /api/saved_objects/_import is documented."""
        self.requests.append(path)
        if self.busy:
            self.busy -= 1
            return 503, {"message": "Kibana server is not ready yet"}
        if "kbn-xsrf" not in headers:
            return 400, {"message": "Request must contain a kbn-xsrf header."}
        if self.authorization and headers.get("Authorization") != self.authorization:
            return 401, {"message": "unauthorized"}
        parts = urlsplit(path)
        match = re.fullmatch(r"(?:/s/([\w-]+))?/api/saved_objects/_import", parts.path)
        space = (match and match[1]) or "default"
        if match is None or space not in self.spaces:
            return 404, {"message": "Not Found"}
        overwrite = parse_qs(parts.query).get("overwrite") == ["true"]
        return 200, self._import(space, _file(headers, body), overwrite)

    def _import(self, space: str, content: str, overwrite: bool) -> dict[str, Any]:
        objects, _ = parse(content)
        there = {(o["type"], o["id"]) for o in objects} | {k[1:] for k in self.objects}
        errors, good = [], []
        for one in objects:
            key = (space, one["type"], one["id"])
            missing = [r for r in one["references"] if (r["type"], r["id"]) not in there]
            if missing:
                error = {"type": "missing_references", "references": missing}
                errors.append(_error(one, error))
            elif key in self.objects and not overwrite:
                errors.append(_error(one, {"type": "conflict"}))
            else:
                good.append(key)
                self.objects[key] = one
        answer = {"success": not errors, "successCount": len(good)}
        return {**answer, **({"errors": errors} if errors else {})}


def _error(one: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    meta = {"title": one["attributes"]["title"]}
    return {"id": one["id"], "type": one["type"], "meta": meta, "error": error}


def _file(headers: Mapping[str, str], body: bytes) -> str:
    """The part `file` of a multipart/form-data body."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    (part,) = (
        p
        for p in message.iter_parts()
        if p.get_param("name", header="content-disposition") == "file"
    )
    return part.get_payload(decode=True).decode()


@contextmanager
def kibana() -> Iterator[Kibana]:
    """The stand-in on a free port of the loopback."""
    state = Kibana()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, document = state.answer(self.path, self.headers, body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        yield state
