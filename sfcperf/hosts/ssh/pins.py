"""Host keys of a VM that has just booted. They are read from its console, which only the cloud can
write."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sfcperf.hosts.ssh.access import Unreachable, knock, words
from sfcperf.hosts.ssh.host import SshHost
from sfcperf.hosts.ssh.loop import call

_KNOCK_TIMEOUT_S = 1.0

# A key file of dropbear with an Ed25519 key ends with the 32 bytes of the public key. `dropbear -R`
# makes the file when somebody connects for the first time, see `scan`. Each line is printed twice,
# since messages of the kernel may be printed into one.
USER_DATA = r"""#!/bin/sh
# Prints the public SSH host keys on the console, where they are read by who booted this machine.
show() {
	for turn in 1 2; do
		printf '\nsfcperf: host-key %s %s\n' "$1" "$2" >/dev/console
	done
}
openssh() {
	found=1
	for file in /etc/ssh/ssh_host_*_key.pub; do
		[ -s "$file" ] && read -r type blob rest <"$file" && show "$type" "$blob" && found=0
	done
	return $found
}
base64_line() {
	if command -v base64 >/dev/null; then base64; else uuencode -m key | sed '1d;$d'; fi |
		tr -d '\n'
}
dropbear_blob() {
	printf '\000\000\000\013ssh-ed25519\000\000\000\040'
	tail -c 32 "$1"
}
dropbear_keys() {
	found=1
	for file in /etc/dropbear/dropbear_*_host_key; do
		[ -s "$file" ] || continue
		if command -v dropbearkey >/dev/null; then
			set -- $(dropbearkey -y -f "$file" 2>/dev/null | grep ' AAAA')
			[ -n "$2" ] && show "$1" "$2" && found=0
		elif [ "$(head -c 15 "$file" | tail -c 11)" = ssh-ed25519 ]; then
			show ssh-ed25519 "$(dropbear_blob "$file" | base64_line)" && found=0
		fi
	done
	return $found
}
{
	turns=0
	until openssh || dropbear_keys || [ $turns -ge 1500 ]; do
		sleep 0.2 || sleep 1
		turns=$((turns + 1))
	done
} </dev/null >/dev/null 2>&1 &
"""
"""User data for a VM, which print its host keys on the console. cloud-init runs them, and so does
an init that knows no more than `#!`."""

_KEY = r"((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) +(AAAA[A-Za-z0-9+/]+={0,3})"
_OURS = re.compile(r"sfcperf: host-key " + _KEY + r"(?![A-Za-z0-9+/=])")
_CLOUD_INIT = re.compile(
    r"-----BEGIN SSH HOST KEY KEYS-----(.*?)-----END SSH HOST KEY KEYS-----", re.DOTALL
)
_ANY = re.compile(r"(?<![A-Za-z0-9@.-])" + _KEY + r"(?![A-Za-z0-9+/=])")


def pins(console_log: str) -> tuple[str, ...]:
    """Read the public host keys that a console shows, each as `ssh-ed25519 AAAA...`, without
    repetition.

    The lines of USER_DATA are read, and the block that cloud-init prints by itself. A key that is
    damaged, because something else was printed into it, is left out.
    """
    seen: dict[str, None] = {}
    for kind, blob in _candidates(console_log):
        line = f"{kind} {blob}"
        if line not in seen and _is_key(line):
            seen[line] = None
    return tuple(seen)


def scan(
    address: str, *, port: int = 22, jump: SshHost | None = None, timeout_s: float = 10.0
) -> str:
    """Ask an address for its host key, as `ssh-ed25519 AAAA...`, without logging in.

    The answer is no reason to trust the key: compare it with the console's. A server that makes its
    keys at the first connection has them afterwards. Raises Unreachable.
    """
    return call(_scan(address, port, jump, timeout_s))


async def _scan(address: str, port: int, jump: SshHost | None, timeout_s: float) -> str:
    """See `scan`. We knock first, so that an address where nobody listens fails soon."""
    import asyncio

    import asyncssh

    try:
        async with asyncio.timeout(timeout_s):
            tunnel = None if jump is None else await jump.tunnel()
            await knock(address, port, _KNOCK_TIMEOUT_S, tunnel)
            key = await asyncssh.get_server_host_key(
                address,
                port,
                tunnel=tunnel or (),
                server_host_key_algs="^ssh-ed25519",
                config=None,
            )
    except (OSError, asyncssh.Error, TimeoutError) as error:
        raise Unreachable(f"{address} shows no SSH host key: {words(error)}") from error
    if key is None:
        raise Unreachable(f"{address} shows no SSH host key")
    return " ".join(key.export_public_key().decode().split()[:2])


def _candidates(console_log: str) -> Iterator[tuple[str, str]]:
    """Yield type and base64 text of whatever looks like a key in the places where keys are."""
    for found in _OURS.finditer(console_log):
        yield found[1], found[2]
    for block in _CLOUD_INIT.finditer(console_log):
        for found in _ANY.finditer(block[1]):
            yield found[1], found[2]


def _is_key(line: str) -> bool:
    """Whether a line is a public key of the type that it begins with: a damaged one is not."""
    import asyncssh

    try:
        return asyncssh.import_public_key(line).get_algorithm() == line.split()[0]
    except (asyncssh.KeyImportError, ValueError):
        return False
