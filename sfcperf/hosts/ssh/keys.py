"""Makes the SSH key of a run when it is first needed; it is kept with the run's state."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sfcperf.errors import MeasurementError, system_errors_as

_NAME = "ssh-key"


def make_key(folder: Path) -> tuple[Path, str]:
    """Return the path of an Ed25519 private key in `folder` (mode 0600, without passphrase), and
    its public half as a line of authorized_keys.

    An existing pair is used again, so that a resumed run reaches its VMs. Raises MeasurementError
    when the key cannot be written or read.
    """
    import asyncssh

    path = folder / _NAME
    try:
        with system_errors_as(
            MeasurementError, "the SSH key of the run cannot be created", where=path
        ):
            if not path.exists():
                _write(path, asyncssh.generate_private_key("ssh-ed25519").export_private_key())
            public = asyncssh.read_private_key(path).export_public_key()
    except ValueError as error:
        raise MeasurementError(
            f"the SSH key of the run cannot be read: {error}", where=str(path)
        ) from error
    return path, f"{public.decode().strip()} sfcperf"


def _write(path: Path, text: bytes) -> None:
    """Write the whole file or nothing: a process that is killed in between leaves no half of a
    key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    with os.fdopen(file, "wb") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    try:
        with suppress(FileExistsError):  # another process made it meanwhile: that key is used
            os.link(part, path)
    finally:
        Path(part).unlink()
