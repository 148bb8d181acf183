"""A Tacker server: its client with the patience of Cloud, and what API it speaks.

python-tackerclient 1.14 has both generations of calls: the legacy ones (VNFD, VNF, VNFFG), which
servers have up to release 10 (2023.2), and ETSI's `vnfpkgm` and `vnflcm`; see
docs/decisions/0011-tackerclient-1.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sfcperf.errors import EnvironmentLacks

if TYPE_CHECKING:
    from sfcperf.drivers.openstack.api.cloud import Cloud

T = TypeVar("T")

SERVICE = "nfv-orchestration"
"""Tacker's service type in the catalogue."""

Dialect = Literal["legacy", "etsi"]


@dataclass(frozen=True)
class Speech:
    """What a server understands."""

    vnffg: bool
    """The legacy API, with VNF forwarding graphs."""
    vnflcm: tuple[str, ...]
    """Versions of ETSI's life-cycle API (SOL003), e.g. `1.3.0`, `2.0.0`; empty: none."""

    @property
    def dialect(self) -> Dialect | None:
        """The better one that sfcperf can use; None: neither."""
        if self.vnffg:
            return "legacy"
        return "etsi" if any(version.startswith("2.") for version in self.vnflcm) else None

    @property
    def words(self) -> str:
        """For people."""
        graphs = "VNF forwarding graphs" if self.vnffg else "no VNF forwarding graphs"
        return f"{graphs}, vnflcm {', '.join(self.vnflcm) or 'not at all'}"


@dataclass(frozen=True)
class _Answer:
    """An HTTP answer as far as tackerclient tells of it."""

    headers: dict[str, str]


class TackerServer:
    """The Tacker of a cloud. Threads may share it."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def call(self, what: str, action: Callable[[Any], T]) -> T:
        """Do with a client what can be done twice without harm. Raises CloudError."""
        return self.cloud.call(what, lambda: self.once(action))

    def once(self, action: Callable[[Any], T]) -> T:
        """Do with a client, without patience: for `Cloud.ensure`, `Cloud.wait`, `Thing`."""
        with told():
            return action(self._client())

    def speech(self) -> Speech:
        """Asks the server. Raises EnvironmentLacks when the cloud has none."""
        if not self.cloud.offers(SERVICE):
            raise EnvironmentLacks(
                f"the cloud has no Tacker: no endpoint of type {SERVICE} in its catalogue",
                hint="use the life cycle nova or heat, or another cloud",
            )
        return self.cloud.call("asking Tacker what it speaks", self._ask)

    def _ask(self) -> Speech:
        vnffg = self._or_absent(lambda client: client.list_vnffgs(fields="id")) is not None
        told_versions = self._or_absent(lambda client: client.show_vnf_lcm_versions(None)) or {}
        versions = [each["version"] for each in told_versions.get("apiVersions", [])]
        return Speech(vnffg, tuple(sorted(set(versions))))

    def _or_absent(self, action: Callable[[Any], T]) -> T | None:
        """None when the server does not know the path."""
        from openstack.exceptions import NotFoundException

        try:
            return self.once(action)
        except NotFoundException:
            return None

    def _client(self) -> Any:
        """A new one for each call, because it keeps the state of a request; making one costs
        nothing, the session is the cloud's."""
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
def told() -> Iterator[None]:
    """Tacker's errors become openstacksdk's, which `Cloud` knows how to bear."""
    from openstack.exceptions import HttpException, NotFoundException
    from tackerclient.common.exceptions import ConnectionFailed, TackerException

    try:
        yield
    except ConnectionFailed as error:
        from requests.exceptions import ConnectionError

        raise ConnectionError(str(error)) from error
    except TackerException as error:
        status = getattr(error, "status_code", 0) or 500
        kind: Any = NotFoundException if status == 404 else HttpException
        failure = kind(message=_words(error), http_status=status)
        failure.response = _Answer({})
        raise failure from error


def _words(error: Exception) -> str:
    """Tacker's own, without the markers of its translations."""
    text = " ".join(str(error).split())
    return f"Tacker says: {text}" if text else f"Tacker says no more than {type(error).__name__}"
