"""SshAccess: how a host is reached by SSH; `connect` logs in there, with our key and pinned host
keys."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.errors import DeploymentError, InputError, MeasurementError
from sfcperf.input_file import read_input

if TYPE_CHECKING:
    from asyncssh import SSHClientConnection, SSHKey

CONNECT_TIMEOUT_S = 30.0
_KEEPALIVE_S = 10
_KEEPALIVES_MISSED = 3
_MOST_KEY_BYTES = 1 << 16

# Curve25519 comes first, since it costs an emulated guest least. `^` puts it before the other
# algorithms that the library trusts.
_KEY_EXCHANGE = "^curve25519-sha256,curve25519-sha256@libssh.org"
_SIGNATURES = {"ssh-rsa": "rsa-sha2-512,rsa-sha2-256"}
"""Type of a host key -> the algorithms with which it signs, where they have other names."""


class Unreachable(MeasurementError):
    """The server does not answer, or refuses the login. Both may change in a moment, so a caller
    may try again."""


class LoginRefused(Unreachable):
    """The server does not accept our key. A machine that boots may accept it later."""


@dataclass(frozen=True)
class SshAccess:
    """Where and as whom to log in."""

    address: str
    key: Path
    """Private key, of OpenSSH format, without passphrase."""
    host_keys: tuple[str, ...]
    """Pinned keys: public keys that the host may show, as `ssh-ed25519 AAAA...`. Any other is
    refused."""
    user: str = "root"
    """A user other than root needs `sudo` without a password."""
    port: int = 22

    def __str__(self) -> str:
        return f"{self.user}@{self.address}" + ("" if self.port == 22 else f":{self.port}")

    def trusted(self) -> list[SSHKey]:
        """The pinned keys. Raises InputError when there is none, or one cannot be read."""
        import asyncssh

        if not self.host_keys:
            raise InputError(
                f"no host key is pinned for {self.address}",
                hint="what answers there could be any machine; give its public host key",
            )
        try:
            return [asyncssh.import_public_key(text) for text in self.host_keys]
        except asyncssh.KeyImportError as error:
            raise InputError(
                f"a host key of {self.address} cannot be read: {error}",
                allowed="a line such as `ssh-ed25519 AAAA...`",
            ) from error

    def private_key(self) -> SSHKey:
        """Read our private key. Raises InputError when the file has none."""
        import asyncssh

        what = f"the private key for {self}"
        try:
            return asyncssh.import_private_key(
                read_input(self.key, what, max_bytes=_MOST_KEY_BYTES)
            )
        except asyncssh.KeyImportError as error:
            raise InputError(
                f"{what} cannot be read: {error}",
                where=str(self.key),
                allowed="a private key of OpenSSH format, without passphrase",
            ) from error


async def knock(
    address: str, port: int, timeout_s: float, tunnel: SSHClientConnection | None = None
) -> None:
    """Return when somebody listens at the address, seen through `tunnel` if there is one. Raises
    OSError (also TimeoutError). Call it again and again with a short timeout: a SYN that is lost
    while a machine boots is repeated late, so one patient attempt would connect later."""
    import asyncssh

    async with asyncio.timeout(timeout_s):
        if tunnel is None:
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
            return
        # A connection that opens after the time is over is closed too, by the callback.
        opening = asyncio.ensure_future(tunnel.open_connection(address, port))
        opening.add_done_callback(_close)
        try:
            await asyncio.shield(opening)
        except asyncssh.Error as error:
            raise OSError(0, words(error)) from error


def _close(opened: asyncio.Future[Any]) -> None:
    """Close the connection that `knock` opened, unless it failed."""
    if not opened.cancelled() and opened.exception() is None:
        opened.result()[1].close()


async def connect(
    access: SshAccess, tunnel: SSHClientConnection | None = None
) -> SSHClientConnection:
    """Log in, through `tunnel` (a connection to the jump host) if there is one.

    Raises Unreachable when nobody answers or the key is not accepted, InputError when our key
    cannot be read, DeploymentError when the host shows a key that is not pinned.
    """
    import asyncssh

    trusted, own = access.trusted(), access.private_key()
    offered: list[SSHKey] = []

    class Judge(asyncssh.SSHClient):
        """Accepts only pinned keys, and keeps the key that was offered for the message."""

        def validate_host_public_key(self, host: str, addr: str, port: int, key: SSHKey) -> bool:
            """Whether the key that the host shows is a pinned one; asyncssh asks."""
            offered.append(key)
            return any(key.public_data == each.public_data for each in trusted)

    kinds = [_SIGNATURES.get(name := key.get_algorithm(), name) for key in trusted]
    try:
        return await asyncssh.connect(
            access.address,
            access.port,
            tunnel=() if tunnel is None else tunnel,
            username=access.user,
            client_keys=[own],
            client_factory=Judge,
            known_hosts=([], [], []),  # no file knows the host, so that Judge is asked
            server_host_key_algs="^" + ",".join(kinds),
            kex_algs=_KEY_EXCHANGE,
            compression_algs=["none"],
            preferred_auth="publickey",
            agent_path=None,
            gss_host=None,
            config=None,
            connect_timeout=CONNECT_TIMEOUT_S,
            login_timeout=CONNECT_TIMEOUT_S,
            keepalive_interval=_KEEPALIVE_S,
            keepalive_count_max=_KEEPALIVES_MISSED,
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise _other_machine(access, trusted, offered) from error
    except asyncssh.PermissionDenied as error:
        raise LoginRefused(
            f"{access} does not accept our key",
            where=str(access.key),
            hint="add its public key to the user's authorized_keys there",
        ) from error
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise Unreachable(f"{access} cannot be reached by SSH: {words(error)}") from error


def words(error: BaseException) -> str:
    """Return what an error says, for a message."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # asyncio puts words of its own into strerror
    return str(error) or type(error).__name__


def fingerprint(key: SSHKey) -> str:
    """Name a public key as `ssh-keygen -l` does, e.g. `ssh-ed25519 SHA256:...`."""
    return f"{key.get_algorithm()} {key.get_fingerprint()}"


def _other_machine(
    access: SshAccess, trusted: list[SSHKey], offered: list[SSHKey]
) -> DeploymentError:
    """The error for a host that shows none of the pinned keys."""
    seen = " and ".join(map(fingerprint, offered)) or "one that cannot be read"
    pinned = " or ".join(map(fingerprint, trusted))
    return DeploymentError(
        f"{access} shows another host key than the pinned one: {seen}, where {pinned} is expected",
        hint="another machine answers at this address; nothing was sent to it",
    )
