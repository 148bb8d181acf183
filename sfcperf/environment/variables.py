"""Environment variables: which are secrets, which ones child processes get, and what clients of
other servers take from them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sfcperf.workflow.profile import URL_WITH_PASSWORD

if TYPE_CHECKING:
    import requests

_SECRET_NAME = re.compile(
    r"PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|CREDENTIAL|_PWD$", re.IGNORECASE
)
_PROXY_NAME = re.compile(r"(^|_)PROXY(_|$)", re.IGNORECASE)
"""Name of http_proxy and its kind, also of variables of single tools (grpc_proxy,
HYDRA_PROXY_HTTP)."""


def secrets() -> dict[str, str]:
    """Variables of this process that are secrets: by their name, or because they are URLs with a
    password."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) or URL_WITH_PASSWORD.search(value)
    }


def without_secrets() -> dict[str, str]:
    """The environment for a child process, without secrets. /proc shows it for as long as the
    process runs, and no tool needs what sfcperf logs in with."""
    hidden = secrets()
    return {name: value for name, value in os.environ.items() if name not in hidden}


def of_tools() -> dict[str, str]:
    """The environment for a tool that sends packets through a chain, or asks for something on this
    machine. It has no secrets, and no proxy, which would take the packets elsewhere."""
    return {n: value for n, value in without_secrets().items() if not _PROXY_NAME.search(n)}


def forget_proxies() -> None:
    """Remove all proxies from this process's environment. gRPC would use one even for a switch on
    this machine."""
    for name in filter(_PROXY_NAME.search, list(os.environ)):
        del os.environ[name]


def ignore_netrc(session: requests.Session) -> None:
    """Keep a session from using .netrc, whose credentials would replace those that the user gave.
    It is for servers that may be elsewhere: proxies and certificates of the environment still
    count."""
    session.auth = lambda request: request


@contextmanager
def no_netrc() -> Iterator[None]:
    """Keep clients inside the block from using .netrc, as `ignore_netrc` does, where their session
    is not ours."""
    before = os.environ.get("NETRC")
    os.environ["NETRC"] = os.devnull
    try:
        yield
    finally:
        del os.environ["NETRC"]
        if before is not None:
            os.environ["NETRC"] = before
