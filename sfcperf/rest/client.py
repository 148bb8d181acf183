"""A client of REST interfaces on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests


def local_session(token: str = "") -> requests.Session:
    """Requests to servers on this machine, each with this token. Nothing of the environment counts:
    a proxy would get the token, and what .netrc has for 127.0.0.1 would replace it."""
    import requests

    session = requests.Session()
    session.trust_env = False
    if token:
        session.headers["Authorization"] = f"Bearer {token}"
    return session
