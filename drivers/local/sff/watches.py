"""SFFs that SFCMon can monitor, as a deployment has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfcperf.hosts.base import Host

if TYPE_CHECKING:
    from sfcperf.vnfs.sfcmon.sff_watch import SffWatch


@dataclass(frozen=True)
class LocalSff:
    """An SFF on eBPF or Open vSwitch at which sfc-sfcmon, a process of its own, can monitor
    (WatchableSff)."""

    name: str
    """Name of the SFF: `sff@node1`."""
    host: Host
    """A host in the node's namespace, outside the control group of the SFF."""
    place: Sequence[str]
    """Words of sfc-sfcmon's command line that say where it sees what the SFF looks up."""

    def watch(self, parameters: Mapping[str, Any], output: Path) -> SffWatch:
        """Start an sfc-sfcmon that watches this SFF and prints its windows to `output`. Raises
        DeploymentError, EnvironmentLacks."""
        # Imported only in runs that watch SFFs, because it imports sketches.
        from sfcperf.vnfs.sfcmon.sff_watch import SffWatch

        return SffWatch.start(self.name, self.host, self.place, parameters, output)
