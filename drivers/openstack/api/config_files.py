"""Files that describe a cloud: clouds.yaml, and the certificates and keys that it names.

openstacksdk ignores a file that it cannot read, raises errors of any kind for a file of another
structure, and misses a certificate only in the middle of a request.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfcperf import yaml_input
from sfcperf.errors import EnvironmentLacks, InputError, errors_as
from sfcperf.input_file import read_input

if TYPE_CHECKING:
    from openstack.config.cloud_region import CloudRegion

_MOST_BYTES = 1 << 24
"""A bundle of all public certificates has 0.2 MB."""
_NAMED_BY = "OS_CLIENT_CONFIG_FILE"
"""Environment variable that names the user's clouds.yaml."""


def check_readable() -> None:
    """Raises EnvironmentLacks, which names the file, for a configuration that cannot be read, or is
    not YAML."""
    from openstack.config import loader

    for variable, places in (
        (_NAMED_BY, loader.CONFIG_FILES),
        ("OS_CLIENT_SECURE_FILE", loader.SECURE_FILES),
        ("", loader.VENDOR_FILES),  # no variable names these
    ):
        named = filter(None, [os.environ.get(variable)])
        path = next(filter(Path.exists, map(Path, [*named, *places])), None)
        if path is None:
            continue
        what = f"the configuration of clouds, {path},"
        with errors_as(EnvironmentLacks, InputError):
            yaml_input.loads(read_input(path, what, max_bytes=_MOST_BYTES), what)


def absent() -> str:
    """Return words for an error about a cloud that is not found, if the user names a file that is
    not there; else nothing."""
    named = os.environ.get(_NAMED_BY)
    lacks = named is not None and not Path(named).exists()
    return f" ({_NAMED_BY} names {named}, which is not there)" if lacks else ""


@contextmanager
def structure_errors(name: str | None) -> Iterator[None]:
    """Inside, what openstacksdk raises for a list in place of a mapping, and the like, becomes
    EnvironmentLacks."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise EnvironmentLacks(
            f"the configuration of the cloud {name or '(OS_CLOUD)'} has another structure than "
            f"openstacksdk reads: {error}",
            allowed="clouds: {NAME: {auth: {auth_url: ..., ...}, region_name: ...}}",
        ) from error


def check_certificates(region: CloudRegion) -> None:
    """Raises EnvironmentLacks, which names the file, for a `cacert`, `cert` or `key` that TLS
    cannot use."""
    verify, cert = region.get_requests_verify_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # It is a path if `cacert` is set, else whether to check certificates at all.
    if isinstance(verify, str):
        folder = Path(verify).is_dir()
        with _named("cacert", verify, region.name):
            context.load_verify_locations(
                cafile=None if folder else _regular(verify), capath=verify if folder else None
            )
    if cert is None:
        return
    certificate, key = cert if isinstance(cert, tuple) else (cert, cert)
    for option, path in (("cert", certificate), ("key", key)):
        with _named(option, path, region.name):
            _regular(path)
    option, path = ("cert", certificate) if key == certificate else ("cert and key", key)
    with _named(option, path, region.name):
        # The empty passphrase keeps OpenSSL from asking for one, which nobody would answer.
        context.load_cert_chain(certificate, key, password="")


def _regular(path: str) -> str:
    """Return the path of a file that can be read. Raises InputError for one that cannot."""
    read_input(Path(path), "the file", max_bytes=_MOST_BYTES)
    return path


@contextmanager
def _named(option: str, path: str, cloud: str | None) -> Iterator[None]:
    """Turn an error about a file into EnvironmentLacks, which names the file and the option of the
    cloud that has it."""
    try:
        yield
    except (InputError, OSError, ValueError) as error:
        reason = error.message if isinstance(error, InputError) else error
        raise EnvironmentLacks(
            # Requirements show the message alone.
            f"{path}, the {option} of the cloud {cloud}, cannot be used: {reason}",
            allowed="a file in PEM format; a key without passphrase",
        ) from error
