"""The SSH key of a run: made when it is first needed, kept with the run's state."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sfcperf.errors import MeasurementError

_NAME = "ssh-key"


def make_key(folder: Path) -> tuple[Path, str]:
    """Path of an Ed25519 private key in `folder` (mode 0600, without passphrase), and its public
    half as a line of authorized_keys.

    A pair that is there is used again, so that a run that is resumed reaches its VMs. Raises
    MeasurementError when it cannot be written or read.
    """
    path = folder / _NAME
    try:
        if not path.exists():
            _write(path)
        return path, _public_line(path)
    except OSError as error:
        raise MeasurementError(
            f"the SSH key of the run cannot be made: {error.strerror}", where=str(path)
        ) from error
    except ValueError as error:
        raise MeasurementError(
            f"the SSH key of the run cannot be read: {error}", where=str(path)
        ) from error


def _write(path: Path) -> None:
    """The whole file or none: who is killed in between leaves no half of a key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    text = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    file, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    with os.fdopen(file, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    try:
        with suppress(FileExistsError):  # of two that make it at once, the first one's is taken
            os.link(part, path)
    finally:
        Path(part).unlink()


def _public_line(path: Path) -> str:
    """Raises ValueError when the file holds no private key."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_ssh_private_key,
    )

    public = load_ssh_private_key(path.read_bytes(), password=None).public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode() + " sfcperf"
