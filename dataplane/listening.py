"""Where a server listens: a Unix socket, or an address and a port."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.ownership import check_place

INTERNET_FORMS = "address:port or [address]:port"
FORMS = f"unix:/path/of/a/socket, {INTERNET_FORMS}"


@contextmanager
def listening(where: str, option: str = "--listen") -> Iterator[socket.socket]:
    """Open a listening socket for the duration of the context. Only this user can reach a Unix
    socket, whose file is removed afterwards. Raises InputError, which names the option."""
    if where.startswith("unix:/"):
        path = Path(where.removeprefix("unix:"))
        opened = _unix(path)
        try:
            yield opened
        finally:
            opened.close()
            with suppress(OSError):
                path.unlink()
        return
    with internet_socket(where, option) as opened:
        yield opened


def _unix(path: Path) -> socket.socket:
    """Return a socket that listens at this path. Raises InputError."""
    check_place(path.parent)
    with system_errors_as(InputError, "cannot listen there", where=path):
        _remove_dead(path)
        opened = socket.socket(socket.AF_UNIX)
        mask = os.umask(0o177)  # so that only this user can connect
        try:
            opened.bind(str(path))
            opened.listen()
        except BaseException:
            opened.close()
            raise
        finally:
            os.umask(mask)
    return opened


def _remove_dead(path: Path) -> None:
    """Remove the socket that a killed server left here, if there is one. Raises InputError if
    somebody still listens there, or the file is no socket."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise InputError("this is no socket", where=str(path), hint="choose another name")
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InputError("somebody listens there already", where=str(path))


def internet_socket(where: str, option: str, forms: str = FORMS) -> socket.socket:
    """Return a socket that listens at an address and a port (port 0: any free one). Raises
    InputError, which names the option, and `forms` if `where` has none of them."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", where)
    if found is None or int(found[3]) > 65535:
        raise InputError(f"{where!r} is no place to listen", where=option, allowed=forms)
    host, port = found[1] or found[2], int(found[3])
    with system_errors_as(InputError, f"cannot listen at {where}", where=option):
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)


def name_of(opened: socket.socket) -> str:
    """Return where the socket listens: `unix:/path`, `address:port` or `[address]:port`."""
    name: Any = opened.getsockname()
    if opened.family == socket.AF_UNIX:
        return f"unix:{name}"
    host = f"[{name[0]}]" if opened.family == socket.AF_INET6 else name[0]
    return f"{host}:{name[1]}"


def url_of(opened: socket.socket) -> str:
    """Return where the REST interface on this socket is reached: `unix:/path`, or `http://` and
    what `name_of` says."""
    name = name_of(opened)
    return name if name.startswith("unix:") else f"http://{name}"
