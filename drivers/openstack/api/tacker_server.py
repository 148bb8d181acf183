"""A Tacker server: its client, errors, and which APIs it offers.

python-tackerclient 1.14 has both generations of calls: the legacy ones (VNFD, VNF, VNFFG), which
servers have up to release 10 (2023.2), and ETSI's `vnfpkgm` and `vnflcm`; see
docs/decisions/0011-tackerclient-1.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sfcperf.errors import EnvironmentLacks

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud

T = TypeVar("T")

SERVICE = "nfv-orchestration"
"""Tacker's service type in the catalogue."""

TackerApi = Literal["legacy", "etsi"]


@dataclass(frozen=True)
class TackerVersions:
    """The APIs of a server."""

    vnffg: bool
    """Whether it has the legacy API, with VNF forwarding graphs."""
    vnflcm: tuple[str, ...]
    """Versions of ETSI's life-cycle API (SOL003), e.g. `1.3.0`, `2.0.0`."""

    @property
    def best(self) -> TackerApi | None:
        """The better API that sfcperf can use; None: neither can be used."""
        if self.vnffg:
            return "legacy"
        return "etsi" if any(version.startswith("2.") for version in self.vnflcm) else None

    def __str__(self) -> str:
        graphs = "VNF forwarding graphs" if self.vnffg else "no VNF forwarding graphs"
        return f"{graphs}, vnflcm {', '.join(self.vnflcm) or 'not at all'}"


class TackerServer:
    """The Tacker of a cloud. Threads may share it."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def call(self, what: str, action: Callable[[Any], T]) -> T:
        """Call `action` with a client of Tacker, with the retries of `Cloud.call`, so that it must
        be harmless when done twice. Raises CloudError."""
        return self.cloud.call(what, lambda: self.once(action))

    def once(self, action: Callable[[Any], T]) -> T:
        """Call `action` with a client, without retries: for `Cloud.ensure`, `Cloud.wait` and
        `ResourceType`, around which there are retries already."""
        with _translated_errors():
            return action(self._client())

    def versions(self) -> TackerVersions:
        """Ask the server for its APIs. Raises EnvironmentLacks if the cloud has no Tacker."""
        if not self.cloud.offers(SERVICE):
            raise EnvironmentLacks(
                f"the cloud has no Tacker: no endpoint of type {SERVICE} in its catalogue",
                hint="use the life cycle nova, or another cloud",
            )

        def ask() -> TackerVersions:
            vnffg = self._or_absent(lambda client: client.list_vnffgs(fields="id")) is not None
            vnflcm = self._or_absent(lambda client: client.show_vnf_lcm_versions(None)) or {}
            versions = {each["version"] for each in vnflcm.get("apiVersions", [])}
            return TackerVersions(vnffg, tuple(sorted(versions)))

        return self.cloud.call("asking Tacker for its versions", ask)

    def _or_absent(self, action: Callable[[Any], T]) -> T | None:
        """Return the answer, or None if the server does not know the path of the request."""
        from openstack.exceptions import NotFoundException

        try:
            return self.once(action)
        except NotFoundException:
            return None

    def _client(self) -> Any:
        """Make a client for one call, because it keeps a request's state; all clients share the
        session."""
        from tackerclient.v1_0.client import Client

        connection = self.cloud.connection
        config = connection.config
        return Client(
            session=connection.session,
            service_type=SERVICE,
            endpoint_type=config.get_interface(SERVICE) or "public",
            region_name=config.get_region_name(SERVICE),
            api_version="2",
        )


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn Tacker's errors into openstacksdk's, which `Cloud` handles."""
    from openstack.exceptions import HttpException, NotFoundException
    from tackerclient.common.exceptions import ConnectionFailed, TackerException

    try:
        yield
    except ConnectionFailed as error:
        from requests.exceptions import ConnectionError

        raise ConnectionError(str(error)) from error
    except TackerException as error:
        message = f"Tacker: {' '.join(str(error).split()) or type(error).__name__}"
        status = getattr(error, "status_code", 0) or 500
        kind: Any = NotFoundException if status == 404 else HttpException
        failure = kind(message=message, http_status=status)
        # tackerclient keeps nothing but the status of the answer. An error without a response would
        # count as no answer.
        failure.response = SimpleNamespace(headers={})
        raise failure from error
