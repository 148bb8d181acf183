"""All hostile inputs."""

from __future__ import annotations

from support.attacks import descriptors, packages, replays, run_folders, states, workflows

ATTACKS = [
    *states.ATTACKS,
    *workflows.ATTACKS,
    *descriptors.ATTACKS,
    *packages.ATTACKS,
    *replays.ATTACKS,
    *run_folders.ATTACKS,
]
