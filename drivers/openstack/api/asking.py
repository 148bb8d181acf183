"""Ask a cloud once: what is sampled with a period has no time for patience."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sfcperf.drivers.openstack.api.errors import CloudError, diagnose, kinds

T = TypeVar("T")


def ask(what: str, action: Callable[[], T]) -> T:
    """Raises CloudError, which names `what`."""
    try:
        return action()
    except kinds() as error:
        raise CloudError(what, diagnose(error)) from error


def content(response: Any) -> Any:
    """What openstacksdk's adapter brought as JSON: it raises nothing by itself."""
    from openstack.exceptions import raise_from_response

    raise_from_response(response)
    return response.json()
