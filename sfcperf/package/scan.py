"""Scan files for what must not be published: secrets, and names of this machine's folders."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sfcperf.environment.variables import secrets

_MAX_BYTES = 64 << 20
"""Only so many bytes at the start of a file are searched."""
_BINARY = (".parquet", ".png", ".pdf")
_SECRETS: Mapping[str, re.Pattern[bytes]] = {
    "a private key": re.compile(rb"-----BEGIN (?:[A-Z]+ ){0,2}PRIVATE KEY-----"),
    "a minisign secret key": re.compile(rb"minisign encrypted secret key"),
    "a URL with a password": re.compile(rb"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@\"']+:[^/\s:@\"']+@"),
    "an authorization header": re.compile(
        rb"(?i)\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|apikey)\s+[a-z0-9+/=._-]{8,}"
    ),
    "a token of a service": re.compile(
        # GitHub, AWS, GitLab, Slack, Google, PyPI: forms that nothing else has.
        rb"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{50}|(?:AKIA|ASIA)[A-Z0-9]{16}"
        rb"|glpat-[A-Za-z0-9_-]{20}|xox[abprs]-[A-Za-z0-9-]{20}|AIza[A-Za-z0-9_-]{35}"
        rb"|pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50})"
    ),
    "a password or token": re.compile(
        rb"(?im)[\"'](?:password|passwd|api_?key|secret|auth_?token|access_?token)[\"']\s*:"
        rb"\s*[\"'][^\"']{4,}[\"']"
        # Bare, as in a shell, an INI file or YAML: OS_PASSWORD=..., password: ...; but neither what
        # stands for a value (***, <password>, $PASSWORD, %s) nor prose and source code.
        rb"|^[ \t]*(?:export[ \t]+|-[ \t]+)?[a-z0-9_.-]*"
        rb"(?:password|passwd|api_?key|secret|auth_?token|access_?token)[ \t]*(?:=|:[ \t])"
        rb"[ \t]*[\"']?(?!(?:none|null|true|false)\b)"
        rb"[^\s\"'*<>$%{}\[\](),;][^\s\"'<>{}\[\](),;]{3,}[\"']?[ \t]*\r?$"
    ),
}
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,65536}={0,2}")
"""Text that may be another text in Base64 (RFC 4648, also for URLs)."""
_FOR_URLS = bytes.maketrans(b"-_", b"+/")
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
    """Search files (name in the package -> file), and return what should perhaps not be published.
    Raises OSError."""
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
    """Yield what is found in a file: secrets, further secrets in Base64, and folders of this
    machine. `variables`: environment variables that are secret, with their values."""
    plain = [*_secrets(content, variables)]
    yield from (Finding(name, what, secret=True) for what in plain)
    decoded = map(_decoded, set(_BASE64.findall(content)))
    hidden = b"\n".join(text for text in decoded if text.isascii())
    for what in _secrets(hidden, variables):
        if what not in plain:
            yield Finding(name, f"{what}, in Base64", secret=True)
    folders = sorted({match.decode() for match in _FOLDERS.findall(content)})
    if folders:
        yield Finding(name, ", ".join(folders[:3]), secret=False)


def _secrets(content: bytes, variables: Mapping[str, bytes]) -> Iterator[str]:
    """Yield, in words, each kind of secret that is in the content."""
    for what, pattern in _SECRETS.items():
        if pattern.search(content):
            yield what
    for variable, value in variables.items():
        if value in content:
            yield f"the value of the environment variable {variable}"


def _decoded(text: bytes) -> bytes:
    """Decode Base64 whose padding may be missing. Empty for a length that no encoded text has."""
    whole = text.rstrip(b"=").translate(_FOR_URLS)
    return base64.b64decode(whole + b"=" * (-len(whole) % 4)) if len(whole) % 4 != 1 else b""
