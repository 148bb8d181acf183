"""Checks paths of captures and labels in parameters. Whether the files exist is not checked,
because a run must be readable on machines that lack its files."""

from __future__ import annotations

from pathlib import Path

from sfcperf.errors import InputError


def check_absolute(path: str | None, where: str) -> None:
    """Check that a path is absolute; None and an empty path stand for no file. Raises InputError,
    which names the parameter `where`."""
    if path and not Path(path).is_absolute():
        raise InputError(
            f"{path!r} is a relative path",
            where=where,
            allowed="an absolute path: a run may be resumed in another folder",
        )


def check_both(pcap: str | None, labels: str | None, prefix: str = "") -> None:
    """Check that there are both a capture and labels, or none of them. Raises InputError, in which
    `prefix` precedes the name of the parameter."""
    if bool(pcap) != bool(labels):
        present, missing = ("pcap", "labels") if pcap else ("labels", "pcap")
        raise InputError(
            f"{missing} is missing", where=f"{prefix}{present}", allowed="both or none"
        )
