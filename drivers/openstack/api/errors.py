"""Errors of calls to the cloud: its own message, and whether a retry may help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from time import time
from typing import Any

from sfcperf.errors import DeploymentError

TOO_EARLY, TOO_LARGE, TOO_MANY = 425, 413, 429
_BUSY = {408, TOO_EARLY, TOO_MANY, 500, 502, 503, 504}


class FailureKind(Enum):
    """Whether the same request may succeed later."""

    TRANSIENT = "transient"
    """No complete answer, or the cloud is overloaded; the request may have had its effect."""
    CONFLICT = "conflict"
    """409: something else must go or settle first."""
    UNAUTHORIZED = "unauthorized"
    """401 with a fresh token: the credentials are wrong, or keystone has a fault."""
    PERMANENT = "permanent"
    """The request itself is wrong, or not allowed."""


@dataclass(frozen=True)
class Failure:
    """What is known of one call that failed."""

    message: str
    """The cloud's own message, with the HTTP status."""
    kind: FailureKind
    status: int | None
    """HTTP status; None if there was no answer."""
    request_id: str | None
    """Id of the request. The cloud's operator finds it in the logs."""
    retry_after_s: float | None
    """The pause before the next try that the cloud asks for, seconds; None: it asks for none."""

    @property
    def hint(self) -> str | None:
        """What the user can do; None: nothing in particular."""
        message = self.message.lower()
        if "quota" in message or "overlimit" in message:
            return "free something in the project, or ask the cloud's operator for a larger quota"
        if "conflicts with flow classifier" in message:
            return (
                "another chain of the project takes packets of the same addresses, and "
                "networking-sfc allows one: wait for the other run, or give the endpoints other "
                "addresses, or use another project"
            )
        if self.status == 403:
            return "this needs the rights of an administrator, or a role that the cloud names"
        if self.kind is FailureKind.UNAUTHORIZED:
            return "check user, password and project of the cloud in clouds.yaml or OS_*"
        if self.kind is FailureKind.TRANSIENT:
            return "the cloud did not recover while sfcperf waited; try again later"
        return None


class CloudError(DeploymentError):
    """A call to the cloud that failed for good."""

    def __init__(self, what: str, failure: Failure) -> None:
        request = f", request {failure.request_id}" if failure.request_id else ""
        super().__init__(f"{what}: {failure.message}{request}", hint=failure.hint)
        self.failure = failure

    @property
    def status(self) -> int | None:
        """HTTP status; None if there was no answer."""
        return self.failure.status

    @property
    def is_transient(self) -> bool:
        """Whether the service gave no usable answer until the retries were over."""
        return self.failure.kind is FailureKind.TRANSIENT


@contextmanager
def cloud_errors(what: str) -> Iterator[None]:
    """Turn the failure of one call without retries into a CloudError that names `what`."""
    try:
        yield
    except call_errors() as error:
        raise CloudError(what, diagnose(error)) from error


def json_of(response: Any) -> Any:
    """Return the body of an answer to openstacksdk's adapter. Raises for a bad status, which the
    adapter by itself does not."""
    from openstack.exceptions import raise_from_response

    raise_from_response(response)
    return response.json()


def call_errors() -> tuple[type[Exception], ...]:
    """Exceptions of a call that failed, for `except`."""
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException
    from requests import RequestException

    return (SDKException, ClientException, RequestException)


def diagnose(error: Exception) -> Failure:
    """Say what an exception of `call_errors()` means."""
    status = _status(error)
    message = _message(error, status)
    retry_after_s = _retry_after_s(error)
    return Failure(
        message,
        _without_answer(error) if status is None else _kind(status, message, retry_after_s),
        status,
        getattr(error, "request_id", None),
        retry_after_s,
    )


def _status(error: Exception) -> int | None:
    """Return the HTTP status of the answer; None if there was none."""
    # openstacksdk has `status_code`, keystoneauth `http_status`. Only with a response do they tell
    # of an answer: keystoneauth's connection errors claim 500 or nothing.
    for name in ("status_code", "http_status"):
        status = getattr(error, name, None)
        if isinstance(status, int) and getattr(error, "response", None) is not None:
            return status
    return None


def _kind(status: int, message: str, retry_after_s: float | None) -> FailureKind:
    """Say whether a call with this status may succeed later. 413 counts as overload only if the
    cloud says how long to wait."""
    if status in _BUSY or (status == TOO_LARGE and retry_after_s is not None):
        return FailureKind.TRANSIENT
    if status == 401:
        return FailureKind.UNAUTHORIZED
    # Neutron answers 409 also when a quota is used up, or when a subnet has no address left.
    used_up = "quota" in message.lower() or "no more ip addresses" in message.lower()
    return FailureKind.CONFLICT if status == 409 and not used_up else FailureKind.PERMANENT


def _without_answer(error: Exception) -> FailureKind:
    """Say whether a call without an HTTP status may succeed later. Broken connections recover, and
    so do services that do not tell their version; a wrong configuration does not."""
    from keystoneauth1 import exceptions as keystone
    from openstack import exceptions as sdk
    from requests import RequestException

    transient = (
        keystone.ConnectionError,
        keystone.DiscoveryFailure,
        keystone.InvalidResponse,
        sdk.ServiceDiscoveryException,
        RequestException,
    )
    if isinstance(error, transient) and not isinstance(error, keystone.SSLError):
        return FailureKind.TRANSIENT
    return FailureKind.PERMANENT


def _message(error: Exception, status: int | None) -> str:
    """Return the cloud's own message as one line, with the HTTP status if there is one."""
    detail = getattr(error, "details", None) or getattr(error, "message", None) or str(error)
    text = " ".join(str(detail).split()) or type(error).__name__
    return text if status is None or f"HTTP {status}" in text else f"{text} (HTTP {status})"


def _retry_after_s(error: Exception) -> float | None:
    """Return the seconds from now for which the cloud's header Retry-After asks, which has seconds
    or a date (RFC 9110, 10.2.3); None: there is no such header, or it has neither."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    value = headers.get("Retry-After")
    if value is None:
        return None
    with suppress(ValueError):
        return max(0.0, float(value))
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    return None
