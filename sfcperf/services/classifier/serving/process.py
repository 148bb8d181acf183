"""The process of the serving layer: makes rules from verdicts and sets them, with a REST interface.

    python -m sfcperf.services.classifier.serving.process SETTINGS

SETTINGS is a JSON file, see `Settings`. The process works until SIGTERM. Its state is what the
topics hold: after a restart, it reads the session's verdicts again, and sets rules from the first
verdict on whose effect was not committed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfcperf.rest.access import read_token
from sfcperf.rest.server import Server
from sfcperf.results.files import replace_file
from sfcperf.services.classifier.engine import Broker
from sfcperf.services.classifier.serving.api import application
from sfcperf.services.classifier.serving.session import Session
from sfcperf.services.classifier.serving.worker import Worker
from sfcperf.watched import Watch

ADDRESS = "127.0.0.1"
_BACKLOG = 128


@dataclass(frozen=True)
class Settings:
    """Content of the settings file."""

    broker: dict[str, Any]
    """Fields of `Broker`."""
    token: str
    """File with the token that requests must have."""
    place: str
    """File to which the port is written when the process answers. A restarted process takes the
    same port."""
    kept: str
    """File in which the session is kept, and the counters at its beginning."""


class Process:
    """The serving layer's worker and server in one process. Call `serve` once."""

    def __init__(self, settings: Settings) -> None:
        """Take up the session, the counters and the port of the process before, if there was one.
        Nothing is served yet."""
        self._settings = settings
        self._kept = Path(settings.kept)
        self._watch = Watch()
        kept = json.loads(self._kept.read_text()) if self._kept.exists() else {}
        session = Session.model_validate(kept.get("session", {}))
        self._worker = Worker(Broker(**settings.broker), session, kept.get("counters", {}))
        app = application(self._worker, self._begin, read_token(Path(settings.token)))
        self._server = Server(app, self._ready)
        self._socket = socket.create_server((ADDRESS, self._port()), backlog=_BACKLOG)

    def _port(self) -> int:
        """The port of the process before this one; 0, any free one, if there was none."""
        place = Path(self._settings.place)
        return int(place.read_text()) if place.exists() else 0

    def _ready(self) -> None:
        """Tell the port to whoever started this process: the server answers."""
        replace_file(Path(self._settings.place), str(self._socket.getsockname()[1]))

    def _begin(self, session: Session) -> None:
        """Begin a session. It is written to the file first, so that a process that follows a crash
        begins with it."""
        kept = {"session": session.model_dump(), "counters": self._worker.counters()}
        replace_file(self._kept, json.dumps(kept))
        self._worker.begin(session)

    def _work(self) -> None:
        """Let the worker work in this thread."""
        try:
            self._worker.run()
        finally:
            # If it has failed, a request that waits in `Worker.begin` must not wait for ever.
            self._worker.stop()

    async def serve(self) -> int:
        """Work until the end; return the exit status."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._end)
        thread = self._watch.thread("the worker", self._work)
        await self._server.serve([self._socket])
        # The server may also have ended by itself.
        self._end()
        await asyncio.to_thread(thread.join)
        if self._watch.problem is None:
            return 0
        print(f"the serving layer: {self._watch.problem}", file=sys.stderr, flush=True)
        return 1

    def _end(self) -> None:
        """End worker and server. Harmless when called again."""
        # First, since the worker that ends is no problem from now on.
        self._watch.over()
        self._worker.stop()
        self._server.should_exit = True


def main(settings: Path) -> int:
    """Run the process, and return its exit status."""
    os.umask(0o077)  # tokens are kept
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return asyncio.run(Process(Settings(**json.loads(settings.read_text()))).serve())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
