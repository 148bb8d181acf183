"""What the REST interface makes of the keeper's answers."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from sfcperf.vnfs.rule_interface.api import DataPlaneFailed, application

LIMITS = {"max_ttl_s": 60, "max_rules": 10, "on_failure": "fail-open"}


def answered(answer: dict[str, Any] | Exception, method: str, path: str) -> httpx.Response:
    async def ask(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def request() -> httpx.Response:
        app = application(ask, "t", LIMITS)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url="http://x"
        ) as client:
            headers = {"Authorization": "Bearer t"}
            return await client.request(method, path, json={"ttl_s": 5}, headers=headers)

    return asyncio.run(request())


@pytest.mark.parametrize(
    ("reason", "status"),
    [("rate", 429), ("full", 409), ("allow-listed", 409), ("ip-version", 409)],
)
def test_refusals_have_a_status_of_their_own(reason: str, status: int) -> None:
    outcome = {"added": 0, "renewed": 0, "refused": [[0, reason]]}
    answer = answered(outcome, "PUT", "/rules/sources/192.0.2.1")
    assert answer.status_code == status
    assert answer.json()["error"].startswith(f"{reason}: ")
    assert answer.headers.get("Retry-After") == ("1" if reason == "rate" else None)


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/rules/sources/192.0.2.1"), ("DELETE", "/rules"), ("GET", "/status")],
)
def test_a_lost_data_plane_is_a_503(method: str, path: str) -> None:
    answer = answered(DataPlaneFailed("the host is gone"), method, path)
    assert answer.status_code == 503
    assert answer.json()["error"].endswith(": the host is gone")
