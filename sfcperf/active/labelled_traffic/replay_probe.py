"""Base of probes that replay packets of their own from end to end."""

from __future__ import annotations

from pathlib import Path

from sfcperf.active.base import Probe
from sfcperf.active.labelled_traffic.replay import SENDER, Replay
from sfcperf.active.labelled_traffic.replay_plan import ReplayPlan
from sfcperf.management.deployment import Deployment
from sfcperf.plugins import flag

KEEP_CAPTURES = {"keep_captures": flag("Keep the captures of both ends in the trial's raw folder.")}
"""Parameter that all these probes have, as a part of their schemas."""


class ReplayProbe(Probe):
    """A probe that replays packets and captures them at both ends. The packets have addresses of
    their own, not those of the endpoints."""

    needs = (
        ("tcpdump", "tcpdump", "--version"),
        ("ip", "iproute2", "-V"),
        ("ethtool", "ethtool", "--version"),
        ("ping", "iputils-ping", "-V"),
        ("sysctl", "procps", "--version"),
    )
    compiled = (SENDER,)
    other_addresses = True
    _replay: Replay | None = None

    def _get_ready(
        self, plan: ReplayPlan, speed: float, deployment: Deployment, raw_dir: Path
    ) -> None:
        """Get both endpoints ready to replay a plan `speed` times as fast as it was captured.
        Raises MeasurementError."""
        self._replay = Replay(plan, speed, deployment, raw_dir / "replay")
        self._replay.prepare()

    def cleanup(self) -> None:
        """Restore the endpoints, and remove the captures unless the user keeps them."""
        if self._replay is not None:
            self._replay.close(keep_captures=self.parameters["keep_captures"])
            self._replay = None
