"""Ask a cloud once: what is sampled with a period has no time for patience."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sfcperf.drivers.openstack.failures import CloudError, diagnose, kinds

T = TypeVar("T")


def ask(what: str, action: Callable[[], T]) -> T:
    """Raises CloudError, which names `what`."""
    try:
        return action()
    except kinds() as error:
        raise CloudError(what, diagnose(error)) from error
