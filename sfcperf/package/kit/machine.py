"""The machine of a run, as the README of its package describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfcperf.presentation import units


def machine(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what package.json says of the machine and the infrastructure of a run. `manifest`:
    run.json."""
    host = manifest["host"]
    drivers = [each["driver"] for each in manifest.get("infrastructures", ())]
    return {
        "cpu": host["cpu"]["model"],
        "architecture": host["cpu"]["architecture"],
        "cpus": len(host["cpu"]["usable"]),
        "memory_bytes": host["memory"]["total_bytes"],
        "kernel": host["kernel"]["release"],
        "distribution": host["distribution"],
        "drivers": sorted({*drivers, manifest["driver"]}),
    }


def machine_text(machine: Mapping[str, Any]) -> str:
    """Describe such a machine in words."""
    size = machine["memory_bytes"]
    parts = (
        f"{machine['cpu']} ({machine['architecture']}), CPUs used: {machine['cpus']}",
        f"{units.scale_for([size], 'B').quantity(size)} of memory",
        f"Linux {machine['kernel']}",
        machine["distribution"],
    )
    return ", ".join(part for part in parts if part)
