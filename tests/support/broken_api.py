"""A keystone, nova and neutron of a few resources that fail where a test says so.

Real clouds do not lose answers or forget tokens when one wants them to. This is a real HTTP server,
so openstacksdk, keystoneauth and requests are the real ones too.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

PROJECT = "p" * 32

COLLECTIONS = {
    "networks": "network",
    "subnets": "subnet",
    "ports": "port",
    "security-groups": "security_group",
    "sfc/port_pairs": "port_pair",
    "sfc/port_pair_groups": "port_pair_group",
    "sfc/flow_classifiers": "flow_classifier",
    "sfc/port_chains": "port_chain",
}
"""Path behind /network/v2.0/ -> name of one; the list is named after the path's end."""


@dataclass
class Fault:
    """Something that goes wrong with the next requests of this kind."""

    method: str
    path: str
    """Regular expression, searched for in the path."""
    how: Literal["status", "lost before", "lost after", "torn", "late"] = "status"
    """`late`: the answer is lost, and what was asked for comes into being a while later."""
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    times: int = 1
    """-1: for ever."""


class BrokenApi:
    """Serves on a free port of 127.0.0.1 while its `with` block lasts."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = list(faults)
        self.requests: list[tuple[str, str]] = []
        self.things: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in COLLECTIONS}
        self.tokens: set[str] = set()
        self.password = "right"
        self.services = {"network": "/network"}
        """Type -> path: the catalogue. What others than neutron answer is a matter of faults."""
        self.late_s = 1.0
        self._number = 0
        self._lock = threading.Lock()
        self._timers: deque[threading.Timer] = deque()

    def __enter__(self) -> BrokenApi:
        api = self

        class Handler(_Handler):
            owner = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def clouds_yaml(self, folder: Path, password: str = "right") -> Path:
        """A file that leads here, as the cloud `broken`."""
        file = folder / "clouds.yaml"
        auth = {
            **{"auth_url": f"{self.url}/identity/v3", "username": "u", "password": password},
            **{"project_name": "p", "user_domain_id": "default", "project_domain_id": "default"},
        }
        clouds = {"broken": {"auth": auth, "region_name": "RegionOne"}}
        file.write_text(json.dumps({"clouds": clouds}))
        return file

    def count(self, method: str, path: str) -> int:
        """Requests that arrived."""
        return sum(m == method and re.search(path, p) is not None for m, p in self.requests)

    def names(self, collection: str) -> list[str]:
        return sorted(thing["name"] for thing in self.things[collection].values())

    def add(self, collection: str, name: str, **more: Any) -> str:
        """Something that is there before."""
        return str(self.make(collection, {"name": name, **more})["id"])

    def make(self, collection: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self._number += 1
            id_ = f"{self._number:032x}"
            self.things[collection][id_] = {"project_id": PROJECT, **body, "id": id_}
            return self.things[collection][id_]

    def later(self, collection: str, body: dict[str, Any]) -> None:
        timer = threading.Timer(self.late_s, self.make, (collection, body))
        self._timers.append(timer)
        timer.start()

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.requests.append((method, path))
            for fault in self.faults:
                if fault.times and fault.method == method and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
            return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: BrokenApi

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        fault = self.owner.fault_for(self.command, self.path)
        if fault is not None and fault.how == "status":
            return self._answer(fault.status, fault.body or {"error": {}}, fault.headers)
        if fault is not None and fault.how == "lost before":
            return self._hang_up()
        asked = json.loads(body) if body else {}
        if fault is not None and fault.how == "late":
            collection, one = self._collection()
            self.owner.later(collection, asked[one])
            return self._hang_up()
        status, answer, headers = self._do(asked)
        if fault is not None and fault.how == "lost after":
            return self._hang_up()
        return self._answer(status, answer, headers, torn=fault is not None)

    do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - their names

    def _do(self, asked: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        path = urlsplit(self.path).path
        if path.startswith("/identity"):
            return self._keystone(path, asked)
        if self.headers.get("x-auth-token") not in self.owner.tokens:
            return 401, {"error": {"message": "The request you have made requires auth."}}, {}
        return (*self._neutron(asked), {})

    def _keystone(self, path: str, asked: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        if not path.endswith("/auth/tokens"):
            link = {"rel": "self", "href": f"{self.owner.url}/identity/v3/"}
            return 200, {"version": {"id": "v3.14", "status": "stable", "links": [link]}}, {}
        given = asked["auth"]["identity"]["password"]["user"]["password"]
        if given != self.owner.password:
            return 401, {"error": {"message": "The request you have made requires auth."}}, {}
        token = f"token-{time.monotonic_ns()}"
        self.owner.tokens.add(token)
        region = {"interface": "public", "region": "RegionOne", "region_id": "RegionOne"}
        catalogue = [
            {
                **{"type": kind, "name": kind, "id": kind},
                "endpoints": [{**region, "url": f"{self.owner.url}{path}", "id": f"e-{kind}"}],
            }
            for kind, path in self.owner.services.items()
        ]
        return (
            201,
            {
                "token": {
                    "methods": ["password"],
                    "user": {"id": "u", "name": "u", "domain": {"id": "default", "name": "d"}},
                    "project": {
                        "id": PROJECT,
                        "name": "p",
                        "domain": {"id": "default", "name": "d"},
                    },
                    "expires_at": "2099-01-01T00:00:00.000000Z",
                    "issued_at": "2020-01-01T00:00:00.000000Z",
                    "catalog": catalogue,
                    "roles": [],
                }
            },
            {"x-subject-token": token},
        )

    def _collection(self) -> tuple[str, str]:
        path = urlsplit(self.path).path.removeprefix("/network/v2.0/")
        found = next((name for name in COLLECTIONS if path.startswith(name)), None)
        return (found, COLLECTIONS[found]) if found else ("", "")

    def _neutron(self, asked: dict[str, Any]) -> tuple[int, Any]:
        collection, one = self._collection()
        if not collection:
            return 404, {"NeutronError": {"message": f"there is no {self.path}"}}
        things = self.owner.things[collection]
        id_ = urlsplit(self.path).path.removeprefix(f"/network/v2.0/{collection}").strip("/")
        many = collection.rpartition("/")[2].replace("-", "_")
        if self.command == "POST":
            if many in asked:
                return 201, {many: [self.owner.make(collection, body) for body in asked[many]]}
            return 201, {one: self.owner.make(collection, asked[one])}
        if not id_:
            wanted = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
            found = [t for t in things.values() if all(t.get(k) == v for k, v in wanted.items())]
            return 200, {many: found}
        if id_ not in things:
            return 404, {"NeutronError": {"message": f"{one} {id_} could not be found"}}
        if self.command == "DELETE":
            del things[id_]
            return 204, None
        if self.command == "PUT":
            things[id_].update(asked[one])
        return 200, {one: things[id_]}

    def _answer(
        self, status: int, answer: Any, headers: dict[str, str], *, torn: bool = False
    ) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        if torn:
            content = content[: len(content) // 2]
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.send_header("x-openstack-request-id", "req-of-the-test")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass
