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
    """Options of the controller's process."""

    state: Path
    windows: Path
    """File to which windows are appended."""
    token_file: Path
    listen: str
    """`unix:/path`, or `address:port`."""


def serve(options: Options, ready: Callable[[str], None]) -> None:
    """Control switches until SIGTERM or SIGINT. `ready` is called once, with where the controller
    listens, when it answers. Raises InputError, EnvironmentLacks, WorkerEnded."""
    # finsy's messages about connections are in the status, so they do not go to stderr as well.
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
    watch = Watch()
    fleet = Fleet(log, watch)
    app = application(store, fleet, token)
    server = Server(app, lambda: ready(url_of(opened)))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _end, server)
    writing = watch.task("what writes to switches", fleet.run())
    try:
        await fleet.take(lambda: store.state)
        # Wait first: then switches that answer are as they must be when the first request comes.
        await fleet.settled(SETTLE_S)
        await server.serve([opened])
    finally:
        watch.over()
        await fleet.stop()
        writing.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await writing
        watch.check()


def _end(server: Server) -> None:
    server.should_exit = True
