"""ServingLayer: starts the process of the serving layer, and makes requests to it."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfcperf import retry
from sfcperf.errors import MeasurementError
from sfcperf.rest.client import local_session
from sfcperf.services.base import ServiceContext
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.supervised import SupervisedProcess

START_TIMEOUT_S = 60.0
_MODULE = "sfcperf.services.classifier.serving.process"
_ANSWER_S = 60.0
_AGAIN_S = 15.0
"""How long a request is repeated: a process that died is started again within that time."""


class ServingLayer:
    """The process of the serving layer, which is started again when it dies, and a client of its
    REST interface. Its port and token stay the same."""

    def __init__(self, context: ServiceContext, broker: Broker) -> None:
        """Writes the files that the process reads; starts nothing."""
        self.token = secrets.token_urlsafe(32)
        self._place = context.state_dir / "serving.port"
        settings = context.state_dir / "serving.json"
        token = context.state_dir / "serving.token"
        with open(token, "w", opener=_private) as file:
            file.write(self.token)
        settings.write_text(
            json.dumps(
                {
                    "broker": vars(broker),
                    "token": str(token),
                    "place": str(self._place),
                    "kept": str(context.state_dir / "session.json"),
                }
            )
        )
        command = [sys.executable, "-m", _MODULE, str(settings)]
        self._written_before: int | None = None
        """When the process before wrote its port; None before the first start."""
        self.process = SupervisedProcess(
            context,
            f"{context.name}-serving",
            command,
            lambda: self._written() != self._written_before,
        )

    def start(self) -> None:
        """Start the process, and return when it answers. Raises EnvironmentLacks."""
        self._written_before = self._written()
        self.process.start(START_TIMEOUT_S)

    def _written(self) -> int | None:
        """When the file with the port was written, ns; None if it is not there. A process replaces
        it when it answers."""
        try:
            return self._place.stat().st_mtime_ns
        except FileNotFoundError:
            return None

    @property
    def address(self) -> str:
        """Address of the REST interface, ADDRESS:PORT."""
        return f"127.0.0.1:{self._place.read_text()}"

    def status(self) -> Mapping[str, Any]:
        """Ask for the status, with the keys of `session.Status`. Raises MeasurementError."""
        status: Mapping[str, Any] = self._ask("GET", "/status")
        return status

    def begin(self, session: Mapping[str, Any]) -> None:
        """Begin a session (`session.Session`). Raises MeasurementError."""
        self._ask("PUT", "/session", session)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; return its answer, or None if that is empty. The request is repeated
        while the process cannot be reached, as it may be starting again. Raises
        MeasurementError."""
        import requests

        def ask() -> Any:
            with local_session(self.token) as session:
                answer = session.request(
                    method, f"http://{self.address}{path}", json=body, timeout=_ANSWER_S
                )
            answer.raise_for_status()
            return answer.json() if answer.content else None

        try:
            return retry.call(
                ask,
                lambda error: isinstance(error, requests.ConnectionError),
                timeout_s=_AGAIN_S,
                first_s=0.1,
                longest_s=1.0,
            )
        except requests.RequestException as error:
            raise MeasurementError(
                f"the serving layer of the classifier does not answer: {error}",
                hint=f"see {self.process.log}",
            ) from error


def _private(path: str | Path, flags: int) -> int:
    """Open a file that only this user can read, for `open`."""
    return os.open(path, flags, 0o600)
