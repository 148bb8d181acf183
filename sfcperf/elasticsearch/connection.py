"""A client for a target, and what its errors mean to the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf import retry
from sfcperf.elasticsearch.secrets import API_KEY, PASSWORD, USER, credentials
from sfcperf.elasticsearch.target import Target
from sfcperf.errors import EnvironmentLacks, InputError

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")

REQUEST_TIMEOUT_S = 60.0
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
AWAY = frozenset({429, 502, 503, 504})
"""Statuses of a server, or of a proxy before it, that may be well again in a moment."""


class ServerAway(EnvironmentLacks):
    """The cluster does not answer now: what was to be sent waits."""


def connect(target: Target) -> Elasticsearch:
    """A client; nothing is sent yet. Raises InputError for certificates that cannot be read."""
    from elasticsearch import Elasticsearch, ElasticsearchWarning

    # That a cluster has no passwords is its owner's to know, and not in every message of ours.
    warnings.filterwarnings("ignore", category=ElasticsearchWarning)
    secure = all(url.startswith("https://") for url in target.urls)
    try:
        return Elasticsearch(
            list(target.urls),
            request_timeout=REQUEST_TIMEOUT_S,
            # We retry ourselves: what a lost answer leaves open must be looked up first.
            max_retries=0,
            retry_on_timeout=False,
            **(_tls(target) if secure else {}),
            **credentials(target),
        )
    except (ValueError, OSError) as error:
        raise InputError(
            f"no connection can be made with these settings: {error}", where=target.name
        ) from error


def _tls(target: Target) -> dict[str, Any]:
    if target.fingerprint:
        # The certificate itself is known: who signed it does not matter.
        return {"ssl_assert_fingerprint": target.fingerprint}
    if target.insecure:
        return {"verify_certs": False, "ssl_show_warn": False}
    return {"ca_certs": target.ca} if target.ca else {}


@contextmanager
def explaining(target: Target) -> Iterator[None]:
    """Errors of the client become ours.

    Raises ServerAway for what may pass, EnvironmentLacks for the rest.
    """
    from elastic_transport import TlsError
    from elasticsearch import ApiError, TransportError, UnsupportedProductError
    from elasticsearch.helpers import BulkIndexError, ScanError

    try:
        yield
    except (BulkIndexError, ScanError) as error:
        raise EnvironmentLacks(f"the server refuses: {_text(error)}", where=target.name) from error
    except UnsupportedProductError as error:
        raise EnvironmentLacks("this server is not Elasticsearch", where=target.name) from error
    except ApiError as error:
        raise _of_status(error.status_code, str(error), target) from error
    except TlsError as error:
        raise EnvironmentLacks(
            f"the server's certificate is not trusted: {_text(error)}",
            where=target.name,
            hint="name the authority's certificate with --ca, or --fingerprint",
        ) from error
    except TransportError as error:
        raise ServerAway(
            f"the server does not answer: {_text(error)}", where=target.name
        ) from error


def with_retries(target: Target, retry_s: float, step: Callable[[], T]) -> T:
    """What `step` gives, tried again for `retry_s` while the server is away.

    `step` must bear being repeated. Raises ServerAway, EnvironmentLacks.
    """

    def explained() -> T:
        with explaining(target):
            return step()

    return retry.call(
        explained,
        lambda error: isinstance(error, ServerAway),
        timeout_s=retry_s,
        first_s=_FIRST_PAUSE_S,
        longest_s=_LONGEST_PAUSE_S,
    )


def _of_status(status: int, text: str, target: Target) -> EnvironmentLacks:
    if status in AWAY:
        return ServerAway(f"the server is unavailable for now: {text}", where=target.name)
    if status == 401:
        return EnvironmentLacks(
            "the server requires credentials, or does not accept those given",
            where=target.name,
            hint=f"set {API_KEY}, or {USER} and {PASSWORD}",
        )
    if status == 403:
        return EnvironmentLacks(
            f"the server does not allow this: {text}",
            where=target.name,
            hint="docs/how-to/elasticsearch.md lists the privileges that are needed",
        )
    return EnvironmentLacks(f"the server refuses: {text}", where=target.name)


def _text(error: Exception) -> str:
    """First line of what went wrong, without the name of the connection's class before it; the
    causes that the client collects say it again."""
    return str(getattr(error, "message", error)).splitlines()[0].rpartition("): ")[2]
