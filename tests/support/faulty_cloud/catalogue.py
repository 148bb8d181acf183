"""Which service of a cloud answers where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from openstack.connection import Connection


def endpoints(connection: Connection) -> list[tuple[str, str]]:
    """Type and URL of every endpoint in the catalogue of a cloud."""
    auth = connection.session.auth
    assert auth is not None
    catalogue: Iterable[Mapping[str, Any]] = auth.get_access(
        connection.session
    ).service_catalog.catalog
    return [
        (service["type"], endpoint["url"])
        for service in catalogue
        for endpoint in service["endpoints"]
    ]


def origin_of(url: str) -> str:
    """`http://host:port`."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class Service:
    """Tells services of one origin apart by the beginning of the path."""

    def __init__(self, endpoints: Iterable[tuple[str, str]]) -> None:
        self._prefixes = sorted(
            {(urlsplit(url).path.rstrip("/"), kind) for kind, url in endpoints},
            key=lambda each: -len(each[0]),
        )

    def of(self, path: str) -> str:
        """Type of the service that a path belongs to. Paths above all endpoints (documents that
        tell versions) belong to the service with the shortest one."""
        for prefix, kind in self._prefixes:
            if path == prefix or path.startswith(f"{prefix}/"):
                return kind
        return self._prefixes[-1][1]
