"""Scan files for what must not be published: secrets, and names of this machine's folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf.environment.variables import secrets

_MAX_BYTES = 64 << 20
"""Only this much of a file is searched."""
_BINARY = (".parquet", ".png", ".pdf")
_SECRETS: Mapping[str, re.Pattern[bytes]] = {
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY-----"),
    "a minisign secret key": re.compile(rb"minisign encrypted secret key"),
    "a URL with a password": re.compile(rb"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@\"']+:[^/\s:@\"']+@"),
    "an authorization header": re.compile(
        rb"(?i)\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|apikey)\s+[a-z0-9+/=._-]{8,}"
    ),
    "a password or token": re.compile(
        rb"(?i)[\"'](?:password|passwd|api_?key|secret|auth_?token|access_?token)[\"']\s*:"
        rb"\s*[\"'][^\"']{4,}[\"']"
    ),
}
_FOLDERS = re.compile(rb"(?:/home|/Users)/[A-Za-z0-9._-]+|/root\b")
_SHORTEST_VALUE = 8
"""A shorter value of an environment variable may occur by chance."""


@dataclass(frozen=True)
class Finding:
    """Something in a file that should perhaps not be published; it does not contain the secret."""

    file: str
    """Its name in the package."""
    what: str
    secret: bool
    """Whether it is a credential; otherwise the name of a folder of this machine."""


def scan(files: Mapping[str, Path]) -> list[Finding]:
    """Search files (name in the package -> file). Raises OSError."""
    variables = {
        name: value.encode() for name, value in secrets().items() if len(value) >= _SHORTEST_VALUE
    }
    found: list[Finding] = []
    for name, path in files.items():
        if not name.endswith(_BINARY):
            with path.open("rb") as file:
                found += _findings(name, file.read(_MAX_BYTES), variables)
    return found


def _findings(name: str, content: bytes, variables: Mapping[str, bytes]) -> Iterator[Finding]:
    for what, pattern in _SECRETS.items():
        if pattern.search(content):
            yield Finding(name, what, secret=True)
    for variable, value in variables.items():
        if value in content:
            yield Finding(name, f"the value of the environment variable {variable}", secret=True)
    folders = sorted({match.decode() for match in _FOLDERS.findall(content)})
    if folders:
        yield Finding(name, ", ".join(folders[:3]), secret=False)
