"""A small run.json as the schema says, for run folders that tests make up."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sfcperf.results.attempts import NO_ATTEMPTS
from sfcperf.results.values import Metric

STARTED_AT = "2026-01-31T12:00:00.000000+00:00"
VERSIONS: dict[str, Any] = {
    "sfcperf": "0.1.0",
    "revision": None,
    "python": "3.11.2",
    "kernel": "6.18.5",
    "packages": {"numpy": "2.0.0"},
    "tools": {"iperf3": "iperf 3.12", "ovs": "ovs-vswitchd (Open vSwitch) 3.1.0"},
}
HOST: dict[str, Any] = {
    "cpu": {
        "model": "Intel(R) Xeon(R) Platinum 8481C",
        "architecture": "x86_64",
        "logical": 2,
        "physical": 1,
        "usable": [0, 1],
        "isolated": None,
        "smt_active": True,
        "governor": None,
        "frequency_khz": None,
        "max_frequency_khz": None,
        "nominal_mhz": None,
        "boost": None,
    },
    "memory": {
        "total_bytes": 16_000_000_000,
        "available_bytes": 12_000_000_000,
        "swap_used_bytes": 0,
        "transparent_hugepage": None,
    },
    "kernel": {
        "release": "6.18.5",
        "version": "#1 SMP",
        "command_line": None,
        "mitigations": {"spectre_v2": "Mitigation: IBRS"},
    },
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "hypervisor": {"present": True, "type": None, "vendor": None, "product": None},
    "clock_source": "tsc",
    "sysctls": {f"net.core.setting_{number}": str(number) for number in range(30)},
    "load": {
        "load_1min": 0.1,
        "load_5min": 0.1,
        "load_15min": 0.1,
        "steal_ratio_since_boot": 0.0,
        "processes": 90,
    },
}


def run_manifest(run_id: str) -> dict[str, Any]:
    """Of a run that is complete and had one scenario without factors."""
    return {
        "run_id": run_id,
        "name": "small",
        "description": "",
        "status": "complete",
        "started_at": STARTED_AT,
        "ended_at": STARTED_AT,
        "resumed_at": [],
        "sessions": [
            {
                "tag": "abc123",
                "started_at": STARTED_AT,
                "command": ["sfcperf", "run", "small.json"],
                "versions": VERSIONS,
            }
        ],
        "command": ["sfcperf", "run", "small.json"],
        "sfcperf_version": "0.1.0",
        "driver": "local",
        "seed": 1,
        "design": {
            "rounds": 1,
            "warmup_rounds": 0,
            "order": "sequential",
            "seed": 1,
            "confidence": 0.95,
            "centre": "median",
            "rarest_mode": 0.1,
            "stop_when": None,
            "max_retries": 0,
            "runs": 1,
        },
        "scenarios": [],
        "probes": [],
        "monitors": [],
        "host": HOST,
        "versions": VERSIONS,
        "infrastructure": {},
        "stopping": {},
        "trials": {"valid": 0, "untrusted": 0, "failed": 0},
        "attempts": NO_ATTEMPTS.document(),
        "problems": [],
        "vnfds": [],
        "modules": [],
        "state": "done",
        "phases": {},
    }


def metric(name: str, unit: str, description: str = "", **more: Any) -> dict[str, Any]:
    """A metric of a probe in run.json."""
    return asdict(Metric(name, unit, description or name, **more))
