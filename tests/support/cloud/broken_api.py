"""A keystone, nova, glance and neutron of a few resources that fail where a test says so.

Real clouds do not lose answers, forget tokens or run out of hypervisors when one wants them to.
This is a real HTTP server, so openstacksdk, keystoneauth and requests are the real ones.
"""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from support.network.answering import answering

PROJECT = "p" * 32

NETWORK = {
    "networks": "network",
    "subnets": "subnet",
    "ports": "port",
    "routers": "router",
    "floatingips": "floatingip",
    "extensions": "extension",
    "security-group-rules": "security_group_rule",
    "security-groups": "security_group",
    "sfc/port_pairs": "port_pair",
    "sfc/port_pair_groups": "port_pair_group",
    "sfc/flow_classifiers": "flow_classifier",
    "sfc/port_chains": "port_chain",
}
COMPUTE = {"servers": "server", "os-keypairs": "keypair", "flavors": "flavor"}
IMAGE = {"images": "image"}
PLACES = {"/network/v2.0/": NETWORK, "/compute/v2.1/": COMPUTE, "/image/v2/": IMAGE}
"""Where a service is, and its collections: path behind that -> name of one; the list is named
after the path's end."""
COLLECTIONS = {**NETWORK, **COMPUTE, **IMAGE}


@dataclass
class Fault:
    """Something that goes wrong with the next requests of this kind."""

    method: str
    path: str
    """Regular expression, searched for in the path."""
    how: Literal["status", "lost before", "lost after", "torn"] = "status"
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
        self.authorizations: list[str | None] = []
        """The header of each request."""
        self.things: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in COLLECTIONS}
        self.tokens: set[str] = set()
        self.services = {"network": "/network", "compute": "/compute/v2.1", "image": "/image"}
        """Type -> path: the catalogue. What others answer is a matter of faults."""
        self.fates: list[str] = []
        """Status of the next servers that are made; ACTIVE when there is none."""
        self.deaths = 0
        """How often a server is still seen after it was deleted."""
        self._number = 0
        self._lock = threading.Lock()

    def __enter__(self) -> BrokenApi:
        api = self

        class Handler(_Handler):
            owner = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._end = ExitStack()
        self._end.enter_context(answering(self._server))
        return self

    def __exit__(self, *_: object) -> None:
        self._end.close()

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

    def look(self, collection: str, wanted: dict[str, list[str]]) -> list[dict[str, Any]]:
        """What a list gives; servers get on between two looks."""
        with self._lock:
            things = self.things[collection]
            if collection == "servers":
                self._live(things)
                # As nova, which takes away the meaning of `|` in regular expressions.
                pattern = wanted.pop("name", [""])[0].replace("|", r"\|")
                things = {k: t for k, t in things.items() if re.search(pattern, t["name"])}
            keys = {"name", "description", "project_id", "network_id", "device_id"} & set(wanted)
            return [
                thing
                for thing in things.values()
                if all(thing.get(key) in wanted[key] for key in keys)
            ]

    def _live(self, servers: dict[str, dict[str, Any]]) -> None:
        for id_, server in list(servers.items()):
            if "dies" in server:
                server["dies"] -= 1
                if server["dies"] < 0:
                    del servers[id_]
            elif server.get("status") == "BUILD":
                server["status"] = server["fate"]

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
    # Headers and body in one packet: else the body waits 40 ms until the headers are acknowledged.
    wbufsize = -1
    owner: BrokenApi

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self.owner.authorizations.append(self.headers["authorization"])
        fault = self.owner.fault_for(self.command, self.path)
        if fault is not None and fault.how == "status":
            return self._answer(fault.status, fault.body or {"error": {}}, fault.headers)
        if fault is not None and fault.how == "lost before":
            return self._hang_up()
        asked = json.loads(body) if body else {}
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
        if path.rstrip("/") == "/compute/v2.1":
            told = {"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1"}
            return 200, {"version": {**told, "links": [self._link("/compute/v2.1/")]}}, {}
        if path.rstrip("/") == "/image":
            told = {"id": "v2.9", "status": "CURRENT", "links": [self._link("/image/v2/")]}
            return 200, {"versions": [told]}, {}
        return (*self._collected(asked), {})

    def _link(self, path: str) -> dict[str, str]:
        return {"rel": "self", "href": self.owner.url + path}

    def _keystone(self, path: str, asked: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        if not path.endswith("/auth/tokens"):
            link = {"rel": "self", "href": f"{self.owner.url}/identity/v3/"}
            return 200, {"version": {"id": "v3.14", "status": "stable", "links": [link]}}, {}
        given = asked["auth"]["identity"]["password"]["user"]["password"]
        if given != "right":
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

    def _collection(self) -> tuple[str, str, str]:
        """Path of the collection, name of one, and the rest of the path."""
        path = urlsplit(self.path).path
        for where, collections in PLACES.items():
            for name, one in collections.items():
                if path.startswith(where + name):
                    return name, one, path.removeprefix(where + name).strip("/")
        return "", "", ""

    def _collected(self, asked: dict[str, Any]) -> tuple[int, Any]:
        collection, one, id_ = self._collection()
        if not collection:
            return 404, {"NeutronError": {"message": f"there is no {self.path}"}}
        things = self.owner.things[collection]
        many = collection.rpartition("/")[2].removeprefix("os-").replace("-", "_")
        if self.command == "POST":
            if many in asked:
                return 201, {many: [self._made(collection, body) for body in asked[many]]}
            return 201, {one: self._made(collection, asked[one])}
        if not id_ or id_ == "detail":
            found = self.owner.look(collection, parse_qs(urlsplit(self.path).query))
            return 200, {many: [{one: t} for t in found] if many == "keypairs" else found}
        if collection == "os-keypairs":
            id_ = next((key for key, t in things.items() if t["name"] == id_), id_)
        if id_ not in things:
            return 404, {"NeutronError": {"message": f"{one} {id_} could not be found"}}
        if self.command == "DELETE":
            return self._deleted(collection, id_)
        if self.command == "PUT":
            things[id_].update(asked[one])
        return 200, things[id_] if collection == "images" else {one: things[id_]}

    def _made(self, collection: str, body: dict[str, Any]) -> dict[str, Any]:
        owner = self.owner
        more: dict[str, Any] = {}
        if collection == "servers":
            fate = owner.fates.pop(0) if owner.fates else "ACTIVE"
            fault = {"message": "No valid host was found."}
            more = {"status": "BUILD", "fate": fate, "fault": fault}
        if collection == "ports":
            number = len(owner.things["ports"]) + 10
            fixed = [{"ip_address": f"10.0.0.{number}", **ip} for ip in body.get("fixed_ips", [{}])]
            more = {"mac_address": f"FA:16:3E:00:00:{number:02X}", "fixed_ips": fixed}
        if collection == "networks":
            more = {"port_security_enabled": body.get("port_security_enabled", True)}
        return owner.make(collection, {**body, **more})

    def _deleted(self, collection: str, id_: str) -> tuple[int, Any]:
        things = self.owner.things[collection]
        pairs = self.owner.things["sfc/port_pairs"].values()
        if collection == "ports" and any(id_ in (p["ingress"], p["egress"]) for p in pairs):
            return 500, {"NeutronError": {"message": "Request Failed: internal server error"}}
        if collection == "servers" and self.owner.deaths:
            things[id_].setdefault("dies", self.owner.deaths)
        else:
            del things[id_]
        return 204, None

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
