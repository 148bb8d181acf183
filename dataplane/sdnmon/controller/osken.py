"""os-ken as a part of a process that has other work too.

os-ken's native threads take each exception for the order to end (`hub.TaskExit` is Exception), and
say nothing: one in a handler would end all events of its application, and one in the thread that
takes connections would end these. So the order gets a type of its own. Exceptions of handlers are
then logged, and the next event is handled.
"""

from __future__ import annotations

import logging
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, set_ev_handler
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.lib import hub

from sfcperf.dataplane.sdnmon.controller import bounded_parsing
from sfcperf.dataplane.sdnmon.controller.app import SdnMon
from sfcperf.dataplane.sdnmon.controller.connections import Connections
from sfcperf.dataplane.sdnmon.controller.errors import WrongAnswer
from sfcperf.errors import InputError
from sfcperf.watched import Watch

_HANDLER = "os_ken.controller.ofp_handler"
_AGAIN_S = 0.2
"""How long to wait after a connection that could not be taken."""
_LOOK_S = 0.5
"""How often threads are looked at."""
_LONGEST_LINE = 500
"""Longest line in the log: os-ken quotes whole messages of switches."""
_LINES_PER_S = 20
"""Most lines in the log: strangers may cause lines faster than a reader of the log takes them."""


class _TaskExit(BaseException):
    """The order to end a thread of os-ken. Nobody gives it."""


hub.TaskExit = _TaskExit


class _Handler(OFPHandler):
    """os-ken's OpenFlow server, at a socket that listens already. os-ken's own opens the socket
    itself: it only logs when it cannot, and knows no port 0."""

    opened: ClassVar[socket.socket]
    """The socket; `run_beside` sets it before os-ken makes the handler."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections = Connections()

    def start(self) -> Any:
        """Start the server's threads (os-ken calls this)."""
        super(OFPHandler, self).start()  # not OFPHandler's own, which opens a socket
        self.threads += [hub.spawn(self._connections.end_idle), hub.spawn(self._accept)]

    def _accept(self) -> None:
        """Take connections for ever."""
        while True:
            try:
                self._take(*self.opened.accept())
            except (OSError, RuntimeError) as error:
                # The machine lacks files or threads, for now.
                self.logger.warning("a connection cannot be taken: %s", error)
                time.sleep(_AGAIN_S)

    def _take(self, connection: socket.socket, address: Any) -> None:
        """Serve a connection in a thread of its own. Raises RuntimeError if none can be started."""
        try:
            hub.spawn(self._connections.serve, connection, address)
        except BaseException:
            connection.close()
            raise

    @set_ev_handler(ofp_event.EventOFPPortDescStatsReply, CONFIG_DISPATCHER)
    def multipart_reply_handler(self, ev: Any) -> None:
        """Check the order of messages, then let os-ken handle this one. os-ken takes it for the
        end of the handshake, whatever came before."""
        if ev.msg.datapath.id is None:
            raise WrongAnswer("the switch describes its ports before it says which switch it is")
        super().multipart_reply_handler(ev)


class _OneLineFormatter(logging.Formatter):
    """Writes each record as one line without a traceback. Most records only say that a switch
    sent something wrong."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line: the exception if there is one, else the last line of the message."""
        lines = record.getMessage().strip().splitlines() or [""]
        if record.exc_info and record.exc_info[1]:
            lines.append(repr(record.exc_info[1]))
        return f"{record.name}: {lines[-1]}"[:_LONGEST_LINE]


class _RateFilter(logging.Filter):
    """Passes only as many lines in a second as somebody can read."""

    def __init__(self) -> None:
        super().__init__()
        self._second = self._lines = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether the record may be printed. Two threads at a time may let one line more
        through."""
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= _LINES_PER_S


def run_beside(opened: socket.socket, modules: Sequence[str], watch: Watch) -> SdnMon:
    """Take switches' connections from a socket, with SdnMon and the applications in these
    modules. All threads end with the process. `watch` watches the threads that an application
    has in `threads` when it has started. Raises InputError for a module that is no application."""
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setFormatter(_OneLineFormatter())
    warnings.setLevel(logging.WARNING)
    warnings.addFilter(_RateFilter())
    logging.getLogger().addHandler(warnings)
    cfg.CONF([], project="os_ken", default_config_files=[])
    bounded_parsing.bound()
    manager = AppManager.get_instance()
    for module in modules:
        _load(manager, module)
    manager.load_apps([SdnMon.__module__, _HANDLER])
    _Handler.opened = opened
    manager.applications_cls[_HANDLER] = _Handler
    started: Future[SdnMon] = Future()
    # Threads of os-ken never end by themselves. Those that a daemon starts are daemons.
    watch.thread("os-ken", lambda: _run(manager, started, watch))
    return started.result()


def _load(manager: Any, module: str) -> None:
    """Register the application of os-ken that a module has. Raises InputError if the module cannot
    be imported or has none."""
    # `load_app` only imports the module and finds the application. `load_apps` registers it, but
    # would pass over a module without one, and say nothing.
    try:
        found = manager.load_app(module)
    except Exception as error:
        # A module of somebody else may raise anything when it is imported.
        problem = f"{module} cannot be loaded: {error!r}"
        raise InputError(problem, where="--app", allowed="a module of Python's path") from error
    if found is None:
        raise InputError(f"{module} has no application of os-ken", where="--app")
    manager.load_apps([module])


def _run(manager: Any, started: Future[SdnMon], watch: Watch) -> None:
    """Make the applications, let `started` have SdnMon, and return when one of their threads ends.
    If they cannot be made, `started` gets an InputError."""
    try:
        manager.instantiate_apps(**manager.create_contexts())
        started.set_result(manager.applications[SdnMon.__name__])
    except BaseException as error:
        watch.over()  # whoever waits for the start has the reason, and ends
        started.set_exception(InputError(f"os-ken does not start: {error!r}", where="--app"))
        return
    threads = [thread for app in manager.applications.values() for thread in app.threads]
    while all(thread.is_alive() for thread in threads):
        time.sleep(_LOOK_S)
