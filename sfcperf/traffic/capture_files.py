"""Paths of captures and labels in parameters. No file is looked at: a run can be read where its
files are not."""

from __future__ import annotations

from pathlib import Path

from sfcperf.errors import InputError


def check_absolute(path: str | None, where: str) -> None:
    """Raises InputError for a relative path; None and an empty one are none."""
    if path and not Path(path).is_absolute():
        raise InputError(
            f"{path!r} is a relative path",
            where=where,
            allowed="an absolute path: a run may be resumed in another folder",
        )


def check_both(pcap: str | None, labels: str | None, prefix: str = "") -> None:
    """Raises InputError for a capture without labels, or labels without a capture. `prefix`: of
    `pcap` and `labels` in `where`."""
    if bool(pcap) != bool(labels):
        present, missing = ("pcap", "labels") if pcap else ("labels", "pcap")
        raise InputError(
            f"{missing} is missing", where=f"{prefix}{present}", allowed="both or none"
        )
