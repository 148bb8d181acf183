"""A client of REST interfaces on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests


def local_session(token: str = "") -> requests.Session:
    """A session for requests to servers on this machine, which all carry this token. It ignores the
    environment: a proxy would get the token, and .netrc could replace it by what it has for
    127.0.0.1."""
    import requests

    session = requests.Session()
    session.trust_env = False
    if token:
        session.headers["Authorization"] = f"Bearer {token}"
    return session
