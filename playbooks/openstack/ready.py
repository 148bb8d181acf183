"""Whether a service of this machine's loopback answers."""

from __future__ import annotations

import http.client
import socket


def listens(port: int) -> bool:
    """Whether the port takes connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 2.0).close()
    except OSError:
        return False
    return True


def speaks_http(port: int) -> bool:
    """Whether a request is answered, by whatever but an error of the server's own."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        asked.request("GET", "/")
        return asked.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
