"""LocalHost: this machine as it is."""

from __future__ import annotations

from pathlib import Path

from sfcperf.hosts.namespace import NamespaceHost


class LocalHost(NamespaceHost):
    """Commands run where sfcperf runs."""

    def __init__(self, workdir: Path) -> None:
        super().__init__("localhost", None, workdir)
