"""Secrets for a cluster: from the environment or the system's keyring, and from nowhere else.

They are in no option (process lists), no workflow and no run folder (others read those). This
module hands them to the client, and nothing of ours prints or keeps them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from sfcperf.elasticsearch.target import Target
from sfcperf.errors import InputError

API_KEY = "SFCPERF_ES_API_KEY"
USER = "SFCPERF_ES_USER"
PASSWORD = "SFCPERF_ES_PASSWORD"
SERVICE = "sfcperf-elasticsearch"
"""Name of the service in the keyring. Its entry for URL is an API key, that for USER@URL is a
password."""


def credentials(target: Target, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the client's arguments for an API key (encoded, as the server gave it), or for a user
    and password; empty if there are no secrets.

    Raises InputError when a user has no password, or the other way round, and when secrets would
    travel in the clear to another machine.
    """
    env = os.environ if environment is None else environment
    found = _found(target, env)
    if found and not target.insecure and any(_in_the_clear(url) for url in target.urls):
        raise InputError(
            "a secret would be sent over the network unencrypted",
            where=target.name,
            hint="use an https:// URL; --insecure, or `insecure` in the workflow, allows it",
        )
    return found


def _found(target: Target, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the client's arguments with the first secret that is found: an API key in the
    environment; a user in the environment, whose password may be in the keyring; an API key in the
    keyring. Empty if there is none."""
    user, password, key = env.get(USER), env.get(PASSWORD), env.get(API_KEY)
    if key:
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise InputError(
                "this is not an API key", where=API_KEY, allowed="`encoded` as the server gave it"
            )
        return {"api_key": key}
    if user:
        password = password or _from_keyring(f"{user}@{target.name}")
        if not password:
            raise InputError(
                f"there is no password for {user!r}",
                where=USER,
                hint=f"set {PASSWORD}, or `keyring set {SERVICE} {user}@{target.name}`",
            )
        return {"basic_auth": (user, password)}
    if password:
        raise InputError(f"there is a password but no user: set {USER}", where=PASSWORD)
    key = _from_keyring(target.name)
    return {"api_key": key} if key else {}


def _from_keyring(name: str) -> str | None:
    """Return a secret from the keyring. None if it is not there, or if there is no keyring, as on
    most servers."""
    import keyring
    from keyring.errors import KeyringError

    try:
        found: str | None = keyring.get_password(SERVICE, name)
    except KeyringError:
        return None
    return found


def _in_the_clear(url: str) -> bool:
    """Whether requests to a server cross a network unencrypted."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not _is_here(parts.hostname or "")


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a loopback address, or `localhost`, which RFC 6761 reserves
    for it. Other names may lead elsewhere."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
