"""The controller's process, from its start to SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sfcperf.dataplane.listening import listening, url_of
from sfcperf.environment.variables import forget_proxies
from sfcperf.rest.access import read_token
from sfcperf.rest.server import Server
from sfcperf.vnfs.sfcmon.controller.api import SETTLE_S, application
from sfcperf.vnfs.sfcmon.controller.fleet import Fleet
from sfcperf.vnfs.sfcmon.controller.store import Store
from sfcperf.vnfs.sfcmon.controller.window_log import WindowLog
from sfcperf.watched import Watch


@dataclass(frozen=True)
class Options:
    """What the process is to do."""

    state: Path
    """File that keeps the resources."""
    windows: Path
    """File to which windows are appended."""
    token_file: Path
    listen: str
    """`unix:/path`, or `address:port`."""


def serve(options: Options, ready: Callable[[str], None]) -> None:
    """Control switches until SIGTERM or SIGINT. `ready` is called once, with where the controller
    listens, when it answers. Raises InputError, EnvironmentLacks, WorkerEnded."""
    # What happens to connections is in the status, and not on stderr.
    logging.getLogger("finsy").propagate = False
    logging.getLogger("finsy").addHandler(logging.NullHandler())
    forget_proxies()
    token = read_token(options.token_file)
    store = Store(options.state)
    try:
        with listening(options.listen) as opened:
            asyncio.run(_serve(store, WindowLog(options.windows), token, opened, ready))
    finally:
        store.close()


async def _serve(
    store: Store, log: WindowLog, token: str, opened: socket.socket, ready: Callable[[str], None]
) -> None:
    """Bring the switches to the state, then serve requests until a signal, or until a task of the
    process fails."""
    watch = Watch()
    fleet = Fleet(log, watch)
    app = application(store, fleet, token)
    server = Server(app, lambda: ready(url_of(opened)))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _end, server)
    writing = watch.task("what writes to switches", fleet.run())
    try:
        await fleet.take(lambda: store.state)
        # Before the first request, switches that answer are brought to the state.
        await fleet.settled(SETTLE_S)
        await server.serve([opened])
    finally:
        # The tasks may end from now on.
        watch.over()
        await fleet.stop()
        writing.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await writing
        watch.check()


def _end(server: Server) -> None:
    """Let `serve` of the server return, when a signal has come."""
    server.should_exit = True
