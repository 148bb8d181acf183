"""os-ken as a part of a process that has other work too."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, ClassVar

from os_ken import cfg
from os_ken.base.app_manager import AppManager
from os_ken.controller.ofp_handler import OFPHandler
from os_ken.lib import hub

from sfcperf.errors import InputError
from sfcperf.vnfs.sdnmon.controller.app import SdnMon
from sfcperf.vnfs.sdnmon.controller.connections import Connections

_HANDLER = "os_ken.controller.ofp_handler"


class _Handler(OFPHandler):
    """os-ken's own, at a socket that listens already: os-ken's would only log that it cannot, and
    knows no port 0."""

    opened: ClassVar[socket.socket]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections = Connections()

    def start(self) -> Any:
        """As os-ken calls it."""
        super(OFPHandler, self).start()
        hub.spawn(self._connections.end_idle)
        return hub.spawn(self._accept)

    def _accept(self) -> None:
        while True:
            connection, address = self.opened.accept()
            hub.spawn(self._connections.serve, connection, address)


class _OneLine(logging.Formatter):
    """What went wrong, without a traceback: mostly that a switch sent something wrong."""

    def format(self, record: logging.LogRecord) -> str:
        lines = record.getMessage().strip().splitlines() or [""]
        if record.exc_info and record.exc_info[1]:
            lines.append(repr(record.exc_info[1]))
        return f"{record.name}: {lines[-1]}"


def run_beside(opened: socket.socket, modules: Sequence[str]) -> SdnMon:
    """Take switches' connections from a socket, with SdnMon and the applications in these modules,
    in threads that end with the process. Raises InputError for a module that is none."""
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setFormatter(_OneLine())
    warnings.setLevel(logging.WARNING)
    logging.getLogger().addHandler(warnings)
    cfg.CONF([], project="os_ken", default_config_files=[])
    manager = AppManager.get_instance()
    for module in modules:
        _load(manager, module)
    manager.load_apps([SdnMon.__module__, _HANDLER])
    _Handler.opened = opened
    manager.applications_cls[_HANDLER] = _Handler
    started: Future[SdnMon] = Future()
    # Threads of os-ken never end by themselves. Those that a daemon starts are daemons.
    threading.Thread(target=_run, args=(manager, started), daemon=True).start()
    return started.result()


def _load(manager: Any, module: str) -> None:
    try:
        found = manager.load_app(module)
    except Exception as error:
        # Whatever a module of somebody else does when it is imported.
        problem = f"{module} cannot be loaded: {error!r}"
        raise InputError(problem, where="--app", allowed="a module of Python's path") from error
    if found is None:
        raise InputError(f"{module} has no application of os-ken", where="--app")
    manager.load_apps([module])


def _run(manager: Any, started: Future[SdnMon]) -> None:
    try:
        manager.instantiate_apps(**manager.create_contexts())
        started.set_result(manager.applications[SdnMon.__name__])
    except BaseException as error:
        started.set_exception(InputError(f"os-ken does not start: {error!r}", where="--app"))
