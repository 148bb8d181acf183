"""Target: a cluster and where in it the documents go. It never holds a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from sfcperf.elasticsearch.mappings import PREFIX
from sfcperf.errors import InputError
from sfcperf.results.store import RunStore

_PREFIX = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
_FINGERPRINT = re.compile(r"(?:[0-9a-fA-F]{2}:?){32}")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Target:
    """A cluster, and the prefix of the data streams there to which documents go."""

    urls: tuple[str, ...]
    """Nodes of one cluster, `https://host:9200`."""
    prefix: str = PREFIX
    """Prefix of the names of data streams and templates."""
    ca: str | None = None
    """Path of a file with certificates of authorities (PEM); None: those of the system."""
    fingerprint: str | None = None
    """SHA-256 of the only certificate to trust, hexadecimal; None: the authorities decide."""
    insecure: bool = False
    """Whether the server's identity goes unchecked, and secrets may go over plain HTTP."""

    @property
    def name(self) -> str:
        """Name of the target in messages: its first URL."""
        return self.urls[0]

    def document(self) -> dict[str, Any]:
        """Return the target as JSON, which `Target.of` reads."""
        return {**asdict(self), "urls": list(self.urls)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Target:
        """Make a target from what `document` returned."""
        return cls(**{**document, "urls": tuple(document["urls"])})


def target(
    urls: Iterable[str],
    *,
    prefix: str = PREFIX,
    ca: Path | None = None,
    fingerprint: str | None = None,
    insecure: bool = False,
) -> Target:
    """Make a target from what a user gave. Raises InputError if something in it is wrong."""
    if not _PREFIX.fullmatch(prefix):
        raise InputError(
            f"{prefix!r} cannot begin the name of a data stream",
            allowed="lower-case letters, digits and ._- (the first a letter or digit), 80 at most",
        )
    if fingerprint is not None and not _FINGERPRINT.fullmatch(fingerprint):
        raise InputError(
            f"{fingerprint!r} is not the fingerprint of a certificate",
            allowed="SHA-256 as 64 hexadecimal digits, with or without colons",
        )
    if ca is not None and not ca.is_file():
        raise InputError("there is no such file of certificates", where=str(ca))
    return Target(
        urls=tuple(dict.fromkeys(_checked(url) for url in urls)),
        prefix=prefix,
        ca=None if ca is None else str(ca.resolve()),
        fingerprint=None if fingerprint is None else fingerprint.replace(":", "").lower(),
        insecure=insecure,
    )


def of_parameters(parameters: Mapping[str, Any], base: Path) -> Target:
    """Make a target from the publisher's parameters; relative paths start at `base`."""
    url, ca = parameters["url"], parameters.get("ca")
    return target(
        [url] if isinstance(url, str) else url,
        prefix=parameters.get("prefix", PREFIX),
        ca=None if ca is None else base / ca,
        fingerprint=parameters.get("fingerprint"),
        insecure=parameters.get("insecure", False),
    )


def of_run(store: RunStore, urls: Sequence[str], chosen: Mapping[str, Any]) -> Target:
    """Return the target for a run: with URLs the one that the user chose; without, that of the
    run's workflow, changed by what the user chose (`chosen`). Raises InputError when neither names
    a server."""
    if urls:
        return target(urls, **chosen)
    document, base = store.workflow()
    for entry in document.get("publish", []):
        if entry.get("to") == "elasticsearch":
            return of_parameters({**entry, **chosen}, base)
    raise InputError(
        "no server is named, and the workflow of this run publishes to none",
        where=str(store.folder),
        hint="name one: --url https://HOST:9200",
    )


def _checked(url: str) -> str:
    """Check a URL, and return it with its port, in one spelling. A wrong URL may contain a secret:
    messages do not repeat it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError("this is not the URL of a server", allowed="https://HOST:PORT") from error
    if "@" in url:
        raise InputError(
            "a URL must not hold a user or a password: it would be seen in process lists and files",
            where=_shown(parts),
            hint="set SFCPERF_ES_USER and SFCPERF_ES_PASSWORD, or SFCPERF_ES_API_KEY",
        )
    if parts.scheme not in _PORTS or not parts.hostname or parts.query or parts.fragment:
        raise InputError(
            "this is not the URL of a server", where=_shown(parts), allowed="https://HOST:PORT"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORTS[parts.scheme]}{parts.path.rstrip('/')}"


def _shown(parts: SplitResult) -> str:
    """Return of a URL only scheme and host, which a message may show."""
    return f"{parts.scheme or 'https'}://{parts.hostname or ''}"
