"""What the environment has to say: which variables are secrets, what child processes get, and what
clients of servers elsewhere take from it."""

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
"""Of http_proxy and its kind, also those of single tools (grpc_proxy, HYDRA_PROXY_HTTP)."""


def secrets() -> dict[str, str]:
    """Variables of this process that are secrets by their name, or as URLs with a password."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET_NAME.search(name) or URL_WITH_PASSWORD.search(value)
    }


def without_secrets() -> dict[str, str]:
    """The environment of a child process: /proc shows it as long as that runs, and no tool needs
    what sfcperf logs in with."""
    hidden = secrets()
    return {name: value for name, value in os.environ.items() if name not in hidden}


def of_tools() -> dict[str, str]:
    """The environment of a tool that crosses a chain, or asks for something on this machine: no
    secrets, and no proxy, which would take its packets elsewhere."""
    return {n: value for n, value in without_secrets().items() if not _PROXY_NAME.search(n)}


def forget_proxies() -> None:
    """This process uses no proxy from now on: gRPC would, even for a switch on this machine."""
    for name in filter(_PROXY_NAME.search, list(os.environ)):
        del os.environ[name]


def ignore_netrc(session: requests.Session) -> None:
    """For servers that may be elsewhere: proxies and certificates of the environment count, but the
    credentials are the ones that the user gave. Those of .netrc would replace them."""
    session.auth = lambda request: request


@contextmanager
def no_netrc() -> Iterator[None]:
    """As `ignore_netrc`, for clients whose session is not ours."""
    before = os.environ.get("NETRC")
    os.environ["NETRC"] = os.devnull
    try:
        yield
    finally:
        del os.environ["NETRC"]
        if before is not None:
            os.environ["NETRC"] = before
