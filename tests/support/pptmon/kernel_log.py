"""What the kernel complains about while a test runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

_LOG = "/dev/kmsg"
# Offloads that contradict the packet, checksums of "hardware" that are wrong, and worse.
_COMPLAINT = re.compile(
    r"skb_warn_bad_offload|hw csum failure|bad partial csum|bad gso|WARNING: .*(net|bpf)/|BUG:"
)


@contextmanager
def without_complaints() -> Iterator[None]:
    """Fails when the kernel said something of that kind meanwhile."""
    log = os.open(_LOG, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.lseek(log, 0, os.SEEK_END)
        yield
        said = [line for line in _records(log) if _COMPLAINT.search(line)]
        assert not said, "\n".join(said)
    finally:
        os.close(log)


def _records(log: int) -> Iterator[str]:
    while True:
        try:
            yield os.read(log, 8192).decode(errors="replace").strip()
        except BlockingIOError:
            return
        except BrokenPipeError:  # records were overwritten before they were read
            continue
