"""A client of a function's rule interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from sfcperf.management.deployment import RuleInterface

REQUEST_S = 30.0


class RuleClient:
    """Its answers must be successes, unless `client` is used itself."""

    def __init__(self, interface: RuleInterface | None) -> None:
        assert interface is not None
        self.url = interface.url
        self.headers = {"Authorization": f"Bearer {interface.token}"}
        self.client = httpx.Client(base_url=self.url, headers=self.headers, timeout=REQUEST_S)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of the answer."""
        answer = self.client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def block_source(self, address: str, ttl_s: float = 60) -> Any:
        return self.request("PUT", f"/rules/sources/{address}", {"ttl_s": ttl_s})

    def block_flow(
        self, protocol: int | str, one: tuple[str, int], other: tuple[str, int], ttl_s: float = 60
    ) -> Any:
        return self.request("PUT", flow_path(protocol, one, other), {"ttl_s": ttl_s})

    def rules(self, limit: int = 1000) -> list[dict[str, Any]]:
        """All, by pages."""
        found: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self.request("GET", f"/rules?after={after}&limit={limit}")
            found += page["rules"]
            after = page["next"]
        return found

    def status(self) -> Any:
        return self.request("GET", "/status")


def flow_path(protocol: int | str, one: tuple[str, int], other: tuple[str, int]) -> str:
    """Of a rule by flow."""
    return f"/rules/flows/{protocol}/{one[0]}/{one[1]}/{other[0]}/{other[1]}"


@contextmanager
def rule_client(interface: RuleInterface | None) -> Iterator[RuleClient]:
    """Closed at the end."""
    made = RuleClient(interface)
    try:
        yield made
    finally:
        made.client.close()
