"""How long the controller waits between attempts to connect to a switch."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from sfcperf.errors import DeploymentError
from sfcperf.vnfs.sfcmon.controller.model import Switch
from sfcperf.vnfs.sfcmon.controller.session import Session


class FourthSucceeds(Session):
    """The fourth attempt succeeds; then the connection is lost."""

    attempts = 0

    async def _stay_connected(self, address: str) -> None:
        self.attempts += 1
        if self.attempts == 4:
            connection: Any = object()
            self._begin(connection)
        raise DeploymentError("the connection was lost")


def test_pauses_grow_until_an_attempt_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 5:
            raise asyncio.CancelledError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    switch = Switch(
        p4runtime="localhost:9559", mac="02:00:00:00:00:01", address="10.0.0.1", ports={}
    )
    with suppress(asyncio.CancelledError):
        asyncio.run(FourthSucceeds("s1", switch, lambda: None).run())
    first, second, third, after_success, next_one = pauses
    assert first < second < third
    assert (after_success, next_one) == (first, second)
