"""The process of the SDN-Mon controller, from its start to SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfcperf.dataplane.listening import INTERNET_FORMS, internet_socket, listening, name_of, url_of
from sfcperf.dataplane.sdnmon.controller.api import application
from sfcperf.dataplane.sdnmon.controller.app import SdnMon
from sfcperf.dataplane.sdnmon.controller.osken import run_beside
from sfcperf.rest.access import read_token
from sfcperf.rest.server import Server
from sfcperf.watched import Watch


@dataclass(frozen=True)
class Options:
    """Options of the controller's process."""

    listen: str
    """Where switches connect: address:port."""
    rest: str
    """`unix:/path`, or address:port."""
    token_file: Path
    apps: tuple[str, ...] = ()
    """Modules of other applications of os-ken."""


def serve(options: Options, ready: Callable[[str, str], None]) -> None:
    """Control switches until SIGTERM or SIGINT. `ready` is called once, with where switches connect
    and where the REST interface is, when both answer. Raises InputError, WorkerEnded."""
    token = read_token(options.token_file)
    with (
        internet_socket(options.listen, "--listen", INTERNET_FORMS) as switches,
        listening(options.rest, "--rest") as rest,
    ):
        watch = Watch()
        try:
            mon = run_beside(switches, options.apps, watch)
            asyncio.run(_serve(mon, token, rest, lambda: ready(name_of(switches), url_of(rest))))
        finally:
            watch.check()  # raises WorkerEnded if os-ken has ended


async def _serve(mon: SdnMon, token: str, rest: socket.socket, ready: Callable[[], None]) -> None:
    """Serve the REST interface until a signal ends it."""
    server = Server(application(mon, token), ready)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, _end, server)
    await server.serve([rest])


def _end(server: Server) -> None:
    """Let the server end, in good order."""
    server.should_exit = True
