"""A client for a target, and what its errors mean to the user."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf import retry
from sfcperf.elasticsearch.answers import DeliveryFailed, reason
from sfcperf.elasticsearch.secrets import API_KEY, PASSWORD, USER, credentials
from sfcperf.elasticsearch.target import Target
from sfcperf.environment.gather import refuse_unmet
from sfcperf.environment.tools import python_packages
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.plugins import Requirement
from sfcperf.presentation.wording import printable

if TYPE_CHECKING:
    from elasticsearch import Elasticsearch

T = TypeVar("T")

REQUEST_TIMEOUT_S = (10.0, 60.0)
"""Shortest and longest timeout of a request. In between, it is the time for which the user lets us
retry."""
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
AWAY = frozenset({429, 502, 503, 504})
"""HTTP statuses of a server, or of a proxy before it, that may be able to answer in a moment."""


class ServerAway(DeliveryFailed):
    """The cluster does not answer now: what was to be sent is kept and sent later."""


def client_library() -> Requirement:
    """Return the requirement for the Python package of the client."""
    return python_packages(["elasticsearch"], "elasticsearch")


def connect(target: Target, retry_s: float) -> Elasticsearch:
    """Make a client; nothing is sent yet. `retry_s`: how long the user lets us retry, which decides
    the timeout of requests. Raises InputError for certificates that cannot be read, and
    EnvironmentLacks if the extra `elasticsearch` is not installed."""
    refuse_unmet([client_library()])
    from elasticsearch import Elasticsearch, ElasticsearchWarning

    from sfcperf.elasticsearch.bounds import BoundedJson, BoundedNode

    least_s, most_s = REQUEST_TIMEOUT_S
    # The library warns of a cluster without passwords at each request: its owner knows that.
    warnings.filterwarnings("ignore", category=ElasticsearchWarning)
    secure = all(url.startswith("https://") for url in target.urls)
    try:
        return Elasticsearch(
            list(target.urls),
            request_timeout=max(least_s, min(retry_s, most_s)),
            node_class=BoundedNode,
            serializer=BoundedJson(),
            # The library must not retry: after a lost answer, we first look up what the server has.
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
    """Return the client's arguments for the check of the server's certificate. Empty: the system's
    authorities decide."""
    if target.fingerprint:
        # The fingerprint identifies the certificate itself: who signed it does not matter.
        return {"ssl_assert_fingerprint": target.fingerprint}
    if target.insecure:
        return {"verify_certs": False, "ssl_show_warn": False}
    return {"ca_certs": target.ca} if target.ca else {}


@contextmanager
def explaining(target: Target) -> Iterator[None]:
    """Turn errors of the client library into ours.

    Raises ServerAway for faults that may pass, DeliveryFailed for other faults of the server,
    EnvironmentLacks for what it refuses.
    """
    from elastic_transport import SerializationError, TlsError
    from elasticsearch import ApiError, TransportError, UnsupportedProductError

    try:
        yield
    except DeliveryFailed as error:
        error.where = error.where or target.name
        raise
    except UnsupportedProductError as error:
        raise EnvironmentLacks("this server is not Elasticsearch", where=target.name) from error
    except ApiError as error:
        raise of_status(error.status_code, reason(error.body), target) from error
    except TlsError as error:
        raise EnvironmentLacks(
            f"the server's certificate is not trusted: {_text(error)}",
            where=target.name,
            hint="name the authority's certificate with --ca, or --fingerprint",
        ) from error
    except SerializationError as error:
        raise DeliveryFailed("the server's answer cannot be read", where=target.name) from error
    except TransportError as error:
        if isinstance(error.__cause__, DeliveryFailed):
            error.__cause__.where = target.name
            raise error.__cause__ from error
        raise ServerAway(
            f"the server does not answer: {_text(error)}", where=target.name
        ) from error


def with_retries(target: Target, retry_s: float, step: Callable[[], T]) -> T:
    """Call `step` and return its result. While the server is away, call it again, for `retry_s`
    seconds.

    `step` must be repeatable. Raises ServerAway, DeliveryFailed, EnvironmentLacks.
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


def of_status(status: int, explanation: str, target: Target) -> EnvironmentLacks:
    """Return the error for the HTTP status of an answer, or of one document in it. `explanation`:
    the server's words, printable."""
    text = f"{status}, {explanation}"
    if status in AWAY:
        return ServerAway(f"the server is unavailable for now: {text}", where=target.name)
    if status >= 500:
        return DeliveryFailed(f"the server fails: {text}", where=target.name)
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
    """Return the first line of an error. It begins with the connection, whose description ends with
    `): `: that is left out. The other lines are causes that only repeat it."""
    return printable(str(getattr(error, "message", error)).partition("\n")[0].rpartition("): ")[2])
