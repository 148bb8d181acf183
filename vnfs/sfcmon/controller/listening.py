"""Where the REST interface listens: a Unix socket, or an address and a port."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfcperf.errors import InputError, system_errors_as
from sfcperf.results.ownership import check_place

_FORMS = "unix:/path/of/a/socket, address:port or [address]:port"


@contextmanager
def listening(where: str) -> Iterator[socket.socket]:
    """A listening socket; a Unix socket is for this user alone, and removed afterwards. Raises
    InputError."""
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
    with _internet(where) as opened:
        yield opened


def _unix(path: Path) -> socket.socket:
    check_place(path.parent)
    with system_errors_as(InputError, "cannot listen there", where=path):
        _remove_dead(path)
        opened = socket.socket(socket.AF_UNIX)
        mask = os.umask(0o177)
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
    """The socket of a controller that was killed. Raises InputError if somebody listens there, or
    it is something else."""
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


def _internet(where: str) -> socket.socket:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%a-z]+)\]|([0-9.]+|localhost)):([0-9]{1,5})", where)
    if found is None or int(found[3]) > 65535:
        raise InputError(f"{where!r} is no place to listen", where="--listen", allowed=_FORMS)
    host, port = found[1] or found[2], int(found[3])
    with system_errors_as(InputError, f"cannot listen at {where}", where="--listen"):
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
