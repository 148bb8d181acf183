"""What went wrong in a call of the cloud: its own words, and whether asking again may help."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum
from time import time
from typing import Any

from sfcperf.errors import DeploymentError

TOO_EARLY, TOO_LARGE, TOO_MANY = 425, 413, 429
_BUSY = {408, TOO_EARLY, TOO_MANY, 500, 502, 503, 504}


class Verdict(Enum):
    """Whether the same request may do better later."""

    AGAIN = "again"
    """No whole answer, or one of a cloud that is overloaded; what was asked may have happened."""
    IN_USE = "in use"
    """409: something else must go or settle first."""
    REFUSED = "refused"
    """401, with a fresh token: credentials are wrong, or what checks them is unwell."""
    NEVER = "never"
    """The request itself is wrong, or not allowed."""


@dataclass(frozen=True)
class Failure:
    """One call that failed."""

    words: str
    """The cloud's own, with HTTP status."""
    verdict: Verdict
    status: int | None
    """HTTP status; None: there was no answer."""
    request_id: str | None
    """By which the cloud's operator finds it in the logs."""
    retry_after_s: float | None
    """How long the cloud asks to be left alone."""

    @property
    def hint(self) -> str | None:
        """What a person can do."""
        words = self.words.lower()
        if "quota" in words or "overlimit" in words:
            return "free something in the project, or ask the cloud's operator for a larger quota"
        if "conflicts with flow classifier" in words:
            return (
                "another chain of the project takes packets of the same addresses, and "
                "networking-sfc allows one: wait for the other run, or give the endpoints other "
                "addresses, or use another project"
            )
        if self.status == 403:
            return "this needs the rights of an administrator, or a role that the cloud names"
        if self.verdict is Verdict.REFUSED:
            return "check user, password and project of the cloud in clouds.yaml or OS_*"
        if self.verdict is Verdict.AGAIN:
            return "the cloud did not recover while sfcperf waited: try again when it is well"
        return None


class CloudError(DeploymentError):
    """A call of the cloud that failed for good."""

    def __init__(self, what: str, failure: Failure) -> None:
        request = f", request {failure.request_id}" if failure.request_id else ""
        super().__init__(f"{what}: {failure.words}{request}", hint=failure.hint)
        self.failure = failure

    @property
    def status(self) -> int | None:
        """HTTP status; None: there was no answer."""
        return self.failure.status


def kinds() -> tuple[type[Exception], ...]:
    """Exceptions that are failures of a call, for `except`."""
    from keystoneauth1.exceptions import ClientException
    from openstack.exceptions import SDKException
    from requests import RequestException

    return (SDKException, ClientException, RequestException)


def diagnose(error: Exception) -> Failure:
    """What an exception of `kinds()` says."""
    status = _status(error)
    words = _words(error, status)
    return Failure(
        words,
        _verdict(error, status, words),
        status,
        getattr(error, "request_id", None),
        _retry_after(error),
    )


def _status(error: Exception) -> int | None:
    # `status_code` is openstacksdk's word, `http_status` keystoneauth's, whose connection errors
    # claim 500 or nothing.
    for name in ("status_code", "http_status"):
        status = getattr(error, name, None)
        if isinstance(status, int) and getattr(error, "response", None) is not None:
            return status
    return None


def _verdict(error: Exception, status: int | None, words: str) -> Verdict:
    if status is None:
        return _without_answer(error)
    if status in _BUSY or (status == TOO_LARGE and _retry_after(error) is not None):
        return Verdict.AGAIN
    if status == 401:
        return Verdict.REFUSED
    if status == 409 and not _is_quota(words):
        return Verdict.IN_USE
    return Verdict.NEVER


def _is_quota(words: str) -> bool:
    """Neutron answers 409 to what goes beyond a quota, or when a subnet has no address left."""
    lower = words.lower()
    return "quota" in lower or "no more ip addresses" in lower


def _without_answer(error: Exception) -> Verdict:
    """Broken connections heal; so does a service that does not tell its version. What the
    configuration says does not."""
    from keystoneauth1 import exceptions as keystone
    from openstack import exceptions as sdk
    from requests import RequestException

    heal = (
        keystone.ConnectionError,
        keystone.DiscoveryFailure,
        keystone.InvalidResponse,
        sdk.ServiceDiscoveryException,
        RequestException,
    )
    if isinstance(error, keystone.SSLError | sdk.ConfigException):
        return Verdict.NEVER
    return Verdict.AGAIN if isinstance(error, heal) else Verdict.NEVER


def _words(error: Exception, status: int | None) -> str:
    told = getattr(error, "details", None) or getattr(error, "message", None) or str(error)
    text = " ".join(str(told).split()) or type(error).__name__
    return (
        f"{text} (HTTP {status})" if status is not None and f"HTTP {status}" not in text else text
    )


def _retry_after(error: Exception) -> float | None:
    """Seconds from now, of a header that has seconds or a date (RFC 9110, 10.2.3)."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    value = headers.get("Retry-After")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None
