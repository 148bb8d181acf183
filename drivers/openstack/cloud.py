"""Cloud: openstacksdk with patience, so that an API that falters loses and doubles nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")


class Cloud:
    """One connection for a run. Threads may share it.

    Errors of the cloud become DeploymentError (or EnvironmentLacks for what is missing there, such
    as credentials), in the cloud's own words, with the call that failed.
    """

    def __init__(self, name: str | None, log: Callable[[str], None]) -> None:
        """Name in clouds.yaml; None: OS_CLOUD, or the environment's OS_* variables. Connects at
        the first use."""
        self.name = name
        self.log = log

    @property
    def connection(self) -> Connection:
        """Authenticated."""
        raise NotImplementedError

    def call(self, what: str, action: Callable[[], T]) -> T:
        """Do what can be done twice without harm (reading, updating to a value, deleting), again
        when the cloud did not answer, was busy (429, 5xx), or the token had expired."""
        raise NotImplementedError

    def ensure(self, what: str, find: Callable[[], T | None], make: Callable[[], T]) -> T:
        """Make what is not there yet. When the answer to `make` is lost, `find` tells whether it
        was made; of doubles, the surplus is for `demolition`, which goes by name."""
        raise NotImplementedError

    def wait(self, what: str, look: Callable[[], T | None], timeout_s: float) -> T:
        """Look until there is something. Raises DeploymentError when time is over."""
        raise NotImplementedError
