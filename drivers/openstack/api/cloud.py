"""Cloud: openstacksdk with patience, so that an API that falters loses and doubles nothing.

keystoneauth gets a new token after 401 by itself. Its `connect_retries` and `status_code_retries`
stay off: they send a POST again without looking whether the first one was heard.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock, local
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf.drivers.openstack.api.errors import CloudError, Failure, Verdict, diagnose, kinds
from sfcperf.drivers.openstack.api.retry import PATIENCE_S, Turns
from sfcperf.errors import DeploymentError, EnvironmentLacks
from sfcperf.hosts.abandon import pause

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")

ANSWER_TIMEOUT_S = 60.0
"""Longest silence of a service in the middle of a request; openstacksdk has no limit of its own."""
AT_ONCE = 8
"""Requests under way, whatever number of threads wait for something: more queue up in the cloud."""
FIRST_LOOK_S, LAST_LOOK_S = 0.4, 3.0
"""Pauses between looks of `wait`, growing."""

HOW_TO_CONFIGURE = (
    "describe the cloud in ~/.config/openstack/clouds.yaml (auth_url, username, password, "
    "project_name, user_domain_name, project_domain_name, region_name) and name it by OS_CLOUD "
    "or `--set infrastructure.config.cloud=NAME`; the dashboard of most clouds offers the file"
)


class Cloud:
    """One connection for a run. Threads may share it.

    Errors of the cloud become CloudError, a DeploymentError (or EnvironmentLacks for what is
    missing there, such as credentials), in the cloud's own words, with the call that failed.
    """

    def __init__(
        self,
        name: str | None,
        log: Callable[[str], None],
        *,
        region: str | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Name in clouds.yaml; None: OS_CLOUD, or the environment's OS_* variables. `region` where
        it must be that one, else as configured. Connects at the first use. `patience_s` is for
        each call, from its first failure."""
        self.name = name
        self.region = region
        self.log = log
        self.patience_s = patience_s
        self.doubtful = False
        """Whether the answer to a request that makes something was lost: it may come into being
        late."""
        self._connection: Connection | None = None
        self._lock = Lock()
        self._slots = BoundedSemaphore(AT_ONCE)
        self._thread = local()

    @property
    def connection(self) -> Connection:
        """Authenticated. Raises EnvironmentLacks without credentials, or with wrong ones."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def close(self) -> None:
        """End its connections: each holds a worker of a service until then. The next use makes new
        ones."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            session: Any = connection.session
            session.session.close()

    def call(self, what: str, action: Callable[[], T]) -> T:
        """Do what can be done twice without harm (reading, updating to a value, deleting), again
        when the cloud did not answer, was busy (429, 5xx), or had it still in use (409).

        `what` says it in words: `deleting port sfcperf-abc123-01-fwd-in`. A list must be read
        to its end inside `action`. Raises CloudError.
        """
        turns = Turns(self.patience_s)
        while True:
            try:
                with self._slot():
                    return action()
            except kinds() as error:
                failure = diagnose(error)
                with self._slot_given_back():
                    self._rest(what, failure, turns, error)

    def ensure(self, what: str, find: Callable[[], T | None], make: Callable[[], T]) -> T:
        """Make what is not there yet. When the answer to `make` is lost, `find` tells whether it
        was made; of doubles, the surplus is removed by `things.ensure`, which goes by name."""
        turns = Turns(self.patience_s)
        while True:
            found = self.call(f"{what}: looking whether it is there", find)
            if found is not None:
                return found
            try:
                with self._slot():
                    return make()
            except kinds() as error:
                failure = diagnose(error)
                self.doubtful |= failure.verdict is Verdict.AGAIN
                if failure.verdict is Verdict.NEVER:
                    # An earlier try may have been heard after all, and be what is in the way.
                    found = self.call(what, find) if turns.failures else None
                    if found is not None:
                        return found
                self._rest(what, failure, turns, error)
            except BaseException:
                # Interrupted: it may have been heard.
                self.doubtful = True
                raise

    def wait(self, what: str, look: Callable[[], T | None], timeout_s: float) -> T:
        """Look until there is something. Raises DeploymentError when time is over."""
        end = time.monotonic() + timeout_s
        between_s = FIRST_LOOK_S
        while True:
            found = self.call(what, look)
            if found is not None:
                return found
            if time.monotonic() >= end:
                raise DeploymentError(f"{what}: not within {timeout_s:g} s")
            pause(between_s)
            between_s = min(between_s * 1.3, LAST_LOOK_S)

    def offers(self, service: str) -> bool:
        """Whether the catalogue has an endpoint of this service type, e.g. `orchestration`."""
        connection = self.connection

        def look() -> bool:
            return connection.config.get_session_endpoint(service) is not None

        return self.call(f"looking for a service of type {service}", look)

    @property
    def detail(self) -> dict[str, str | None]:
        """`detail` of every resource in the journal: what finds this cloud and project again, even
        where OS_CLOUD names another one by then."""
        connection = self.connection
        name: str | None = connection.config.name
        return {
            "cloud": None if name in (None, "", "defaults", "envvars") else name,
            "project": connection.current_project_id,
            "region": connection.config.get_region_name() or None,
        }

    def facts(self) -> dict[str, Any]:
        """For the manifest of a run: no secrets, and nothing that only an administrator may see."""
        connection = self.connection

        def compute() -> str | None:
            data = connection.compute.get_endpoint_data()
            newest = data.max_microversion if data is not None else None
            return None if newest is None else ".".join(map(str, newest))

        def neutron() -> list[str]:
            return sorted(each.alias for each in connection.network.extensions())

        return {
            "cloud": self.detail["cloud"],
            "region": connection.config.get_region_name(),
            "project": connection.current_project_id,
            "compute_api": self.call("asking nova for its version", compute),
            "network_extensions": self.call("listing neutron's extensions", neutron),
        }

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Held while a request is under way; the one that connects comes within another's."""
        if getattr(self._thread, "has_slot", False):
            yield
            return
        with self._slots:
            self._thread.has_slot = True
            try:
                yield
            finally:
                self._thread.has_slot = False

    @contextmanager
    def _slot_given_back(self) -> Iterator[None]:
        """A call within another's `action` rests: others may ask meanwhile."""
        if not getattr(self._thread, "has_slot", False):
            yield
            return
        self._thread.has_slot = False
        self._slots.release()
        try:
            yield
        finally:
            self._slots.acquire()
            self._thread.has_slot = True

    def _rest(self, what: str, failure: Failure, turns: Turns, error: Exception) -> None:
        """Pause before the next try, or raise."""
        pause_s = turns.pause_s(failure)
        if pause_s is None:
            raise CloudError(what, failure) from error
        self.log(f"openstack: {what}: {failure.words}; again in {pause_s:.1f} s")
        pause(pause_s)

    def _connect(self) -> Connection:
        import openstack
        from keystoneauth1.exceptions import AuthPluginException
        from openstack.exceptions import ConfigException

        # They repeat on the terminal what is said by us.
        for logger in ("keystoneauth", "openstack", "urllib3"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        place: dict[str, Any] = {} if self.region is None else {"region_name": self.region}
        try:
            connection = openstack.connect(
                cloud=self.name,
                **place,
                api_timeout=ANSWER_TIMEOUT_S,
                connect_retries=0,
                status_code_retries=0,
            )
            session: Any = connection.session
            session.session.hooks["response"].append(_refuse_torn)
            self._authenticate(session.get_auth_headers)
        except (ConfigException, AuthPluginException) as error:
            raise EnvironmentLacks(
                f"no OpenStack cloud is configured: {error}", hint=HOW_TO_CONFIGURE
            ) from error
        except CloudError as error:
            raise EnvironmentLacks(error.message, hint=error.hint or HOW_TO_CONFIGURE) from error
        return connection

    def _authenticate(self, action: Callable[[], object]) -> None:
        """Patiently, as `call`, but a slot is neither taken nor given back: those who have one may
        be waiting for this."""
        turns = Turns(self.patience_s)
        while True:
            try:
                action()
                return
            except kinds() as error:
                self._rest("authenticating", diagnose(error), turns, error)


def _refuse_torn(response: Any, *_: Any, **__: Any) -> None:
    """openstacksdk takes an answer that is no JSON for an empty one: a thing without an id."""
    from requests.exceptions import ContentDecodingError

    if response.status_code >= 300 or "json" not in response.headers.get("content-type", ""):
        return
    if response.content.strip():
        try:
            response.json()
        except ValueError as error:
            raise ContentDecodingError(
                f"an answer that is cut off, or no JSON: {response.text[:60]!r}", response=None
            ) from error
