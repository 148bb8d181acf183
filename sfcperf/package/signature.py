"""Signatures of packages: PKG.sig of ssh-keygen -Y, or PKG.minisig, beside the package."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfcperf.environment.tools import find
from sfcperf.environment.variables import without_secrets
from sfcperf.errors import EnvironmentLacks, InputError
from sfcperf.input_file import read_input, with_home
from sfcperf.package.checks import Check
from sfcperf.package.layout import MAX_KEYS_BYTES

NAME = "signature"
NAMESPACE = "sfcperf-package"
"""Purpose that is part of each signature (the namespace of ssh-keygen -Y). A signature that the
same key made for another purpose does not count."""
_TIMEOUT_S = 60
_GOOD = re.compile(r'Good "[^"]*" signature (?:for .+ )?with (?P<key>\S+ key \S+)')


@dataclass(frozen=True)
class Keys:
    """Public keys that the user trusts."""

    allowed_signers: Path | None = None
    """File of SSH keys (ssh-keygen(1), "ALLOWED SIGNERS")."""
    public_key: str | None = None
    """Public key of minisign: a file, or the key itself."""

    def copied(self, folder: Path) -> Keys:
        """Return these keys with their files copied into `folder`. Nobody can change such a copy,
        or replace it by a FIFO. Raises InputError if a file cannot be read."""
        signers, key = self.allowed_signers, self.public_key
        if signers is not None:
            signers = _copy(signers, folder / "allowed-signers", "the file of SSH keys")
        if key is not None and Path(key).exists():
            key = str(_copy(Path(key), folder / "public-key", "the public key"))
        return Keys(signers, key)


@dataclass(frozen=True)
class Signer:
    """A tool with a secret key."""

    tool: str
    """Name of the tool: `ssh` or `minisign`."""
    key: Path


def signer(text: str) -> Signer:
    """Parse `ssh:KEYFILE` or `minisign:KEYFILE`. Raises InputError."""
    tool, _, name = text.partition(":")
    if tool not in ("ssh", "minisign") or not name:
        raise InputError(
            f"{text!r} is not a way to sign",
            where="--sign",
            allowed="ssh:KEYFILE or minisign:KEYFILE",
        )
    key = with_home(name)
    if not key.is_file():
        raise InputError("there is no such key file", where=str(key))
    return Signer(tool, key)


def signature_files(package: Path) -> dict[str, Path]:
    """Return tool (`ssh`, `minisign`) -> path of its signature of a package, whether or not the
    file exists."""
    return {
        "ssh": package.with_name(f"{package.name}.sig"),
        "minisign": package.with_name(f"{package.name}.minisig"),
    }


def sign(package: Path, by: Signer) -> Path:
    """Sign a package, and return the signature's file. The tool may ask for the key's password.
    Raises EnvironmentLacks when the tool is missing or cannot sign."""
    target = signature_files(package)[by.tool]
    target.unlink(missing_ok=True)
    # An absolute path: the tools take a name that begins with `-` for an option.
    file = str(package.resolve())
    if by.tool == "ssh":
        argv = [_tool("ssh-keygen", "openssh-client"), "-Y", "sign", "-q", "-f", str(by.key)]
        argv += ["-n", NAMESPACE, file]
    else:
        argv = [_tool("minisign", "minisign"), "-S", "-q", "-s", str(by.key)]
        argv += ["-x", str(target.resolve()), "-m", file, "-t", f"{NAMESPACE} {package.name}"]
    # Input and terminal are the user's: the key may have a password.
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=without_secrets())
    if done.returncode or not target.is_file():
        lines = _printed(done)
        raise EnvironmentLacks(
            f"the package was written but not signed: {lines[-1] if lines else by.tool}",
            where=str(by.key),
        )
    return target


def check_signature(
    package: Path, *, allowed_signers: Path | None = None, public_key: str | None = None
) -> Check:
    """Check the signatures beside a package, with the keys of a `Keys`.

    The check is `absent` without any signature. It is `failed` when one does not hold, or when
    there is none of a tool for which the user gave a key. Raises EnvironmentLacks when the tool is
    missing.
    """
    files = {tool: f for tool, f in signature_files(package).items() if f.is_file()}
    keys = {"ssh": allowed_signers, "minisign": public_key}
    missing = [tool for tool, key in keys.items() if key is not None and tool not in files]
    if missing:
        return Check(NAME, "failed", f"there is no {missing[0]} signature beside the package")
    if not files:
        return Check(NAME, "absent", "the package is not signed: who made it is not proven")
    checks = []
    if "ssh" in files:
        checks.append(_check_ssh(package, files["ssh"], allowed_signers))
    if "minisign" in files:
        checks.append(_check_minisign(package, files["minisign"], public_key))
    # A signature that fails makes the check fail; otherwise one by a known key is enough.
    decisive = next(c for s in ("failed", "ok", "not checked") for c in checks if c.state == s)
    return Check(NAME, decisive.state, "; ".join(check.detail for check in checks))


def _check_ssh(package: Path, signature: Path, allowed: Path | None) -> Check:
    """Check an SSH signature. Without a file of allowed keys, it may be valid, but nobody knows
    whose it is: the check is then `not checked`."""
    tool = _tool("ssh-keygen", "openssh-client")
    common = ["-n", NAMESPACE, "-s", str(signature.resolve())]
    if allowed is None:
        done = _run([tool, "-Y", "check-novalidate", *common], package)
        if done.returncode:
            return _does_not_hold("ssh", done)
        detail = f"valid, by an {_key_of(done)} that is not known here (--allowed-signers)"
        return Check(NAME, "not checked", detail)
    known = ["-f", str(allowed.resolve())]
    found = _run([tool, "-Y", "find-principals", "-s", str(signature.resolve()), *known], package)
    # A line may name several people, `a@b,c@d`, to whom the key belongs.
    principals = found.stdout.strip().splitlines()
    if found.returncode or not principals:
        return Check(NAME, "failed", f"made by a key that is not in {allowed.name}")
    done = _run([tool, "-Y", "verify", *common, *known, "-I", principals[0]], package)
    if done.returncode:
        return _does_not_hold("ssh", done)
    return Check(NAME, "ok", f"valid, by {principals[0]} ({_key_of(done)})")


def _check_minisign(package: Path, signature: Path, public_key: str | None) -> Check:
    """Check a minisign signature. `public_key` is a file or the key itself; without one, the check
    is `not checked`."""
    if public_key is None:
        return Check(
            NAME, "not checked", "a minisign signature, for which no --public-key is given"
        )
    key = ["-p", public_key] if Path(public_key).is_file() else ["-P", public_key]
    argv = [_tool("minisign", "minisign"), "-V", "-Q", *key, "-x", str(signature.resolve())]
    done = _run([*argv, "-m", str(package.resolve())], Path(os.devnull))
    if done.returncode:
        return _does_not_hold("minisign", done)
    return Check(NAME, "ok", f"valid, by the minisign key given ({done.stdout.strip()})")


def _key_of(done: subprocess.CompletedProcess[str]) -> str:
    """Type and fingerprint of the key, as ssh-keygen printed them for a valid signature; `unknown
    key` if it did not."""
    match = _GOOD.search(done.stdout)
    return match["key"] if match else "unknown key"


def _does_not_hold(tool: str, done: subprocess.CompletedProcess[str]) -> Check:
    """The failed check of a signature that the tool refused."""
    lines = _printed(done)
    explanation = lines[0] if lines else "no reason given"
    return Check(NAME, "failed", f"the {tool} signature does not hold: {explanation}")


def _printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines that a tool printed to stderr, or else to stdout."""
    return (done.stderr or done.stdout).strip().splitlines()


def _run(argv: Sequence[str], stdin: Path) -> subprocess.CompletedProcess[str]:
    """Run a tool that asks for nothing; ssh-keygen reads what was signed from its input."""
    with stdin.open("rb") as file:
        return subprocess.run(
            argv,
            stdin=file,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            env=without_secrets(),
        )


def _copy(source: Path, target: Path, what: str) -> Path:
    """Copy a file with keys; return the copy. Raises InputError, which names the file as `what`."""
    target.write_bytes(read_input(source, what, max_bytes=MAX_KEYS_BYTES))
    return target


def _tool(name: str, package: str) -> str:
    """Path of a tool. Raises EnvironmentLacks, which names the Debian package that has it."""
    path = find(name)
    if path is None:
        raise EnvironmentLacks(f"{name} is not on this machine", hint=f"install {package}")
    return path
