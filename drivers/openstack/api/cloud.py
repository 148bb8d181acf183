"""Cloud: openstacksdk with retries that lose nothing and make nothing twice.

keystoneauth gets a new token after 401 by itself. Its `connect_retries` and `status_code_retries`
stay off: they send a POST again without looking whether the first one had its effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock, local
from typing import TYPE_CHECKING, Any, TypeVar

from sfcperf import waiting
from sfcperf.drivers.openstack.api import config_files
from sfcperf.drivers.openstack.api.errors import CloudError, FailureKind, call_errors, diagnose
from sfcperf.drivers.openstack.api.retry import DEFAULT, RetryPolicy
from sfcperf.environment.gather import refuse_unmet
from sfcperf.environment.tools import python_packages
from sfcperf.environment.variables import ignore_netrc
from sfcperf.errors import EnvironmentLacks

if TYPE_CHECKING:
    from openstack.connection import Connection

T = TypeVar("T")

ANSWER_TIMEOUT_S = 60.0
"""Longest silence of a service in the middle of a request; openstacksdk has no limit of its own."""
AT_ONCE = 8
"""Requests at the same time, however many threads wait: more would queue up in the cloud."""

HOW_TO_CONFIGURE = (
    "describe the cloud in ~/.config/openstack/clouds.yaml (auth_url, username, password, "
    "project_name, user_domain_name, project_domain_name, region_name) and name it in OS_CLOUD "
    "or `--set infrastructure.config.cloud=NAME`; the dashboard of most clouds offers the file"
)


class Cloud:
    """One connection of a run to a cloud. Threads may share it.

    Errors of the cloud become CloudError, a DeploymentError, with the cloud's own message and the
    call that failed; EnvironmentLacks for what is missing, such as credentials.
    """

    def __init__(
        self,
        name: str | None,
        log: Callable[[str], None] = lambda text: None,
        *,
        region: str | None = None,
        retry: RetryPolicy = DEFAULT,
    ) -> None:
        """`name` in clouds.yaml; None: OS_CLOUD, or the environment's OS_* variables. `region`
        overrides the configured one. Connects at the first use."""
        self.name = name
        self.region = region
        self.log = log
        self.retry = retry
        self.lost_answer = False
        """Whether the answer to a request that creates something was lost: the resource may appear
        later."""
        self._connection: Connection | None = None
        self._lock = Lock()
        self._slots = BoundedSemaphore(AT_ONCE)
        self._thread = local()

    @property
    def connection(self) -> Connection:
        """The authenticated connection, made at the first use. Raises EnvironmentLacks if
        credentials are missing or wrong."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def close(self) -> None:
        """End its connections, each of which holds a worker of a service. The next use makes new
        ones."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            session: Any = connection.session
            session.session.close()

    def call(self, what: str, action: Callable[[], T]) -> T:
        """Return what `action` returns. It is called again if the cloud did not answer, was busy
        (429, 5xx), or had a resource still in use (409), so it must be harmless when done twice
        (read, update to a value, delete).

        `what` names it in messages: `deleting port sfcperf-abc123-01-fwd-in`. `action` must read a
        list to its end. Raises CloudError.
        """

        def attempt() -> T:
            with self._slot():
                return action()

        return self.retry.retrying(what, self.log, self._pause)(attempt)

    def ensure(
        self,
        what: str,
        find: Callable[[], T | None],
        make: Callable[[], T],
        remove_duplicates: Callable[[T], None] | None = None,
    ) -> T:
        """Return what `find` finds, or else (it returns None) what `make` makes. If the answer to
        `make` is lost, `find` tells whether it had its effect. `remove_duplicates` is called with
        the resource to keep if `make` was called more than once: both calls may have had an effect.
        Raises CloudError."""
        requests = 0

        def attempt() -> T:
            nonlocal requests
            found = self.call(f"{what}: looking whether it is there", find)
            if found is not None:
                return found
            requests += 1
            try:
                with self._slot():
                    return make()
            except call_errors() as error:
                kind = diagnose(error).kind
                self.lost_answer |= kind is FailureKind.TRANSIENT
                if kind is FailureKind.PERMANENT and requests > 1:
                    # An earlier request may have had its effect after all, and cause the conflict.
                    found = self.call(what, find)
                    if found is not None:
                        return found
                raise
            except BaseException:
                # Interrupted: the request may have had its effect.
                self.lost_answer = True
                raise

        made = self.retry.retrying(what, self.log, self._pause)(attempt)
        if requests > 1 and remove_duplicates is not None:
            remove_duplicates(made)
        return made

    def wait(self, what: str, look: Callable[[], T | None], timeout_s: float) -> T:
        """Call `look` until it returns something other than None, and return that. Raises
        DeploymentError at the timeout."""
        found = self.retry.polling(what, timeout_s)(lambda: self.call(what, look))
        assert found is not None
        return found

    def offers(self, service: str) -> bool:
        """Whether the catalogue has an endpoint of this service type, e.g. `network`."""
        config = self.connection.config
        return self.call(
            f"looking for a service of type {service}",
            lambda: config.get_session_endpoint(service) is not None,
        )

    def network_extensions(self) -> set[str]:
        """Return the aliases of neutron's extensions, such as `sfc`."""
        network = self.connection.network
        return self.call(
            "listing neutron's extensions", lambda: {each.alias for each in network.extensions()}
        )

    def list_own(self, listing: str) -> list[Any]:
        """List what the project has of one kind in neutron. `listing` names openstacksdk's call:
        `sfc_port_pairs`."""
        connection = self.connection
        return self.call(
            f"listing {listing.replace('_', ' ')}",
            lambda: list(
                getattr(connection.network, listing)(project_id=connection.current_project_id)
            ),
        )

    @property
    def detail(self) -> dict[str, str | None]:
        """The `detail` of every journal entry. By it this cloud and project are found again, even
        if OS_CLOUD names another one by then. `cloud` is None if the environment's variables
        describe it."""
        connection = self.connection
        name: str | None = connection.config.name
        return {
            "cloud": None if name in (None, "", "defaults", "envvars") else name,
            "project": connection.current_project_id,
            "region": connection.config.get_region_name() or None,
        }

    def facts(self) -> dict[str, Any]:
        """Return facts for the run's manifest: no secrets, and nothing that only an administrator
        may see."""
        connection = self.connection

        def compute() -> str | None:
            data = connection.compute.get_endpoint_data()
            newest = data.max_microversion if data is not None else None
            return None if newest is None else ".".join(map(str, newest))

        return {
            "cloud": self.detail["cloud"],
            "region": connection.config.get_region_name(),
            "project": connection.current_project_id,
            "compute_api": self.call("asking nova for its version", compute),
            "network_extensions": sorted(self.network_extensions()),
        }

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Hold one of the AT_ONCE slots during a request. A request within another one of the same
        thread shares its slot."""
        if getattr(self._thread, "has_slot", False):
            yield
            return
        with self._slots:
            self._thread.has_slot = True
            try:
                yield
            finally:
                self._thread.has_slot = False

    def _pause(self, seconds: float) -> None:
        """Wait before a retry. If the thread holds a slot, because this call is within the `action`
        of another one, it gives the slot back meanwhile."""
        if not getattr(self._thread, "has_slot", False):
            waiting.sleep(seconds)
            return
        self._thread.has_slot = False
        self._slots.release()
        try:
            waiting.sleep(seconds)
        finally:
            self._slots.acquire()
            self._thread.has_slot = True

    def _connect(self) -> Connection:
        """Make a connection by clouds.yaml or the environment, and authenticate. Raises
        EnvironmentLacks."""
        refuse_unmet([python_packages(["openstack", "tackerclient"], "openstack")])
        import openstack
        from keystoneauth1.exceptions import AuthPluginException
        from openstack.exceptions import ConfigException

        # These loggers would repeat on the terminal what the messages of sfcperf say.
        for logger in ("keystoneauth", "openstack", "urllib3"):
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        place: dict[str, Any] = {} if self.region is None else {"region_name": self.region}
        config_files.check_readable()
        try:
            with config_files.structure_errors(self.name):
                connection = openstack.connect(
                    cloud=self.name,
                    **place,
                    api_timeout=ANSWER_TIMEOUT_S,
                    connect_retries=0,
                    status_code_retries=0,
                )
            config_files.check_certificates(connection.config)
            session: Any = connection.session
            session.session.hooks["response"].append(_refuse_torn)
            ignore_netrc(session.session)
            # Threads that hold slots may be waiting for the connection. So this neither takes a
            # slot, nor gives one back while it waits.
            self.retry.retrying("authenticating", self.log, waiting.sleep)(session.get_auth_headers)
        except (ConfigException, AuthPluginException) as error:
            raise EnvironmentLacks(
                f"no OpenStack cloud is configured: {error}{config_files.absent()}",
                hint=HOW_TO_CONFIGURE,
            ) from error
        except CloudError as error:
            raise EnvironmentLacks(error.message, hint=error.hint or HOW_TO_CONFIGURE) from error
        return connection


def _refuse_torn(response: Any, *_: Any, **__: Any) -> None:
    """Raise an error for an answer whose JSON is incomplete. openstacksdk would take it for an
    empty answer: a resource without an id."""
    from requests.exceptions import ContentDecodingError

    if response.status_code >= 300 or "json" not in response.headers.get("content-type", ""):
        return
    if response.content.strip():
        try:
            response.json()
        except ValueError as error:
            raise ContentDecodingError(
                f"an answer that is incomplete, or not JSON: {response.text[:60]!r}", response=None
            ) from error
